"""What the first packets of a stream show of its clock and its count, where nobody states their units.

In:  packets of one stream, whose times are numbers of an unknown unit and whose counts may be those of packets
Out: packets with times in seconds and counts of samples; the first ones only when others have come
State: the unit of the times; places of the last packets

Times are seconds, milliseconds, microseconds or nanoseconds. Those since 1970 are the present time in one unit only; of
others the least step from packet to packet, or where packets are sent several at once the mean of all, gives a sampling
rate of 50-4000 Hz with one unit only. A count that rises by less than the samples of a packet counts packets.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from beatwire.recordings.columns.clocktext import seconds_of_clock
from beatwire.recordings.record import MAX_RATE_HZ, MIN_RATE_HZ

from beatwire_producers.devices.packets import EARLIEST_S, LATEST_S, Description, Packet
from beatwire_producers.devices.turns import Turns

_UNITS = (1.0, 1e3, 1e6, 1e9)  # per second
_MIDDLE_HZ = math.sqrt(MIN_RATE_HZ * MAX_RATE_HZ)
_FEWEST_STEPS = 2  # of times and counts, of which the least counts: between two packets others may be lost
_LIKE_STATED = math.log(2)  # a rate up to twice, and down to half of the stated one; else more packets are waited for
_SAME_DAY_S = 86_400.0  # by which clocks that count from 1970 may differ
_LONGEST_S = 1e11  # of a clock that does not run
_MOST_HELD = 8  # packets whose times and counts do not rise
_NEAR_TURN = 8  # packets before and after the last number
_REMEMBERED = 64  # packets, whose places late ones are found by


@dataclass
class _Stream:
    """One stream.

    held            packets that wait; None if the units are known
    per_second      unit of its times
    counts_packets  True if its count is one of packets
    places          number of a packet -> the sample at which it begins, and its samples
    usual           samples of the last packet
    turns           of its count
    described       what was described last, and the same with what was learnt
    """

    held: list[Packet] | None = field(default_factory=list)
    per_second: float = 1.0
    counts_packets: bool = False
    places: dict[int, tuple[int, int]] = field(default_factory=dict)
    usual: int = 1
    turns: Turns = field(default_factory=Turns)
    described: tuple[Description, Description] | None = None


class Learning:
    """The clocks and counts of all streams of a reader."""

    def __init__(self) -> None:
        self._streams: dict[str, _Stream] = {}

    def add(self, packet: Packet) -> list[Packet]:
        """Return what can be passed on now that a packet has come; its times are numbers of an unknown unit."""
        assert packet.described is not None
        one = self._streams.setdefault(packet.described.stream, _Stream())
        if one.held is None:
            return [_passed(one, packet)]
        one.held.append(packet)
        if not _is_learnt(one, one.held) and len(one.held) < _MOST_HELD:
            return []
        held, one.held = one.held, None
        return [_passed(one, each) for each in held]

    def rest(self, before_s: float = math.inf) -> list[Packet]:
        """Return packets that were held since before a time, or all, without times and counts: of unknown unit."""
        found = []
        for one in self._streams.values():
            if one.held and one.held[-1].arrival_s < before_s:
                found += [replace(each, time_s=None, count=None) for each in one.held]
                one.held = []
        return found


def _is_learnt(one: _Stream, held: list[Packet]) -> bool:
    """Return True if the units are known; keep them as far as they are."""
    packet = held[-1]
    times, counts = _rises(held, lambda each: each.time_s), _rises(held, lambda each: each.count)
    is_timed = packet.time_s is None or len(times) >= _FEWEST_STEPS
    if packet.time_s is not None and (per_second := _unit_since_1970(packet.time_s, packet.arrival_s)) is not None:
        one.per_second, is_timed = per_second, True
    elif times:
        stated_hz = packet.described.rate_hz if packet.described is not None else None
        rises, sizes = (sum(column) for column in zip(*times, strict=True))
        rates = max(samples / rise for rise, samples in times), sizes / rises
        apart, one.per_second = min(
            (min(abs(math.log(per * rate / (stated_hz or _MIDDLE_HZ))) for rate in rates), per) for per in _UNITS
        )
        is_timed = is_timed and (not stated_hz or apart < _LIKE_STATED)
    elif packet.time_s is not None:
        one.per_second = next((per for per in _UNITS if abs(packet.time_s) < _LONGEST_S * per), _UNITS[-1])
    one.counts_packets = any(rise < samples for rise, samples in counts)
    return is_timed and (packet.count is None or len(counts) >= _FEWEST_STEPS)


def _unit_since_1970(time: float, now_s: float) -> float | None:
    """Return the unit by which a time since 1970 is that of this machine; None if there is none."""
    return next((per for per in _UNITS if abs(time / per - now_s) < _SAME_DAY_S), None)


def _rises(held: list[Packet], number: Callable[[Packet], float | None]) -> list[tuple[float, int]]:
    """Return by how much a number rises from packet to packet, where it does, and the samples of the former."""
    found = [(number(a), number(b), a.samples.shape[1]) for a, b in pairwise(held)]
    return [(b - a, samples) for a, b, samples in found if a is not None and b is not None and b > a]


def _passed(one: _Stream, packet: Packet) -> Packet:
    """Return a packet with its time in seconds and its count in samples."""
    described = packet.described
    time_s = None if packet.time_s is None else packet.time_s / one.per_second
    if described is not None and time_s is not None and one.per_second != 1.0:
        if one.described is None or one.described[0] is not described:
            is_epoch = EARLIEST_S < time_s < LATEST_S
            one.described = described, replace(described, is_epoch=is_epoch)
        described = one.described[1]
    count = None if packet.count is None else _samples_before(one, packet.count, packet.samples.shape[1])
    if (count, time_s) == (packet.count, packet.time_s):
        return packet
    return replace(packet, time_s=time_s, count=count, described=described)


def _samples_before(one: _Stream, count: int, size: int) -> int:
    """Return how many samples a stream has counted before a packet."""
    number = one.turns.number(count, _NEAR_TURN * (1 if one.counts_packets else size))
    return _first_of(one, number, size) if one.counts_packets else number


def _first_of(one: _Stream, number: int, size: int) -> int:
    """Return the sample at which a packet with a number begins, by the packets before it, or after it."""
    places = one.places
    if number in places:
        return places[number][0]
    before = max((known for known in places if known < number), default=None)
    least = min(places, default=number)
    if before is not None:
        begin, length = places[before]
        first = begin + length + (number - before - 1) * one.usual
    elif least - number > _REMEMBERED or not places:  # the first packet, or it counts from elsewhere
        places.clear()
        first = number * size
    else:
        first = max(0, places[least][0] - (least - number) * one.usual)
    places[number] = first, size
    one.usual = size
    if len(places) > _REMEMBERED:
        del places[min(places)]
    return first


def seconds_of_text(text: str) -> Any:
    """Return a date and time in the form of ISO 8601, UTC if it names no zone, as seconds; another text as it is.

    So is a time of day, which has no date.

    >>> seconds_of_text("1970-01-01T01:00:00+01:00"), seconds_of_text("12.5"), seconds_of_text("noon")
    (0.0, 12.5, 'noon')
    >>> seconds_of_text("00:01:08.5")
    68.5
    """
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        try:
            return float(text)
        except ValueError:
            time_s = seconds_of_clock(text.strip())
            return text if math.isnan(time_s) else time_s
    return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()
