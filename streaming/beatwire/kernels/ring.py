"""Bodies that write placements into the rings of a bank, and read a stretch of a ring.

A ring is ``x[lane, lead, R]``: sample ``a`` stands at column ``a % R``. Where a lead is off its last
value is held, which is a response of zero. Of samples that came before their turn that value is not
known yet: they are marked, and filled in when their turn comes.
"""

from __future__ import annotations

from beatwire.kernels.team import WIDTH, member, part, parts, wait
from beatwire.records import I16, I32, I64, U8

NO_VALUE = -32768


def write_samples(i: int, place: I64, payload: U8, x: I16) -> None:
    """Copy placement ``i`` (columns as in ``kernels.align``, from the lane on) into the ring of its lane."""
    lane = int(place[i, 0])
    first = int(place[i, 1])
    count = int(place[i, 2])
    at = int(place[i, 3])
    stride = int(place[i, 4])
    off = int(place[i, 5])
    leads = x.shape[1]
    column = first % x.shape[2]
    if count >= 0 and at >= 0 and off == 0:
        for lead in range(part(), leads, parts()):
            copy_samples(payload, at + lead * stride, x[lane, lead], column, count)
    else:
        for lead in range(part(), leads, parts()):
            write_lead(payload, at, at + lead * stride, off, lead, x[lane, lead], column, count)


def write_lead(payload: U8, at: int, p: int, off: int, lead: int, ring: I16, column: int, count: int) -> None:
    """Write one lead of a placement that is not plain samples of leads that are all on; its samples stand at ``p``."""
    size = ring.shape[0]
    early = off < 0
    if early:
        off = ~off
    if count < 0:
        if member() == 0:
            bridge(payload, p if at >= 0 and not (off >> lead) & 1 else -1, at < 0, ring, column, -count)
    elif at < 0:
        if member() == 0:
            follow(ring, column, count)
    elif (off >> lead) & 1:
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


def bridge(payload: U8, p: int, stands: bool, ring: I16, column: int, count: int) -> None:
    """Fill ``count`` samples from ``column`` on in a straight line to the one at ``p``.

    Where ``p`` is -1 it goes to the one that ``stands`` in the ring, or stays as it is.
    """
    size = ring.shape[0]
    begin = int(ring[(column - 1) % size])
    end = begin
    if p >= 0:
        end = int(payload[p]) | (int(payload[p + 1]) << 8)
        if end > 32767:
            end -= 65536
    elif stands:
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
    """Copy the placements of one lane, ``run[i]`` up to ``run[i + 1] - 1``, one after the other."""
    for k in range(run[i], run[i + 1]):
        write_samples(k, place, payload, x)
        wait()


def begin_lane(i: int, lanes: I64, base: I64, x: I16) -> None:
    """Put zero before the first sample of lane ``lanes[i]``: what a lead that is off from the start on holds."""
    for lead in range(x.shape[1]):
        x[lanes[i], lead, (base[i] - 1) % x.shape[2]] = 0


def decode_int16(source: U8, ring: I16, n: int) -> None:
    """Write ``n`` little-endian int16."""
    for j in range(member(), n, WIDTH):
        value = int(source[2 * j]) | (int(source[2 * j + 1]) << 8)
        ring[j] = value - ((value & 32768) << 1)


def take_stretch(i: int, samples: I16, start: I64, stop: I64, out: I16) -> None:
    """Copy of row ``i`` of ``out`` [stretches, leads, .] what it holds of a recording, [leads, n].

    Of stretch ``k`` and each lead these are samples ``[start[k], stop[k])``, which stand at its beginning.
    """
    leads = samples.shape[0]
    stretch = i // leads
    lead = i - stretch * leads
    part, there = samples[lead, start[stretch] : stop[stretch]], out[stretch, lead]
    for j in range(stop[stretch] - start[stretch]):
        there[j] = part[j]


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
