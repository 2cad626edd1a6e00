"""Numbers that programs write where there is no value.

In:  float64 [n] for each lead, NaN where there is no value
Out: the same without the codes, and which they were; signed numbers have their sign (``beatwire.recordings.signs``)

A code is the largest or the least number of a lead, consists of nines (-999, 9999), is the least of 16 bits or a limit
of 32 bits, and lies far beyond all others; where a lead has no other number, it is negative. Any other number is one if
it comes several times and lies much further beyond, and so is what no converter gives. Of integers of 16 bits -32768 is
no value, code or not.
"""

from collections.abc import Sequence
from typing import Any

from beatwire.recordings.record import NO_VALUE
from beatwire.recordings.signs import with_sign
from beatwire.tables import array_module

CODES = frozenset({*(float("9" * n) for n in range(2, 11)), 99.9, 99.99, 999.9, 999.99, 2.0**15, 2.0**31, 2.0**31 - 1})
_ALONE = frozenset(-float("9" * n) for n in range(3, 11))  # codes where a lead has no other number
BEYOND = 20  # times as far from the median as every other number
BEYOND_FOR_LONG = 3  # the same for codes of four digits and more, which hardly any signal reaches by chance
_LONG = 9999.0
BEYOND_FOR_ANY = 1000  # the same for a number that comes several times: a limit of a converter (65535), a marker (1e6)
_EXAMINED, _MOST = 4096, 0.5  # numbers that show how far most others are, and how many these are
IMPOSSIBLE = 1e100  # no number beyond is a value


def without_codes(columns: Sequence[Any], bits: list[int] | None = None) -> tuple[list[Any], tuple[str, ...]]:
    """Return columns in which codes are NaN, and a note for each code.

    ``bits`` are those of signs that earlier blocks had lost, for each column, 0 if none; they are brought up to date.

    >>> import numpy as np
    >>> without_codes([np.array([0.1, -999.0, -0.2, 1.0])])
    ([array([ 0.1,  nan, -0.2,  1. ])], ('-999 is taken for "no value": 1 of 4 values',))
    """
    found: dict[float, int] = {}
    out = []
    known = [0] * len(columns) if bits is None else bits
    before = list(known)
    for k, column in enumerate(columns):
        xp = array_module(column)
        finite = column[xp.isfinite(column)]
        if len(finite) and max(float(finite.max()), -float(finite.min())) > IMPOSSIBLE:
            found[IMPOSSIBLE] = found.get(IMPOSSIBLE, 0) + int((xp.abs(finite) > IMPOSSIBLE).sum())
            finite = finite[xp.abs(finite) <= IMPOSSIBLE]
            column = xp.where(xp.abs(column) > IMPOSSIBLE, xp.nan, column)
        column, known[k] = with_sign(column, finite, known[k])
        if known[k]:
            finite = column[xp.isfinite(column)]
        for code in (NO_VALUE,) if _are_int16(finite) else _codes_of(finite):
            found[code] = found.get(code, 0) + int((column == code).sum())
            column = xp.where(column == code, xp.nan, column)
        out.append(column)
    total = sum(map(len, columns))
    signs = [f"numbers of {n} bits were written without their sign: it is restored" for n in {*known} - {*before}]
    return out, (*signs, *_notes(found, total))


def without_codes_of_int16(samples: Any) -> tuple[Any, tuple[str, ...]]:
    """Return int16 samples [leads, n] in which codes are -32768, and a note for each code; in place if there are none.

    >>> import numpy as np
    >>> without_codes_of_int16(np.array([[10, 9999, -20]], np.int16))
    (array([[    10, -32768,    -20]], dtype=int16), ('9999 is taken for "no value": 1 of 3 values',))
    """
    xp = array_module(samples)
    found: dict[float, int] = {}
    for k, row in enumerate(samples if samples.shape[1] else ()):
        low, high = float(row.min()), float(row.max())
        if low == NO_VALUE:
            low = float(xp.where(row == NO_VALUE, 0, row).min())
        if abs(low) not in CODES and abs(high) not in CODES:
            continue
        for code in _codes_of(row[row != NO_VALUE].astype("float64")):
            if not found:
                samples = samples.copy()
            found[code] = found.get(code, 0) + int((row == code).sum())
            samples[k][row == code] = NO_VALUE
    return samples, _notes(found, samples.size)


def _are_int16(finite: Any) -> bool:
    """Return True if numbers are integers of 16 bits with the smallest of them, as WFDB and others write no value."""
    xp = array_module(finite)
    if not len(finite) or float(finite.min()) != NO_VALUE:
        return False
    return bool(((finite == xp.rint(finite)) & (finite <= -NO_VALUE)).all())


def _notes(found: dict[float, int], total: int) -> tuple[str, ...]:
    return tuple(
        f'{"what is beyond " if code == IMPOSSIBLE else ""}{code:g} is taken for "no value": {n} of {total} values'
        for code, n in sorted(found.items())
    )


def _codes_of(finite: Any) -> list[float]:
    """Return the codes among finite numbers."""
    xp = array_module(finite)
    if not len(finite):
        return []
    edges = list(dict.fromkeys((float(finite.min()), float(finite.max()))))
    edges = [edge for edge in edges if abs(edge) in CODES or _may_be_code(finite, edge)]
    if not edges:
        return []
    others = finite[~xp.isin(finite, xp.asarray(edges))]
    if not len(others):  # in a block, while a lead is off
        return [edge for edge in edges if edge in _ALONE]
    middle = float(xp.median(others))
    widest = float(xp.abs(others - middle).max())
    return [edge for edge in edges if edge != 2.0**15 and abs(edge - middle) > _beyond(edge) * widest]


def _beyond(edge: float) -> int:
    """Return how many times as far from the median as every other number a code is."""
    if abs(edge) not in CODES:
        return BEYOND_FOR_ANY
    return BEYOND_FOR_LONG if abs(edge) >= _LONG else BEYOND


def _may_be_code(finite: Any, edge: float) -> bool:
    """Return True if a number comes several times, and most others are much nearer to their median, but not equal."""
    xp = array_module(finite)
    some = finite[:: max(1, len(finite) // _EXAMINED)]
    away = xp.abs(some - xp.median(some))
    usual = float(xp.quantile(away, _MOST))
    return 0 < BEYOND_FOR_ANY * usual < abs(edge - float(xp.median(some))) and int((finite == edge).sum()) > 1
