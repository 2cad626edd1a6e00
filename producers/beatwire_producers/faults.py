"""Faults on purpose: what networks and devices do to chunks, seeded and told afterwards.

Every decision is a hash of (seed, fault, stream, chunk number), so it does not depend on how a
schedule was cut into blocks, on the order of its rows, or on other streams. Only a clock that has
jumped is remembered from block to block: ``Clocks``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

import numpy as np
from beatwire.errors import UserError
from beatwire.records import F64, I64, U64, Bool

from beatwire_producers.schedule import GARBAGE, TRUNCATED, Schedule, joined


@dataclass(frozen=True)
class Faults:
    """How often each fault befalls a chunk, 0-1, and how bad it is.

    dropped       never sent
    duplicated    sent again, up to ``window`` chunks later
    reordered     sent 1 to ``window`` chunks late, so that others overtake it
    late          sent ``late_s`` seconds late
    clock_jump    from this chunk on the device's clock is up to ``jump_s`` seconds off
    lead_off      all leads are off for ``off_s`` seconds from this chunk on
    malformed     cut in half, or noise
    """

    dropped: float = 0.0
    duplicated: float = 0.0
    reordered: float = 0.0
    late: float = 0.0
    clock_jump: float = 0.0
    lead_off: float = 0.0
    malformed: float = 0.0
    window: int = 3
    late_s: float = 3.0
    jump_s: float = 60.0
    off_s: float = 3.0

    def __bool__(self) -> bool:
        return any(getattr(self, kind) > 0 for kind in KINDS)


KINDS = ("dropped", "duplicated", "reordered", "late", "clock_jump", "lead_off", "malformed")


@dataclass
class Clocks:
    """How far the device clocks have jumped so far: int64 [lanes], microseconds."""

    shift_us: I64


@dataclass(frozen=True)
class Injected:
    """What was done: for each fault the chunks it befell, int64 [k, 2] of lane and number."""

    chunks: dict[str, I64] = field(default_factory=lambda: {kind: np.zeros((0, 2), np.int64) for kind in KINDS})

    @property
    def counts(self) -> dict[str, int]:
        """How many chunks each fault befell."""
        return {kind: len(rows) for kind, rows in self.chunks.items()}


def parse_faults(text: str | None) -> Faults:
    """Read ``dropped=0.01,late=0.001,late_s=5``.

    Raises
    ------
    UserError
        a name that is no fault, or a value out of its range.
    """
    known = {f.name: 1.0 for f in fields(Faults)} | {"window": 100.0, "late_s": 3600.0, "jump_s": 1e6, "off_s": 3600.0}
    given: dict[str, float] = {}
    for part in (text or "").split(","):
        name, _, value = part.partition("=")
        name = name.strip().replace("-", "_")
        if not part.strip():
            continue
        if name not in known:
            raise UserError(f"--faults: expected names among {', '.join(known)}; got {name!r}")
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not 0 <= number <= known[name] or (name == "window" and (number < 1 or number != int(number))):
            raise UserError(
                f"--faults: expected {name} within {'1' if name == 'window' else '0'}-{known[name]:g}; got {value!r}"
            )
        given[name] = number
    window = int(given.pop("window", 3))
    return Faults(**given, window=window)


def inject(
    rows: Schedule, faults: Faults, chunk_ms: float, leads: I64, seed: int = 0, clocks: Clocks | None = None
) -> tuple[Schedule, Injected]:
    """Do what ``faults`` says to a schedule.

    Parameters
    ----------
    rows
        a schedule; it is not changed.
    leads
        int64 [lanes], the number of leads of each stream.
    clocks
        for a schedule that comes in blocks, in the order of chunk numbers: the clocks so far, which
        this changes.

    Returns
    -------
    schedule, injected
        the messages in the order in which they are sent, and what was done.
    """
    chunk_us = round(chunk_ms * 1000.0)
    done: dict[str, I64] = {}

    def draw(kind: str) -> F64:
        return _uniform(seed, kind, rows.lane, rows.number)

    def hit(kind: str, among: Bool | None = None) -> Bool:
        chosen: Bool = draw(kind) < getattr(faults, kind)
        if among is not None:
            chosen = chosen & among
        done[kind] = np.stack([rows.lane[chosen], rows.number[chosen]], axis=1)
        return chosen

    dropped = hit("dropped")
    kept = ~dropped
    late = hit("late", kept)
    reordered = hit("reordered", kept & ~late)
    malformed = hit("malformed", kept)
    duplicated = hit("duplicated", kept & ~malformed)
    steps = 1 + np.floor(draw("steps") * faults.window).astype(np.int64)
    overtaken_us = steps * chunk_us + chunk_us // 2
    due_us = rows.due_us + np.where(late, round(faults.late_s * 1e6), 0) + np.where(reordered, overtaken_us, 0)
    broken = np.where(malformed, np.where(draw("how") < 0.5, TRUNCATED, GARBAGE), rows.broken).astype(np.uint8)

    off = _off(rows, faults, seed, max(1, round(faults.off_s * 1e6 / chunk_us)))
    done["lead_off"] = np.stack([rows.lane[off], rows.number[off]], axis=1)
    lead_off = rows.lead_off | np.where(off, (1 << leads[rows.lane]) - 1, 0).astype(np.int32)

    jumps = hit("clock_jump")
    time_us = rows.time_us + _jumped(rows, jumps, (2 * draw("by") - 1) * faults.jump_s * 1e6, clocks, len(leads))

    changed = replace(rows, due_us=due_us, broken=broken, lead_off=lead_off, time_us=time_us)
    again = replace(changed, due_us=due_us + overtaken_us).take(duplicated)
    return joined(changed.take(kept), again).by_due(), Injected({kind: done[kind] for kind in KINDS})


def _off(rows: Schedule, faults: Faults, seed: int, chunks: int) -> Bool:
    """Mark a chunk if an episode began with it or with one of the ``chunks - 1`` before it."""
    off = np.zeros(len(rows), np.bool_)
    if faults.lead_off > 0:
        for back in range(chunks):
            number = rows.number - back
            off |= (_uniform(seed, "lead_off", rows.lane, number) < faults.lead_off) & (number >= 0)
    return off


def _jumped(rows: Schedule, jumps: Bool, by_us: F64, clocks: Clocks | None, lanes: int) -> I64:
    """Return each row's shift: all jumps of its lane up to its number, those of earlier blocks too."""
    clocks = clocks or Clocks(np.zeros(lanes, np.int64))
    shift_us: I64 = clocks.shift_us[rows.lane]
    for row in np.flatnonzero(jumps):  # rare
        lane, by = rows.lane[row], int(by_us[row])
        shift_us[(rows.lane == lane) & (rows.number >= rows.number[row])] += by
        clocks.shift_us[lane] += by
    return shift_us


def _uniform(seed: int, kind: str, lane: I64, number: I64) -> F64:
    """Hash to [0, 1): splitmix64 of the seed, the fault, the stream and the chunk."""
    salt = int.from_bytes(kind.encode()[:8].ljust(8, b"."), "little") ^ (seed * 0x9E3779B97F4A7C15 & (2**64 - 1))
    x = _mix(np.asarray(lane, np.uint64) + np.uint64(salt))
    x = _mix(x ^ np.asarray(number, np.int64).astype(np.uint64))
    return np.asarray((x >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def _mix(x: U64) -> U64:
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
