"""Write placements into the rings of a bank, and copy stretches of a ring.

A ring is ``x[lane, lead, R]``: sample ``a`` is in column ``a % R``. Where a lead is off or has no value, the ring holds
``NO_VALUE``. Short holes are filled in when the samples behind them are known (``kernels.intake.filling``), and gaps of
all leads are bridged (``kernels.intake.bridges``). In other holes the lead is absent, and the stages leave it out; a
ring of one lead has none.
"""

from beatwire.kernels.intake.holes import NO_VALUE
from beatwire.kernels.team import WIDTH, member, part, parts, wait
from beatwire.records import I16, I32, I64, U8
from beatwire.records.columns import PLACE_AT, PLACE_COUNT, PLACE_FIRST, PLACE_LANE, PLACE_LEAD_OFF, PLACE_STRIDE

MARK, FILL = -1, -2  # positions, see ``kernels.intake.align``


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
    elif at != FILL:
        for lead in range(part(), leads, parts()):
            p = at + lead * stride if at >= 0 else MARK
            write_lead(payload, p, (lead_off >> lead) & 1, x[lane, lead], column, count)


def write_lead(payload: U8, p: int, is_off: int, ring: I16, column: int, count: int) -> None:
    """Write one lead of a placement that is more than plain samples of leads that are all on.

    ``p`` is the position of its first sample in the payload, or ``MARK``, see ``kernels.intake.align``. Of a gap it is
    that of the sample behind it, which is written too: a bridge ends there, and it may be in the next pass.
    """
    size = ring.shape[0]
    if count < 0:
        for j in range(member(), -count, WIDTH):
            ring[(column + j) % size] = NO_VALUE
        if p != MARK and is_off:
            ring[(column - count) % size] = NO_VALUE
        elif p != MARK:
            copy_samples(payload, p, ring, (column - count) % size, 1)
    elif is_off or p == MARK:
        for j in range(member(), count, WIDTH):
            ring[(column + j) % size] = NO_VALUE
    else:
        copy_samples(payload, p, ring, column, count)


def copy_samples(payload: U8, p: int, ring: I16, column: int, count: int) -> None:
    """Copy ``count`` samples from ``payload[p]`` on into a ring from ``column`` on."""
    head = min(count, ring.shape[0] - column)
    decode_int16(payload[p : p + 2 * head], ring[column : column + head], head)
    if count > head:
        decode_int16(payload[p + 2 * head : p + 2 * count], ring[: count - head], count - head)


def write_in_turn(i: int, run: I64, place: I64, payload: U8, x: I16) -> None:
    """Copy the placements of one lane, rows ``run[i]`` to ``run[i + 1] - 1``, one after the other."""
    for k in range(run[i], run[i + 1]):
        write_samples(k, place, payload, x)
        wait()


def begin_lane(i: int, lanes: I64, base: I64, x: I16) -> None:
    """Mark the sample before the first one of lane ``lanes[i]``: nothing is filled in from what is before it."""
    for lead in range(x.shape[1]):
        x[lanes[i], lead, (base[i] - 1) % x.shape[2]] = NO_VALUE


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
