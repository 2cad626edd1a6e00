"""Several recordings in one document: one of them is chosen, or all are refused.

Objects beside each other are recordings if each has samples, and a rate, a time or a person of its own, or several
lists of samples; leads and sensors are named as such. Lists of samples one after the other are packets of one recording
if they are short, or if times or a count show that one follows the other.
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from beatwire.errors import UserError
from beatwire.recordings.columns.clocktext import seconds_of
from beatwire.recordings.columns.names import Meaning, is_time_name, meaning
from beatwire.recordings.record import MAX_RATE_HZ, MIN_RATE_HZ

_FEWEST = 50  # numbers in a list of samples
_DEEPEST = 4
_OWN = re.compile(
    r"(?:.*_)?(?:f_?s|hz|s?freq\w*|s?rate|samp\w*|dates?|start\w*|time|date_?time|time_?stamp|recorded\w*|patient\w*|"
    r"subject\w*|person|session\w*|record\w*)", re.IGNORECASE,
)  # fmt: skip
_CHANNEL = re.compile(
    r"(?:ch|chan|channels?|leads?|signals?|sig|sensors?|electrodes?|traces?|data|samples?|values?)?[ _-]?\d{0,2}",
    re.IGNORECASE,
)
_SHOWN = 3
_LONG = 1000  # samples in a list that may be a recording
_EVEN = 0.1  # of the usual step, by which times of packets may differ
_COUNT = re.compile(r"(?:.*_)?(?:packets?|seq\w*|count\w*|index|blocks?|chunks?|first|no|number|n)", re.IGNORECASE)


def one_of_several(where: str, document: Any, column: str | None) -> tuple[Any, str | None]:
    """Return a document with one recording, and the columns that are wanted in it.

    Raises
    ------
    UserError
        It holds several recordings, and ``column`` names none of them.
    """
    found = _several(document, "", 0)
    if not found:
        return document, column
    for name, value in found.items():
        if column and is_of(name, column):
            return value, within(name, column)
    names = list(found)
    got = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    raise UserError(f"{where}: expected one recording; got {len(names)}, {got}: choose with --column {names[0]}")


def is_of(name: str, column: str) -> bool:
    """Return True if the columns that are wanted are those of a recording, or the recording itself.

    >>> is_of("rec1", "rec1"), is_of("rec1", "rec1.II,rec1.V1"), is_of("rec1", "rec10")
    (True, True, False)
    """
    one = column.split(",")[0].strip()
    return one == name or one.startswith(f"{name}.")


def within(name: str, column: str) -> str | None:
    """Return the columns that are wanted within a recording; None: no choice.

    >>> within("rec1", "rec1"), within("rec1", "rec1.II,rec1.V1")
    (None, 'II,V1')
    """
    if column == name:
        return None
    return ",".join(one.strip().removeprefix(f"{name}.") for one in column.split(","))


def _several(document: Any, prefix: str, depth: int) -> dict[str, Mapping[str, Any]]:
    """Return the recordings beside each other in a document, by their names; none if there are not several."""
    if not isinstance(document, Mapping) or depth > _DEEPEST:
        return {}
    named = {f"{prefix}{key}": value for key, value in document.items() if isinstance(value, Mapping)}
    found = {name: value for name, value in named.items() if _is_recording(name.rpartition(".")[2], value)}
    if len(found) > 1:
        return found
    for name, value in named.items():
        if within := _several(value, f"{name}.", depth + 1):
            return within
    return {}


def _is_recording(name: str, value: Mapping[str, Any]) -> bool:
    """Return True if an object is a recording rather than a lead, a sensor or a table."""
    lists = _lists("", value, 0)
    what = meaning(name)
    if _CHANNEL.fullmatch(name) or what in (Meaning.LEAD, Meaning.VOLTAGE):
        return False
    if what is Meaning.OTHER and not any(meaning(one) is Meaning.LEAD for one in lists):
        return False
    has_own = any(_OWN.fullmatch(str(key)) and np.ndim(one) == 0 for key, one in value.items())
    return len(lists) > 1 or (len(lists) == 1 and has_own)


def _lists(name: str, value: Any, depth: int) -> list[str]:
    """Return the names of lists of samples within a value."""
    if isinstance(value, list):
        is_one = len(value) >= _FEWEST and isinstance(value[0], int | float | list | None)
        return [name] if is_one and not isinstance(value[0], bool) else []
    if isinstance(value, np.ndarray):
        return [name] if value.dtype.kind in "iuf" and value.size >= _FEWEST else []
    if not isinstance(value, Mapping) or depth > _DEEPEST:
        return []
    return [found for key, one in value.items() for found in _lists(str(key), one, depth + 1)]


def channels_of(rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return objects with samples, of which each is called like a lead or another signal, by these names; else None.

    Leads have one rate, time and person.

    >>> channels_of([{"lead": "I", "x": [1, 2]}, {"lead": "II", "x": [3, 4]}])
    {'I': {'x': [1, 2]}, 'II': {'x': [3, 4]}}
    """
    for key in rows[0]:
        names = [row.get(key) for row in rows]
        if not all(isinstance(name, str) for name in names) or len({*names}) < len(names):
            continue
        called = [meaning(str(name)) for name in names]
        if Meaning.LEAD not in called or not {*called} <= {Meaning.LEAD, Meaning.VOLTAGE, Meaning.OTHER}:
            continue
        rest = {str(row[key]): {name: value for name, value in row.items() if name != key} for row in rows}
        leads = [one for one, of in zip(rest.values(), called, strict=True) if of is Meaning.LEAD]
        own = {name for name, value in leads[0].items() if _OWN.fullmatch(name) and not np.ndim(value)}
        has_samples = all(any(map(np.ndim, one.values())) for one in rest.values())
        if has_samples and all(one.get(name) == leads[0][name] for one in leads for name in own):
            return rest
    return None


def check_packets(where: str, rows: list[dict[str, Any]], lists: list[str], lengths: list[int]) -> None:
    """Raise UserError if rows that hold lists of samples are recordings of their own, not packets of one."""
    if float(np.median(lengths)) < _LONG:
        return
    names = [name for name in rows[0] if name not in lists and (is_time_name(name) or _COUNT.fullmatch(name))]
    if not any(_is_even([row.get(name) for row in rows], float(np.median(lengths))) for name in names):
        raise UserError(
            f"{where}: expected one recording; got {len(rows)} lists of {round(float(np.median(lengths))):,} samples, "
            "without times or a count that show them to follow each other: save one of them alone"
        )


def _is_even(values: list[Any], samples: float) -> bool:
    """Return True if the times, or the counts, of packets of so many samples rise in even steps but for a few."""
    texts = [isinstance(value, str) for value in values]
    numbers: Any = values
    if all(texts):
        numbers = seconds_of(pd.Series(values))
    elif any(texts) or any(not isinstance(value, int | float) for value in values):
        return False
    if numbers is None:
        return False
    steps = np.diff(np.asarray(numbers, np.float64))
    usual = float(np.median(steps))
    if all(texts) and not (usual > 0 and MIN_RATE_HZ <= samples / usual <= MAX_RATE_HZ):
        return False
    return usual > 0 and float(np.mean(np.abs(steps - usual) <= _EVEN * usual)) >= 0.8
