"""The sampling rate that packets show, measured where nobody states it.

In:  packets with their device times, or with their arrivals
Out: a rate in Hz, as ``beatwire.recordings.columns.evenrate`` finds it in the rows of a table
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
from beatwire.errors import UserError
from beatwire.recordings.columns.evenrate import nominal_rate, rate_and_positions
from beatwire.recordings.columns.laterate import even_rate
from beatwire.recordings.record import check_rate
from beatwire.records import F64, I64, Bool

from beatwire_producers.devices.packets import Description, Packet
from beatwire_producers.devices.seen import hash_of, may_be_doubled

_FEWEST, _ENOUGH = 4, 6  # packets that show a rate at all; that need not be waited for
_UNSURE = 0.005  # by which late packets may change a rate: 250 and 256 Hz are told apart
_LARGEST = 1 << 52  # samples from the first count to the last
_JUMP_S, _JUMP_STEPS = 1.0, 20.0  # a time that jumps by more, in seconds and in steps, may be damaged
_CHANCE, _FEWEST_STRETCHES, _MOST_EVEN = (1.0, 2.0), 4, 0.5  # the variance of stretches by chance; of that variance
OTHER = 0.03  # so far from the stated rate is another one


def measured_rate(described: Description, packets: Sequence[Packet]) -> float:
    """Return the sampling rate of packets whose device does not state it.

    Raises
    ------
    UserError
        The packets do not show it, or it is outside of 50-4000 Hz.
    """
    return _measured(described, packets)[0]


def _measured(described: Description, packets: Sequence[Packet]) -> tuple[float, I64]:
    """Return the sampling rate of packets, and the samples up to the end of each one, with those that are missing."""
    where = described.stream
    has_times = _has_times(packets)
    sizes = [packet.samples.shape[1] for packet in packets]
    ends = np.cumsum(sizes)
    times = [p.arrival_s if p.time_s is None or not has_times else p.time_s for p in packets]
    counts = [packet.count for packet in packets if packet.count is not None]
    is_counted = len(counts) == len(times) and not described.turn
    if not has_times:  # an arrival is the time of what follows the packet
        if is_counted:
            counts = [count + size // described.per_count for count, size in zip(counts, sizes, strict=True)]
        else:
            sizes, times = sizes[1:], times[:-1]
    if len(times) < _FEWEST or times[-1] <= times[0]:
        raise _unknown(where, f"{len(times)} of them")
    seconds = np.array(times) - times[0]
    is_counted = is_counted and counts[-1] > counts[0]
    if is_counted and (max(counts) - min(counts)) * described.per_count < _LARGEST:
        rows = np.array([(count - counts[0]) * described.per_count for count in counts], np.int64)
        hz = even_rate(rows, seconds, np.zeros(len(rows) - 1, np.int64), float(rows[-1] / seconds[-1]))
        least_late_hz = hz if has_times else earliest_hz(rows, seconds)
        if 2 * _UNSURE < abs(least_late_hz / hz - 1) < np.inf:  # many came at once
            hz = least_late_hz
        with suppress(UserError):  # what is counted are no samples
            return check_rate(where, nominal_rate(hz, 2.0 / float(rows[-1]))), np.maximum.accumulate(rows) + ends[0]
    if not has_times and len(sizes) == len(packets):  # the counts show nothing
        sizes, seconds = sizes[1:], seconds[:-1]
    try:
        hz, firsts, _ = rate_and_positions(where, "time", seconds, None, np.cumsum(sizes) - sizes)
        check_rate(where, hz)
    except UserError as error:
        raise _unknown(where, str(error)) from None
    if firsts is not None:
        if not has_times and (even_hz := _without_loss(np.array(sizes), seconds, firsts, hz)) is not None:
            return check_rate(where, even_hz), ends
        ends = ends[0] + np.append(firsts, firsts[-1] + sizes[-1]) if not has_times else firsts + sizes
    return hz, ends


def _without_loss(sizes: I64, seconds: F64, firsts: I64, hz: float) -> float | None:
    """Return the rate of arrivals between which samples only seem to be missing; None if they are missing.

    Where packets are read at the ticks of a timer, some steps are a tick longer, in every stretch about equally many.
    What is lost is lost at random: the number of such steps then varies as that of heads does.
    """
    lost, steps_s = np.diff(firsts) - sizes[:-1], np.diff(seconds)
    share, total = float((lost > 0).mean()), np.concatenate([[0], lost.cumsum()])
    if not 0 < share < 1:
        return None
    unit = float(np.median(lost[lost > 0]))
    stretches = [math.ceil(chance / (share * (1 - share))) for chance in _CHANCE]
    stretches = [stretch for stretch in stretches if stretch * _FEWEST_STRETCHES <= len(lost)]
    by_chance = unit**2 * share * (1 - share)
    vary = [float(np.var(total[stretch:] - total[:-stretch])) / (by_chance * stretch) for stretch in stretches]
    if not vary or max(vary) > _MOST_EVEN:
        return None
    at = np.cumsum(sizes) - sizes
    tick_s = max(unit / hz, float(np.median(steps_s[steps_s > 0])))
    return nominal_rate(earliest_hz(at, seconds), tick_s / float(seconds[-1]))


def sure_rate(described: Description, packets: Sequence[Packet]) -> float | None:
    """Return the sampling rate of packets as :func:`measured_rate` does; None if more of them would show it better.

    What arrives late makes a rate wrong, the more the fewer packets there are. So does what arrives at once, after a
    stall, unless most packets came in time: then the earliest ones show the same rate as all together.

    Raises
    ------
    UserError
        Times of the device show no rate, or one outside of 50-4000 Hz.
    """
    if len(packets) < _ENOUGH:
        return None
    if _has_times(packets):
        return measured_rate(described, packets)
    try:
        hz, ends = _measured(described, packets)
    except UserError:
        return None
    arrivals = np.array([packet.arrival_s for packet in packets])
    late_s = arrivals - ends / hz
    late_s -= late_s.min()
    span_s, delay_s = float(arrivals[-1] - arrivals[0]), 2.0 * float(np.median(late_s))
    apart = min(len(packets), span_s / (delay_s + 1e-9))  # a late packet delays those behind it
    is_sure = delay_s / (1 + apart // 8) <= _UNSURE * span_s  # by the earliest of an eighth of them at each end
    return hz if is_sure and abs(earliest_hz(ends, arrivals) / hz - 1) < OTHER else None


def _has_times(packets: Sequence[Packet]) -> bool:
    """Return True if packets have times of a clock that runs."""
    times = {packet.time_s for packet in packets}
    return packets[0].time_s is not None and len(times) > 1


def without_doubled(packets: Sequence[Packet]) -> list[Packet]:
    """Return packets without those that came twice, of which neither a count nor a time says it.

    They have the samples of the one before them, and came much sooner after it than others do.
    """
    gaps_s = np.diff([packet.arrival_s for packet in packets])
    usual_s = float(gaps_s.mean()) if len(gaps_s) else 0.0
    return [
        packet
        for k, packet in enumerate(packets)
        if k == 0
        or packet.time_s is not None
        or packet.count is not None
        or gaps_s[k - 1] >= 0.5 * usual_s
        or not (may_be_doubled(packet) and hash_of(packet) == hash_of(packets[k - 1]))
    ]


def with_repaired_times(packets: Sequence[Packet]) -> tuple[list[Packet], int]:
    """Return packets with times that are missing or damaged replaced, and how many are; without any if most are.

    A time is damaged if it leaves the line of its neighbours for one packet alone. Between packets that follow each
    other it is interpolated; beside a gap its arrival tells to which side it belongs.
    """
    times = np.array([np.nan if packet.time_s is None else packet.time_s for packet in packets])
    arrivals = np.array([packet.arrival_s for packet in packets])
    sizes = np.array([packet.samples.shape[1] for packet in packets])
    at = np.cumsum(sizes) - sizes
    known = np.flatnonzero(~np.isnan(times))
    largest_s = _JUMP_S
    if len(known) > 2:
        largest_s = max(_JUMP_S, _JUMP_STEPS * float(np.median(np.abs(np.diff(times[known])))))
        known = known[~_damaged(times[known], arrivals[known], largest_s)]
    if 2 * len(known) <= len(packets):
        return [replace(packet, time_s=None) for packet in packets], 0
    missing = np.setdiff1d(np.arange(len(packets)), known)
    if not len(missing):
        return list(packets), 0
    steps, apart = np.diff(times[known]), np.diff(at[known])
    middle = float(np.median(steps / apart)) if len(known) > 1 else 0.0
    usual = (np.abs(steps) <= largest_s) & ((steps <= 1.5 * middle * apart) | (middle <= 0))
    per_s = float(steps[usual].sum() / max(1, apart[usual].sum()))
    after = np.searchsorted(known, missing)
    left, right = known[np.maximum(after - 1, 0)], known[np.minimum(after, len(known) - 1)]
    follows = times[left] + per_s * (at[missing] - at[left])
    precedes = times[right] - per_s * (at[right] - at[missing])
    arrived = arrivals[missing] + np.interp(at[missing], at[known], times[known] - arrivals[known])
    nearer = np.where(np.abs(arrived - follows) <= np.abs(arrived - precedes), follows, precedes)
    nearer = np.where(np.abs(arrived - nearer) > _JUMP_S, arrived, nearer)
    has_gap = (left >= right) | (precedes - follows > 0.5 * per_s * sizes[missing])
    repaired = np.where(has_gap, nearer, np.interp(at[missing], at[known], times[known]))
    made = list(packets)
    for k, time_s in zip(missing.tolist(), repaired.tolist(), strict=True):
        made[k] = replace(made[k], time_s=time_s)
    return made, len(missing)


def _damaged(times: F64, arrivals: F64, largest_s: float) -> Bool:
    """Return which times jump away and back, bool [packets]; of the first and the last one the arrivals say it.

    Behind an outage the times jump, and the arrivals with them: only what jumps further than these is damaged. A packet
    that is late contradicts nothing. A true time between two damaged ones jumps as they do.
    """
    step, ahead = np.diff(times), times - arrivals
    jumps = np.abs(step) > largest_s
    across = np.minimum(np.abs(times[2:] - times[:-2]), np.abs(ahead[2:] - ahead[:-2])) <= 2 * largest_s
    damaged = np.zeros(len(times), np.bool_)
    damaged[1:-1] = jumps[:-1] & jumps[1:] & ((step[:-1] < 0) != (step[1:] < 0)) & across
    between = np.zeros_like(damaged)  # of neighbours that jump the arrivals say which one is damaged
    between[1:] |= damaged[1:] & damaged[:-1]
    between[:-1] |= damaged[1:] & damaged[:-1]
    if between.any() and not damaged.all():
        damaged &= ~between | (np.abs(ahead - np.median(ahead[~damaged])) > largest_s)
    others = ahead[1:-1][~damaged[1:-1]]
    if len(others) > 1:
        damaged[0] = jumps[0] and not damaged[1] and (step[0] < 0 or others.min() - ahead[0] > largest_s)
        damaged[-1] = jumps[-1] and not damaged[-2] and (step[-1] < 0 or ahead[-1] - others.max() > largest_s)
    return damaged


def _unknown(where: str, got: str) -> UserError:
    return UserError(f"{where}: expected a sampling rate, or packets whose times show it; got {got}: give --fs, in Hz")


def earliest_hz(samples: I64, times: F64) -> float:
    """Return the rate along the packets that none is early beside: late ones, together, do not change it.

    >>> at, times = np.arange(0, 1000, 10), np.arange(0, 10, 0.1)
    >>> float(round(earliest_hz(at, np.maximum(times, 4.0)), 3))
    100.0
    """
    hull: list[int] = []  # from below, by the monotone chain of Andrew (1979)
    for k in range(len(times)):
        while len(hull) > 1:
            (i, j), here = hull[-2:], (samples[k], times[k])
            if (times[j] - times[i]) * (here[0] - samples[i]) < (here[1] - times[i]) * (samples[j] - samples[i]):
                break
            hull.pop()
        hull.append(k)
    span, took_s = np.diff(samples[hull]), np.diff(times[hull])
    step_s = took_s / np.maximum(span, 1)  # rises along the hull
    middle_s = float(step_s[np.searchsorted(span.cumsum(), 0.5 * span.sum())])
    return 1.0 / middle_s if middle_s > 0 else np.inf
