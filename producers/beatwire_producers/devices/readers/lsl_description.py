"""What the description of a stream of LSL says: its leads, their unit and rate, and the id of its stream.

A channel is a lead if its own type is ECG. Where none is, those are leads whose types and labels are not those of other
quantities: of electrodes, or of nothing that is known. The type of a stream is that of its channels that state none:
if it is ECG, and all labels are those of others, the labels do not count.
"""

import math
from typing import Any

import pylsl
from beatwire.errors import UserError, shown
from beatwire.recordings.columns.names import Meaning, meaning
from beatwire.recordings.leads import find_lead

from beatwire_producers.devices.packets import Description
from beatwire_producers.devices.scale import stated_uv
from beatwire_producers.devices.sources import Options
from beatwire_producers.feeds import pseudonym, told_apart

_NUMBERS = {pylsl.cf_int8, pylsl.cf_int16, pylsl.cf_int32, pylsl.cf_int64, pylsl.cf_float32, pylsl.cf_double64}
_ECG = ("ecg", "ekg")
_MOST_SHORT = 20  # letters of a source id in the id of a stream
_ELECTRODES = (*_ECG, "eeg", "exg", "emg", "eog")


def describe_stream(where: str, info: Any, stream: str, options: Options) -> tuple[Description, list[int], list[str]]:
    """Return what a stream sends by its description, which of its channels are leads, and notes on the others.

    Raises
    ------
    UserError
        It sends text or other quantities, or its leads have several units.
    """
    name = info.name()
    if info.channel_format() not in _NUMBERS:
        raise UserError(f"{where}: expected a stream of numbers; {name!r} is one of text")
    labels, units, types = [], [], []
    channel = info.desc().child("channels").child("channel")
    for k in range(info.channel_count()):
        labels.append(channel.child_value("label") or f"{k + 1}")
        units.append(channel.child_value("unit"))
        types.append(channel.child_value("type").casefold())
        channel = channel.next_sibling()
    others: list[int] = []
    if options.column is not None:
        rows = [find_lead(where, labels, one, "column") for one in options.column.split(",")]
    elif not (rows := [k for k, kind in enumerate(types) if kind in _ECG]):
        kind = info.type().casefold()
        others = [k for k in range(len(labels)) if _is_other(labels[k], units[k], types[k], kind)]
        if kind in _ECG and len(others) == len(labels):
            others = [k for k in others if types[k]]
        rows = [k for k in range(len(labels)) if k not in others]
    left_out = ", ".join(shown(labels[k]) for k in others)
    if not rows:
        raise UserError(f"{where}: expected leads; {name!r} has the channels {left_out} (--column)")
    try:
        scales = {stated_uv(units[k], labels[k]) for k in rows} if options.uv is None else {options.uv}
    except ValueError as error:
        raise UserError(f"{where}: {name!r}: {error} (--column)") from None
    if len(scales) > 1:
        raise UserError(f"{where}: expected channels of one unit; {name!r} has {sorted(set(units))} (--column)")
    rate_hz = options.fs if options.fs is not None else info.nominal_srate() or None
    described = Description(
        stream, tuple(labels[k] for k in rows), None if rate_hz is None or math.isnan(rate_hz) else rate_hz,
        scales.pop(), is_epoch=True,
    )  # fmt: skip
    notes = [f"{where}: {name!r}: the channels {left_out} are no leads: left out (--column)"] if others else []
    return described, rows, notes


def stream_of(info: Any, options: Options, taken: set[str], *, is_alone: bool) -> str:
    """Return the id of a stream: its name, and behind it what tells it apart if others have the name."""
    stream = options.stream if options.stream and not taken else pseudonym(options.stream or info.name())
    if stream not in taken and is_alone:
        return stream
    apart = [f"{stream[:40]}-{_short(one)}" for one in (info.source_id(), info.uid()) if one]
    return next((one for one in apart if one not in taken), apart[-1])


def _short(source: str) -> str:
    """Return a source id as part of the id of a stream: what is changed, or cut, has digits of its hash.

    >>> _short("strap-b"), _short("MuseS-00:55:DA:B0:1A:01"), _short("MuseS-00:55:DA:B0:1A:02")
    ('strap-b', 'MuseS-00-55-37877ee0', 'MuseS-00-55-b81b96c7')
    """
    plain = pseudonym(source)
    return plain if plain == source and len(plain) <= _MOST_SHORT else told_apart(plain, source, _MOST_SHORT)


def _is_other(label: str, unit: str, own: str, kind: str) -> bool:
    """Return True if a channel is no voltage of electrodes, by its label, its own type or that of its stream."""
    is_named = own not in _ELECTRODES and meaning(label, unit) in (Meaning.OTHER, Meaning.TIME)
    of = own or kind
    return is_named or (of not in _ELECTRODES and meaning(of) is Meaning.OTHER)
