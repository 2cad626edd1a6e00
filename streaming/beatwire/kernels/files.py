"""A file into memory, a piece of it an item."""

from __future__ import annotations

import os
from typing import Any

from numba import types

from beatwire.records import I64, U8

PIECE = 1 << 18  # bytes

_pread: Any = types.ExternalFunction("pread", types.intp(types.int32, types.uintp, types.uintp, types.int64))


def read_piece(i: int, file: int, at: int, out: U8, came: I64) -> None:
    """Read piece ``i`` of what stands from byte ``at`` on; ``came[i]``: how many bytes came, -1 after an error."""
    first = i * PIECE
    came[i] = read_at(file, out[first : first + PIECE], at + first)


def read_at(file: int, part: U8, at: int) -> int:
    """Read bytes from ``at`` on; return how many came."""
    return os.preadv(file, [part.data], at)


def _read_by_c(file: int, part: U8, at: int) -> int:
    """Do it without the interpreter."""
    return _pread(file, part.ctypes.data, part.size, at)  # type: ignore[no-any-return]


BODIES: dict[Any, Any] = {read_at: _read_by_c}
