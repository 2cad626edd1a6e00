"""Arguments of public functions: each is what it has to be, or one line says what was expected and what came."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.errors import UserError

_LONGEST_SHOWN = 40


def number(where: str, value: Any, expected: str, low: float = -np.inf, high: float = np.inf) -> float:
    """Return an argument that is one finite number within ``low..high``; the error begins with ``where``.

    >>> number("fs", np.float32(250), "a rate of 50-4000 Hz", 50, 4000)
    250.0
    """
    is_one = getattr(value, "ndim", 0) == 0 and not isinstance(value, bool | np.bool_ | str | bytes)
    try:
        found = float(value) if is_one else np.nan
    except (TypeError, ValueError, OverflowError):
        found = np.nan
    if not low <= found <= high or not np.isfinite(found):
        raise UserError(f"{where}: expected {expected}; got {shown(value)}")
    return found


def positive(where: str, value: Any, expected: str) -> float:
    """Return an argument that is one finite number above 0."""
    return number(where, value, expected, low=float(np.nextafter(0.0, 1.0)))


def whole(where: str, value: Any, expected: str, low: int = 0) -> int:
    """Return an argument that is a whole number of at least ``low``."""
    found = number(where, value, expected, low=low)
    if not found.is_integer():
        raise UserError(f"{where}: expected {expected}; got {shown(value)}")
    return int(value)


def names(where: str, value: Any, most: int) -> list[str]:
    """Return an argument that is a list of 1 to ``most`` names."""
    expected = f"a list of 1-{most} names"
    is_list = isinstance(value, Sequence) or hasattr(value, "tolist")
    if isinstance(value, str | bytes) or not is_list:
        raise UserError(f"{where}: expected {expected}; got {shown(value)}")
    found = [*value]
    if not 1 <= len(found) <= most or not all(isinstance(name, str | int | np.integer) for name in found):
        raise UserError(f"{where}: expected {expected}; got {shown(found)}")
    return [str(name) for name in found]


def several(where: str, value: Any, expected: str) -> list[Any]:
    """Return an argument that is a list, of anything but the letters of a text."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable) or getattr(value, "ndim", 1) != 1:
        raise UserError(f"{where}: expected {expected}; got {shown(value)}")
    return list(value)


def lead_name(value: Any) -> str | int:
    """Return an argument that names a lead, or counts it from 0."""
    if isinstance(value, bool) or not isinstance(value, str | int | np.integer) or len(str(value)[:99]) == 99:
        raise UserError(f"lead: expected the name or the number of a lead; got {shown(value)}")
    return value if isinstance(value, str) else int(value)


def string(where: str, value: Any, expected: str = "a text") -> str:
    """Return an argument that is a text."""
    if not isinstance(value, str):
        raise UserError(f"{where}: expected {expected}; got {shown(value)}")
    return value


def file_path(where: str, value: Any) -> Path:
    """Return an argument that is the path of a file."""
    if not isinstance(value, str | os.PathLike):
        raise UserError(f"{where}: expected the path of a file; got {shown(value)}")
    return Path(os.fsdecode(value))


def shown(value: Any) -> str:
    """Return an argument as an error shows it.

    >>> shown(0.0), shown("x"), shown(np.array([250.0])), shown({})
    ('0', "'x'", 'an array of shape [1]', '{}')
    """
    if isinstance(value, float | np.floating):
        return f"{value:g}"
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"an array of shape {list(value.shape)}" if value.ndim else f"{value}"
    try:
        line = repr(value)
    except Exception as error:
        line = f"{type(value).__name__} ({type(error).__name__})"
    line = " ".join(line.split())
    return line if len(line) <= _LONGEST_SHOWN else f"{line[:_LONGEST_SHOWN]}..."
