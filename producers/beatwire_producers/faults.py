"""Faults of networks and devices, injected into a schedule at random.

In: a `Schedule`, the frequency of each fault, a seed. Out: the schedule with the faults, and the list of affected
chunks. State: the shifts of the devices' clocks (`Clocks`). Invariant: each decision is a hash of (seed, fault, stream,
chunk number), so it depends neither on the cutting of the schedule into blocks, nor on the order of its rows, nor on
other streams.
"""

from dataclasses import dataclass, field, fields, replace

import numpy as np
from beatwire.errors import UserError
from beatwire.records import F64, I64, U64, Bool

from beatwire_producers.schedule import GARBAGE, INTACT, NO_VALUE, TRUNCATED, Schedule, joined


@dataclass(frozen=True)
class Faults:
    """The probability of each fault per chunk, 0-1, and its extent.

    dropped       not sent
    duplicated    sent again, up to ``window`` chunks later
    reordered     sent 1 to ``window`` chunks late, after later ones
    late          sent ``late_s`` seconds late
    clock_jump    from this chunk on, the device's clock is wrong by up to ``jump_s`` seconds more
    lead_off      from this chunk on, all leads are off for ``off_s`` seconds
    malformed     truncated to its first half, or replaced by random bytes
    no_value      from this chunk on, no sample has a value for ``off_s`` seconds
    sessions      from this chunk on, each chunk begins a session for ``off_s`` seconds
    rival         from this chunk on, a second sender with a session of its own uses the id for ``off_s`` seconds
    stuck         from this chunk on, the index of the first sample is 0 for ``off_s`` seconds
    window        chunks, 1-100
    """

    dropped: float = 0.0
    duplicated: float = 0.0
    reordered: float = 0.0
    late: float = 0.0
    clock_jump: float = 0.0
    lead_off: float = 0.0
    malformed: float = 0.0
    no_value: float = 0.0
    sessions: float = 0.0
    rival: float = 0.0
    stuck: float = 0.0
    window: int = 3
    late_s: float = 3.0
    jump_s: float = 60.0
    off_s: float = 3.0

    def __bool__(self) -> bool:
        return any(getattr(self, kind) > 0 for kind in KINDS)


KINDS = (
    "dropped", "duplicated", "reordered", "late", "clock_jump", "lead_off", "malformed", "no_value", "sessions",
    "rival", "stuck",
)  # fmt: skip
RIVAL_SESSION = 1 << 20  # what a second sender adds to the session; those of ``sessions`` are smaller


@dataclass
class Clocks:
    """The shift of each device's clock so far.

    shift_us   int64 [lanes], microseconds
    """

    shift_us: I64


@dataclass(frozen=True)
class Injected:
    """The injected faults.

    chunks   fault -> the affected chunks, int64 [k, 2]: lane, number
    """

    chunks: dict[str, I64] = field(default_factory=lambda: {kind: np.zeros((0, 2), np.int64) for kind in KINDS})

    @property
    def counts(self) -> dict[str, int]:
        """Return fault -> number of affected chunks."""
        return {kind: len(rows) for kind, rows in self.chunks.items()}


def parse_faults(text: str | None) -> Faults:
    """Parse faults: ``dropped=0.01,late=0.001,late_s=5``.

    Raises
    ------
    UserError
        A name is not a field of `Faults`, or a value is out of its range.
    """
    most = {f.name: 1.0 for f in fields(Faults)} | {"window": 100.0, "late_s": 3600.0, "jump_s": 1e6, "off_s": 3600.0}
    given: dict[str, float] = {}
    for part in (text or "").split(","):
        name, _, value = part.partition("=")
        name = name.strip().replace("-", "_")
        if not part.strip():
            continue
        if name not in most:
            raise UserError(f"--faults: expected names among {', '.join(most)}; got {name!r}")
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not 0 <= number <= most[name] or (name == "window" and (number < 1 or number != int(number))):
            raise UserError(
                f"--faults: expected {name} within {'1' if name == 'window' else '0'}-{most[name]:g}; got {value!r}"
            )
        given[name] = number
    window = int(given.pop("window", 3))
    return Faults(**given, window=window)


def inject(
    rows: Schedule, faults: Faults, chunk_ms: float, leads: I64, seed: int = 0, clocks: Clocks | None = None
) -> tuple[Schedule, Injected]:
    """Inject faults into a schedule.

    Parameters
    ----------
    rows
        The schedule; it is not changed.
    faults
        The faults.
    chunk_ms
        Length of a chunk, milliseconds.
    leads
        int64 [lanes], the number of leads of each stream.
    seed
        Seed of the random decisions.
    clocks
        The state from block to block; updated. Blocks must come in the order of chunk numbers. None for a schedule in
        one piece.

    Returns
    -------
    Schedule, Injected
        The messages in the order in which they are due, and the affected chunks.
    """
    chunk_us = round(chunk_ms * 1000.0)
    affected: dict[str, I64] = {}

    def draw(kind: str) -> F64:
        return _uniform(seed, kind, rows.lane, rows.number)

    def select(kind: str, among: Bool | None = None) -> Bool:
        selected: Bool = draw(kind) < getattr(faults, kind)
        if among is not None:
            selected = selected & among
        affected[kind] = np.stack([rows.lane[selected], rows.number[selected]], axis=1)
        return selected

    dropped = select("dropped")
    sent = ~dropped
    late = select("late", sent)
    reordered = select("reordered", sent & ~late)
    malformed = select("malformed", sent)
    duplicated = select("duplicated", sent & ~malformed)
    steps = 1 + np.floor(draw("steps") * faults.window).astype(np.int64)
    delay_us = steps * chunk_us + chunk_us // 2
    due_us = rows.due_us + np.where(late, round(faults.late_s * 1e6), 0) + np.where(reordered, delay_us, 0)
    broken = np.where(malformed, np.where(draw("how") < 0.5, TRUNCATED, GARBAGE), rows.broken).astype(np.uint8)

    chunks = max(1, round(faults.off_s * 1e6 / chunk_us))

    def last(kind: str) -> Bool:
        back = _since(rows, kind, getattr(faults, kind), seed, chunks)
        selected: Bool = back >= 0
        affected[kind] = np.stack([rows.lane[selected], rows.number[selected]], axis=1)
        return selected

    off, empty, anew, rival, stuck = (last(kind) for kind in ("lead_off", "no_value", "sessions", "rival", "stuck"))
    broken = np.where(empty & (broken == INTACT), NO_VALUE, broken).astype(np.uint8)
    session = rows.session + np.where(anew, 1 + rows.number % (RIVAL_SESSION - 1), 0)
    shift = rows.shift - np.where(stuck, rows.first, 0)  # it stays 0
    lead_off = rows.lead_off | np.where(off, (1 << leads[rows.lane]) - 1, 0).astype(np.int32)

    jumps = select("clock_jump")
    time_us = rows.time_us + _clock_shifts(rows, jumps, (2 * draw("by") - 1) * faults.jump_s * 1e6, clocks, len(leads))

    changed = replace(
        rows, due_us=due_us, broken=broken, lead_off=lead_off, time_us=time_us, session=session, shift=shift
    )
    again = replace(changed, due_us=due_us + delay_us).take(duplicated)
    second = replace(changed, session=session + RIVAL_SESSION).take(rival & sent)
    return joined(changed.take(sent), again, second).by_due(), Injected({kind: affected[kind] for kind in KINDS})


def _since(rows: Schedule, kind: str, chance: float, seed: int, chunks: int) -> I64:
    """Return how many chunks ago the last episode of a kind began, up to ``chunks`` - 1, int64 [n]; -1: none did."""
    since = np.full(len(rows), -1, np.int64)
    for back in reversed(range(chunks if chance > 0 else 0)):
        number = rows.number - back
        since[(_uniform(seed, kind, rows.lane, number) < chance) & (number >= 0)] = back
    return since


def _clock_shifts(rows: Schedule, jumps: Bool, by_us: F64, clocks: Clocks | None, lanes: int) -> I64:
    """Return each row's clock shift, int64 [n]: the sum of its lane's jumps so far, earlier blocks included."""
    clocks = clocks or Clocks(np.zeros(lanes, np.int64))
    shift_us: I64 = clocks.shift_us[rows.lane]
    for row in np.flatnonzero(jumps):  # few rows
        lane, by = rows.lane[row], int(by_us[row])
        shift_us[(rows.lane == lane) & (rows.number >= rows.number[row])] += by
        clocks.shift_us[lane] += by
    return shift_us


def _uniform(seed: int, kind: str, lane: I64, number: I64) -> F64:
    """Return uniform numbers in [0, 1), float64 [n]: a hash of seed, fault, stream and chunk."""
    salt = int.from_bytes(kind.encode()[:8].ljust(8, b"."), "little") ^ (seed * 0x9E3779B97F4A7C15 & (2**64 - 1))
    x = _mix(np.asarray(lane, np.uint64) + np.uint64(salt))
    x = _mix(x ^ np.asarray(number, np.int64).astype(np.uint64))
    return np.asarray((x >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def _mix(x: U64) -> U64:
    """Hash 64-bit integers with the finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
