"""Choose the backend: ``cpu``, ``gpu`` or ``auto``. A backend that is asked for and cannot be used is an error."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from beatwire.backends import cards
from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU, Cpu
from beatwire.errors import UserError

if TYPE_CHECKING:
    from beatwire.backends.cuda.card import CudaCard


def choose(
    kind: str, *, limit_bytes: int | None = None, sharing: int = 1, managed: bool = False, nvtx: bool = False
) -> Backend:
    """Return the backend for ``auto``, ``cpu`` or ``gpu``.

    Parameters
    ----------
    limit_bytes, sharing, managed, nvtx
        See ``cuda.card.CudaCard``; the CPU ignores them.

    Raises
    ------
    UserError
        ``gpu`` is asked for and no GPU can be used.
    """
    if kind == "cpu":
        return CPU
    from beatwire.backends.cuda import backend, card

    missing = card.missing() if cards.driver_of() is not None else "no NVIDIA driver"
    if missing is not None and kind == "gpu":
        raise UserError(f"--backend gpu: expected a usable GPU; got: {missing}. Use --backend cpu or auto")
    if missing is not None:
        return Cpu(f"backend cpu: {missing}")
    gpu = _card(limit_bytes, sharing, managed, nvtx)
    return backend.CudaBackend(gpu, f"backend gpu: {gpu.name}, {'as asked' if kind == 'gpu' else 'found'}")


@functools.cache
def _card(limit_bytes: int | None, sharing: int, managed: bool, nvtx: bool) -> CudaCard:
    """Return the card with its memory pool: one in a process, because torch accepts an allocator only once."""
    from beatwire.backends.cuda.card import CudaCard

    return CudaCard(limit_bytes, sharing=sharing, managed=managed, nvtx=nvtx)
