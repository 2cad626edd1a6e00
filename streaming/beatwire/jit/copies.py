"""Copies of large arrays of the host, by all threads of a worker."""

from typing import Any

import numpy as np

from beatwire.jit import cpu
from beatwire.kernels.copies import BLOCK
from beatwire.records import U8

WORTH = 1 << 20  # bytes that are worth several threads


def copy_into(target: Any, source: Any) -> None:
    """Copy an array into another one of the same shape and type."""
    if source.nbytes < WORTH or not (source.flags.c_contiguous and target.flags.c_contiguous):
        np.copyto(target, source)
        return
    cpu.kernels.copy_block(-(-source.nbytes // BLOCK), _bytes(source), _bytes(target))


def copied(source: Any) -> Any:
    """Return a copy of an array."""
    target = np.empty(source.shape, source.dtype)
    copy_into(target, source)
    return target


def rehearse() -> None:
    """Call the kernel for no bytes, of memory that may be read only and of other memory: so it is compiled."""
    none = np.zeros(0, np.uint8)
    cpu.kernels.copy_block(0, none, none)
    cpu.kernels.copy_block(0, np.frombuffer(b"", np.uint8), none)


def _bytes(array: Any) -> U8:
    return array.reshape(-1).view(np.uint8)  # type: ignore[no-any-return]
