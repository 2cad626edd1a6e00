"""Write placements into the rings of a bank, and copy stretches of a ring.

A ring is ``x[lane, lead, R]``: sample ``a`` is in column ``a % R``. Where a lead is off, the ring holds its last value,
whose response is zero. For samples that came before their turn that value is not known yet: they are marked with
``NO_VALUE``, and filled in when their turn comes.
"""

from __future__ import annotations

from beatwire.kernels.team import WIDTH, member, part, parts, wait
from beatwire.records import I16, I32, I64, U8
from beatwire.records.columns import (
    PLACE_AT,
    PLACE_COUNT,
    PLACE_FIRST,
    PLACE_LANE,
    PLACE_LEAD_OFF,
    PLACE_STRIDE,
)

NO_VALUE = -32768  # of int16: no sample of a device has it


def write_samples(i: int, place: I64, payload: U8, x: I16) -> None:
    """Copy placement ``i`` (``Placement.place``) into the ring of its lane."""
    lane = int(place[i, PLACE_LANE])
    first = int(place[i, PLACE_FIRST])
    count = int(place[i, PLACE_COUNT])
    at = int(place[i, PLACE_AT])
    stride = int(place[i, PLACE_STRIDE])
    lead_off = int(place[i, PLACE_LEAD_OFF])
    leads = x.shape[1]
    column = first % x.shape[2]
    if count >= 0 and at >= 0 and lead_off == 0:
        for lead in range(part(), leads, parts()):
            copy_samples(payload, at + lead * stride, x[lane, lead], column, count)
    else:
        for lead in range(part(), leads, parts()):
            p = at + lead * stride if at >= 0 else -1
            write_lead(payload, p, lead_off, lead, x[lane, lead], column, count)


def write_lead(payload: U8, p: int, lead_off: int, lead: int, ring: I16, column: int, count: int) -> None:
    """Write one lead of a placement that is more than plain samples of leads that are all on.

    Parameters
    ----------
    p
        Position of its first sample in the payload; -1: none, see ``kernels.align``.
    lead_off
        Mask; its complement for samples that came before their turn.
    """
    size = ring.shape[0]
    early = lead_off < 0
    if early:
        lead_off = ~lead_off
    is_off = (lead_off >> lead) & 1
    if count < 0:
        if member() == 0:
            bridge(payload, -1 if is_off else p, p < 0, ring, column, -count)
    elif p < 0:
        if member() == 0:
            follow(ring, column, count)
    elif is_off:
        if member() == 0:
            held = NO_VALUE if early else ring[(column - 1) % size]
            for j in range(count):
                ring[(column + j) % size] = held
    else:
        copy_samples(payload, p, ring, column, count)


def copy_samples(payload: U8, p: int, ring: I16, column: int, count: int) -> None:
    """Copy ``count`` samples from ``payload[p]`` on into a ring from ``column`` on."""
    head = min(count, ring.shape[0] - column)
    decode_int16(payload[p : p + 2 * head], ring[column : column + head], head)
    if count > head:
        decode_int16(payload[p + 2 * head : p + 2 * count], ring[: count - head], count - head)


def bridge(payload: U8, p: int, in_ring: bool, ring: I16, column: int, count: int) -> None:
    """Fill ``count`` samples from ``column`` on in a straight line to the sample at ``payload[p]``.

    If ``p`` is -1 the line goes to the sample that follows ``in_ring``, or stays level.
    """
    size = ring.shape[0]
    begin = int(ring[(column - 1) % size])
    end = begin
    if p >= 0:
        end = int(payload[p]) | (int(payload[p + 1]) << 8)
        if end > 32767:
            end -= 65536
    elif in_ring:
        end = int(ring[(column + count) % size])
        if end == NO_VALUE:
            end = begin
    for j in range(count):
        value = begin + (end - begin) * (j + 1) // (1 + count)
        ring[(column + j) % size] = value


def follow(ring: I16, column: int, count: int) -> None:
    """Fill in the values that were not known of ``count`` samples that came before their turn."""
    size = ring.shape[0]
    held = ring[(column - 1) % size]
    for j in range(count):
        if ring[(column + j) % size] == NO_VALUE:
            ring[(column + j) % size] = held
        held = ring[(column + j) % size]


def write_in_turn(i: int, run: I64, place: I64, payload: U8, x: I16) -> None:
    """Copy the placements of one lane, rows ``run[i]`` to ``run[i + 1] - 1``, one after the other."""
    for k in range(run[i], run[i + 1]):
        write_samples(k, place, payload, x)
        wait()


def begin_lane(i: int, lanes: I64, base: I64, x: I16) -> None:
    """Put zero before the first sample of lane ``lanes[i]``: the value held for a lead that is off from the start."""
    for lead in range(x.shape[1]):
        x[lanes[i], lead, (base[i] - 1) % x.shape[2]] = 0


def decode_int16(source: U8, ring: I16, n: int) -> None:
    """Write ``n`` little-endian int16."""
    for j in range(member(), n, WIDTH):
        value = int(source[2 * j]) | (int(source[2 * j + 1]) << 8)
        ring[j] = value - ((value & 32768) << 1)


def take_stretch(i: int, samples: I16, start: I64, stop: I64, out: I16) -> None:
    """Copy one lead of a stretch of a recording; item ``i`` is stretch ``i // leads``, lead ``i % leads``.

    Parameters
    ----------
    samples : int16 [leads, n]
        The recording.
    start, stop : int64 [stretches]
        Stretch ``k`` is samples ``[start[k], stop[k])``.
    out : int16 [stretches, leads, any], written
        From column 0 on.
    """
    leads = samples.shape[0]
    stretch = i // leads
    lead = i - stretch * leads
    source, copy = samples[lead, start[stretch] : stop[stretch]], out[stretch, lead]
    for j in range(stop[stretch] - start[stretch]):
        copy[j] = source[j]


def unroll(ring: I16, first: int, n: int, out: I32) -> None:
    """Copy samples ``[first, first + n)`` of one ring to ``out[:n]``."""
    column = first % ring.shape[0]
    head = min(n, ring.shape[0] - column)
    old, new = ring[column : column + head], ring[: n - head]
    front, back = out[:head], out[head:n]
    for j in range(member(), head, WIDTH):
        front[j] = old[j]
    for j in range(member(), n - head, WIDTH):
        back[j] = new[j]
    wait()


def store(values: I32, n: int, ring: I32, first: int) -> None:
    """Copy ``values[:n]`` to samples ``[first, first + n)`` of one ring."""
    column = first % ring.shape[0]
    head = min(n, ring.shape[0] - column)
    old, new = ring[column : column + head], ring[: n - head]
    front, back = values[:head], values[head:n]
    for j in range(member(), head, WIDTH):
        old[j] = front[j]
    for j in range(member(), n - head, WIDTH):
        new[j] = back[j]
    wait()
