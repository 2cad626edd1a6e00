"""What a file of arrays states beside its samples: the sampling rate, the units and the names of the leads.

A number is the rate if its name says so: alone, behind a word for the recording, or in a structure. A name with another
word (``heart_rate``, ``line_freq``, ``resp_fs``) is that of another rate. Of several rates an ECG's counts first, then
one whose name has no other word. A ``rate`` alone below 250 may be that of the heart: it counts last, and only if
signals are sampled so.
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.columns.kinds import uv_per_unit_of
from beatwire.recordings.columns.names import PER_SECOND, Meaning, canonical_unit, is_quantity, is_unscaled, meaning
from beatwire.recordings.readers.paths import telling
from beatwire.recordings.record import MAX_LEADS, MAX_RATE_HZ, MIN_RATE_HZ

_RECORDING = r"(?:(?:ecg|ekg|adc|daq|data|signals?|sig|acq\w*|rec|record\w*|device|channels?|leads?|ch)[_ ])?"
_SAMPLING = r"f_?s|fsamp(?:le)?|s_?freq|sf|sr|srate|fs_?(?:ecg|hz)|samp\w*[_ ]?rate(?:_hz)?|samp\w*[_ ]?freq\w*"
_OWN = re.compile(rf"{_RECORDING}(?:{_SAMPLING}|rate(?:_hz)?|freq|frequency|hz|hertz)", re.IGNORECASE)
_ANY = re.compile(rf"(?:.*[_ ])?(?:{_SAMPLING})", re.IGNORECASE)  # of another time, or another signal
_RATE = re.compile(r"(?:e[ck]g[_ ])?rate", re.IGNORECASE)  # or that of the heart, up to 250 a minute
_HEART_HZ, _USUAL_HZ = 250.0, (50.0, 64.0, 100.0, 125.0, 128.0, 130.0, 200.0)
_INTERVAL = re.compile(r"(?:.*_)?(?:dt|delta_?t|samp\w*_?(?:interval|period))|interval", re.IGNORECASE)  # s
_DURATION = re.compile(rf"{_RECORDING}duration(?:_?s(?:ec(?:onds)?)?)?", re.IGNORECASE)  # s
_ECG = re.compile(r"ecg|ekg", re.IGNORECASE)
_LEADS = re.compile(
    r"(?:.*_)?(?:leads?|channels?|(?:lead|channel|ch|sig|signal|column)_?(?:names?|labels?))", re.IGNORECASE
)
_NAMES = re.compile(
    r"(?:names?|labels?|titles?|axis0|block0_items)(?:_block\d+)?", re.IGNORECASE
)  # of several leads; one may be a person's
_FACTOR = re.compile(
    rf"{_RECORDING}(?:adc_?|digital_?)?(?:gain|resolution|sensitivity|scale|lsb(?:_?[mun]v)?)s?", re.IGNORECASE
)
_UNITS = re.compile(rf"{_RECORDING}(?:chan)?units?(?:_block\d+)?", re.IGNORECASE)


_OF_TIME = {"hz", *PER_SECOND}  # of a rate, or of a clock


def stated_rate(where: str, arrays: Mapping[str, Any], fs: float | None) -> tuple[float | None, list[str]]:
    """Return the sampling rate of a file: the number that is called so, or that of the user; and a note.

    Raises
    ------
    UserError
        It states several rates and the user gives none, or the user gives another one.
    """
    numbers = {name: found for name, a in arrays.items() if (found := _numbers(a))}
    rates = {name: several for name, several in numbers.items() if all(map(_is_rate, several))}
    by_name = [{n: hz for n, hz in rates.items() if of.fullmatch(_last(n)) and not _is_other(n)} for of in (_OWN, _ANY)]
    doubtful = {
        n: several for n, several in by_name[0].items() if _RATE.fullmatch(_last(n)) and min(several) < _HEART_HZ
    }
    by_name = [{n: hz for n, hz in group.items() if n not in doubtful} for group in by_name]
    rates = {n: hz for group in by_name for n, hz in group.items() if _ECG.search(n)} or by_name[0] or by_name[1]
    is_interval = not rates
    if is_interval:
        rates = {
            n: [per / s for s in several if s] for n, several in numbers.items() if (per := _per_second(n, arrays))
        }
        rates = {n: several for n, several in rates.items() if several and all(map(_is_rate, several))}
    rates = rates or _by_duration(arrays, numbers)
    if doubtful and not rates:
        if fs is not None or not all(hz in _USUAL_HZ for several in doubtful.values() for hz in several):
            return _of_heart(where, doubtful, fs)
        rates, is_interval = doubtful, False
    stated = {hz for several in rates.values() for hz in several}
    if len(stated) > 1 and fs is None:
        got = ", ".join(f"{hz:g} Hz by its {n!r}" for n, several in rates.items() for hz in dict.fromkeys(several))
        raise UserError(f"{where}: expected one sampling rate; got {got}: give --fs")
    if len(stated) != 1:
        return fs, []
    name, hz = next(iter(rates)), stated.pop()
    if fs is None:
        return hz, [f"rate: {hz:g} Hz, by its {name!r}"]
    if abs(fs - hz) > 0.01 * hz and is_interval:  # its unit, or what it is between, may be another
        return fs, [f"rate: {fs:g} Hz, as given; its {name!r} would be {hz:g} Hz"]
    if abs(fs - hz) > 0.01 * hz:
        raise UserError(f"{where}: expected --fs {hz:g}, the rate of its {name!r}, or no --fs; got --fs {fs:g}")
    return fs, []


def _per_second(name: str, arrays: Mapping[str, Any]) -> float:
    """Return how many units of an interval between samples are a second: of one that is named so; else 0."""
    beside = [
        text for end in ("_units", "_unit") if f"{name}{end}" in arrays for text in _texts(arrays[f"{name}{end}"])
    ]
    if not _INTERVAL.fullmatch(_last(name)) and not (beside and _last(name).casefold() == "isi"):  # of AcqKnowledge
        return 0.0
    return PER_SECOND.get(canonical_unit(beside[0]), 0.0) if beside else 1.0


def _of_heart(where: str, doubtful: Mapping[str, list[float]], fs: float | None) -> tuple[float, list[str]]:
    """Return the rate of the user and a note; without one a number that may be the rate of a heart is refused."""
    name, several = next(iter(doubtful.items()))
    if fs is None:
        got = f"its {name!r} of {several[0]:g} may be that of the heart: give --fs, in Hz"
        raise UserError(f"{where}: expected a sampling rate; {got}")
    is_same = any(abs(fs - hz) <= 0.01 * hz for hz in several)
    return fs, [] if is_same else [f"rate: {fs:g} Hz, as given; its {name!r} is {several[0]:g}"]


def _by_duration(arrays: Mapping[str, Any], numbers: Mapping[str, list[float]]) -> dict[str, list[float]]:
    """Return the rate by a duration in seconds, if it is a whole number of Hz."""
    longest = max((max(a.shape, default=0) for a in arrays.values() if a.dtype.kind in "iuf"), default=0)
    found = {n: longest / several[0] for n, several in numbers.items() if _DURATION.fullmatch(_last(n)) and several[0]}
    return {n: [hz] for n, hz in found.items() if _is_rate(hz) and hz == round(hz)}


def stated_units(arrays: Mapping[str, Any]) -> list[str]:
    """Return the units that a file states for its leads: none, one for all, or one for each.

    A unit is a voltage, that of a converter (``adc``), or that of another quantity; others say nothing, nor does that
    of one number, or of a single array that is a time, or another quantity by its name.
    """
    texts = []
    for name, a in arrays.items():
        holder = name.rpartition(".")[0]
        is_of_other = is_quantity(telling(name)) or (
            holder in arrays
            and (np.size(arrays[holder]) < 2 or meaning(_last(holder)) in (Meaning.OTHER, Meaning.TIME))
        )
        own = _texts(a) if _UNITS.fullmatch(_last(name)) and not is_of_other else []
        texts += own if len(own) > 1 or not {*map(canonical_unit, own)} <= _OF_TIME else []
    units = ["adc" if is_unscaled(canonical_unit(text)) else text for text in texts]
    if any(uv_per_unit_of(unit) == 0 and unit != "adc" for unit in units):
        return []
    return units[:1] if len(set(map(str.casefold, units))) == 1 else units


def stated_conversion(arrays: Mapping[str, Any]) -> float | None:
    """Return the one number by which samples are multiplied to have their unit, as NWB states it; None if none."""
    found = {float(np.ravel(a)[0]) for n, a in arrays.items() if _last(n) == "conversion" and len(_numbers(a)) == 1}
    return found.pop() if len(found) == 1 and min(found) > 0 else None


def stated_factors(arrays: Mapping[str, Any]) -> dict[str, list[float]]:
    """Return the different numbers that are called like a factor of samples, and are not 1, by their names."""
    found: dict[str, list[float]] = {}
    for n, a in arrays.items():
        if _FACTOR.fullmatch(_last(n)):
            found.setdefault(_last(n), []).extend(_numbers(a))
    known = {n: list(dict.fromkeys(several)) for n, several in found.items()}
    return {n: several for n, several in known.items() if any(one not in (0.0, 1.0) for one in several)}


def converted(units: str | None, arrays: Mapping[str, Any]) -> tuple[float | None, list[str]]:
    """Return the numbers in a millivolt by a conversion to a unit, None if there is none, and a note on other factors.

    ``adc_gain``, beside counts, is that of WFDB: counts in a unit. What a ``gain`` or a ``scale`` means is not known.
    """
    uv = uv_per_unit_of(units or "") or 0.0
    if uv and (conversion := stated_conversion(arrays)):
        return 1000.0 / (uv * conversion), []
    factors = stated_factors(arrays)
    if not factors or not all(_is_whole(a) for a in arrays.values() if a.dtype.kind in "iuf" and a.size > MAX_LEADS):
        return None, []
    ((name, numbers), *others) = factors.items()
    if uv and not others and name.casefold() == "adc_gain" and len(numbers) == 1 and numbers[0] > 0:
        return numbers[0] * 1000.0 / uv, [f"{numbers[0]:g} counts in a {units}, by its {name!r}"]
    listed = ", ".join(f"{name!r} of {' and '.join(f'{n:g}' for n in numbers)}" for name, numbers in factors.items())
    return None, [f"not used: its {listed}: if its numbers are counts, give --gain, units per millivolt"]


def _is_whole(values: Any) -> bool:
    """Return True if numbers have no fractions."""
    return values.dtype.kind in "iu" or bool((np.isnan(values) | (values == np.rint(values))).all())


def stated_names(arrays: Mapping[str, Any], count: int) -> list[str] | None:
    """Return the names of so many leads that a file holds; None if it holds none."""
    for name, a in arrays.items():
        found = _texts(a)
        is_told = count > 1 or all(meaning(one) is Meaning.LEAD for one in found)
        of = (_LEADS, _NAMES) if is_told else (_LEADS,)
        if any(one.fullmatch(_last(name)) for one in of) and len(found) == count:
            return found
    return None


def _last(name: str) -> str:
    """Return the name of an array without those of the structures that it is in."""
    return name.rpartition(".")[2]


def _is_other(name: str) -> bool:
    """Return True if a name is that of another signal, or that of a structure that it is in is one of a quantity."""
    *outer, last = name.split(".")
    is_called = _OWN.fullmatch(last) is None and meaning(re.sub(_SAMPLING, "", last)) is Meaning.OTHER
    return not _ECG.search(name) and (is_called or any(map(is_quantity, outer)))


def _is_rate(hz: float) -> bool:
    return MIN_RATE_HZ <= hz <= MAX_RATE_HZ


def _numbers(value: Any) -> list[float]:
    """Return the number that an array holds or states in text, or one for each lead; none if it holds others."""
    if value.dtype.kind in "iuf":
        return [float(one) for one in value.flat] if 1 <= value.size <= MAX_LEADS else []
    if value.size != 1:
        return []
    one = value.item()
    one = one.decode("latin-1") if isinstance(one, bytes) else one
    if isinstance(one, str):
        one = re.sub(r"\s*hz$", "", one.strip(), flags=re.IGNORECASE)
    try:
        return [float(one)] if isinstance(one, int | float | str) else []
    except ValueError:
        return []


def _texts(value: Any) -> list[str]:
    """Return the texts of an array: its elements, or its cells; none if one is no text."""
    if value.dtype.kind not in "USO" or value.size > MAX_LEADS * MAX_LEADS:
        return []
    cells = [one.decode("latin-1") if isinstance(one, bytes) else one for one in np.ravel(value).tolist()]
    return [one.strip() for one in cells] if all(isinstance(one, str) for one in cells) else []
