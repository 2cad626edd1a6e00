"""Read a file into memory; an item is a piece of it."""

import os
from typing import Any

from numba import types

from beatwire.records import I64, U8

PIECE = 1 << 18  # bytes: enough that a call of the system costs little, so few that threads share a file

_pread: Any = types.ExternalFunction("pread", types.intp(types.int32, types.uintp, types.uintp, types.int64))


def read_piece(i: int, file: int, at: int, out: U8, sizes: I64) -> None:
    """Read piece ``i`` of a file from byte ``at`` on.

    Parameters
    ----------
    file
        Descriptor of the open file.
    out : uint8 [bytes], written
    sizes : int64 [pieces], written
        Bytes read of each piece; -1 after an error.
    """
    first = i * PIECE
    sizes[i] = read_at(file, out[first : first + PIECE], at + first)


def read_at(file: int, part: U8, at: int) -> int:
    """Read bytes from ``at`` on; return their number."""
    return os.preadv(file, [part.data], at)


def _read_by_c(file: int, part: U8, at: int) -> int:
    """Do the same by a call of the C library, without the interpreter."""
    return _pread(file, part.ctypes.data, part.size, at)  # type: ignore[no-any-return]


BODIES: dict[Any, Any] = {read_at: _read_by_c}  # by the body that each replaces in machine code
