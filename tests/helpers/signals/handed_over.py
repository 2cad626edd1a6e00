"""Workers whose partitions change hands at drawn moments: what they publish of a ward, and what one alone does."""

import itertools
import random
from collections import Counter
from typing import Any

from beatwire.stages.support.alerts.open_alerts import BY_CLOCK
from beatwire.wire.avro import decode_beat
from drawn_ward import Ward, ward
from laws import START_US
from memory_log import Log
from owners import STALE, Worker

BY_THE_CLOCK = {"no data", "not monitored", "monitoring interrupted", "samples lost"}
FIELDS = (
    "stream", "decided", "rule", "state", "id", "onset", "reminders", "decided_us", "onset_us", "text", "limit",
    "partition",
)  # fmt: skip


class History:
    """A ward with workers whose partitions change."""

    def __init__(self, rng: random.Random, ward: Ward) -> None:
        self.rng, self.log, self._end_s = rng, ward.log(), ward.end_s
        self.workers: list[Worker] = []
        self.begun: Counter[str] = Counter()
        self.events: list[str] = []
        self._wanted: dict[int, Worker] = {}  # who is to own each partition
        self._names = itertools.count()
        for _ in range(rng.choice([1, 2, 3])):
            self._join()
        for p in range(len(ward.partitions)):
            self._give(p, rng.choice(self.workers))
        self._settle()

    def _give(self, partition: int, worker: Worker) -> None:
        self._wanted[partition] = worker

    def _join(self) -> Worker:
        self.workers.append(Worker(self.log, self.rng, next(self._names), self.begun))
        return self.workers[-1]

    def _settle(self) -> None:
        """Carry the assignment out: partitions are lost before others gain them."""
        wanted = {w: frozenset(p for p, owner in self._wanted.items() if owner is w) for w in self.workers}
        for w in self.workers:
            if not wanted[w] >= w.owned:
                w.own(wanted[w] & w.owned)
        for w in self.workers:
            if wanted[w] != w.owned:
                w.own(wanted[w])

    def happen(self) -> None:
        """Let one thing happen to the group."""
        rng, log = self.rng, self.log
        w, partitions = rng.choice(self.workers), range(len(log.partitions))
        match rng.choice(["move", "end", "end", "join", "swap", "stale", "anew", "lose"]):
            case "move":
                self._give(rng.choice(partitions), w)
            case "end":  # of a process, or its membership; another may begin at once
                self.workers.remove(w)
                if not self.workers or rng.random() < 0.3:
                    self._join()
                one = rng.choice(self.workers)  # most often all go to one
                for p in w.owned:
                    self._give(p, one if rng.random() < 0.7 else rng.choice(self.workers))
            case "join" if len(self.workers) < 3:
                new = self._join()
                for p in partitions:
                    if rng.random() < 0.4:
                        self._give(p, new)
            case "swap":
                p, q = rng.choice(partitions), rng.choice(partitions)
                self._wanted[p], self._wanted[q] = self._wanted[q], self._wanted[p]
            case "stale":
                w.stale = rng.choice(STALE)
            case "anew":
                w.loses = frozenset()
            case "lose" if w.owned:
                p = rng.choice(sorted(w.owned))
                w.loses = frozenset({p})
                w.turn()
                w.loses = None
                self._give(p, rng.choice(self.workers))
        self._settle()
        owners = {p: self._wanted[p].name for p in partitions}
        faults = [(w.name, w.stale, w.loses) for w in self.workers if w.stale or w.loses is not None]
        self.events.append(f"{(log.now_us - START_US) / 1e6:.1f} s: {owners} {faults or ''}")

    def play(self) -> None:
        """Play the history."""
        rng, log = self.rng, self.log
        end_us = START_US + round((self._end_s + 2) * 1e6)
        hectic, pace, behind = rng.choice([0.1, 0.2, 0.4]), rng.choice([1.0, 3.0]), rng.choice([0.0, 0.3, 0.8])
        while log.now_us < end_us:
            log.now_us = min(end_us, log.now_us + round(rng.choice([0.1, 1.0, 1.0, 5.0]) * pace * 1e6))
            if rng.random() < hectic:
                self.happen()
            for w in rng.sample(self.workers, rng.randint(0, len(self.workers))):
                w.most = 0.4 if rng.random() < behind else 1.0
                w.turn()
        self.finish()

    def finish(self) -> None:
        """Let all read what is there."""
        for _ in range(200):
            behind = [w for w in self.workers if w.owned and w.is_behind]
            if not behind:
                break
            for w in behind:
                w.most = 1.0
                w.turn()
        else:
            raise AssertionError("workers read on for ever")
        for _ in range(2):
            for w in self.workers:
                w.turn()


def alone(ward: Ward, step_s: float = 8.0, rng: random.Random | None = None) -> Log:
    """Return what one worker publishes that has all partitions from the beginning to the end."""
    log = ward.log()
    worker = Worker(log, rng or random.Random(0))
    worker.own(range(len(ward.partitions)))
    end_us = START_US + round((ward.end_s + 2) * 1e6)
    while log.now_us < end_us:
        log.now_us = min(end_us, log.now_us + round(step_s * 1e6))
        worker.most = 1.0 if rng is None else rng.choice([0.3, 1.0])
        worker.turn()
    worker.most = 1.0
    for _ in range(3):
        worker.turn()
    assert not worker.is_behind
    return log


def differences(one: Log, other: Log) -> dict[str, Any]:
    """Return by what differs the rows of the one alone, and of the other alone."""
    found: dict[str, Any] = {}
    for stream in sorted(one.beats.keys() | other.beats.keys()):
        a, b = one.beats.get(stream, []), other.beats.get(stream, [])
        if a != b:
            found |= _beats_apart(stream.decode(), [decode_beat(x) for x in a], [decode_beat(x) for x in b])
    alerts = [[tuple(a.get(f) for f in FIELDS) for a in log.alerts if not _is_by_the_clock(a)] for log in (one, other)]
    if sorted(map(repr, alerts[0])) != sorted(map(repr, alerts[1])):
        found["alerts"] = _apart(*alerts)
    if sorted(one.letters) != sorted(other.letters):
        found["letters"] = _apart(one.letters, other.letters)
    return found


def _is_by_the_clock(alert: dict[str, Any]) -> bool:
    """Return True if a message says what a clock decides: it depends on when samples are read."""
    return alert["rule"] in BY_THE_CLOCK or (alert["rule"] in BY_CLOCK and alert["reminders"] > 0)


def _beats_apart(stream: str, a: list[dict[str, Any]], b: list[dict[str, Any]]) -> dict[str, Any]:
    """Return how the beats of a stream differ, in all but when the chunk arrived with which each was found."""
    for beat in (*a, *b):
        beat.pop("arrived")
    if repr(a) == repr(b):  # NaN is NaN
        return {}
    rows = [[(beat["session"], beat["sample"]) for beat in beats] for beats in (a, b)]
    if rows[0] != rows[1]:
        return {
            f"beats of {stream}, {len(a), len(b)}": _apart(*rows) if sorted(rows[0]) != sorted(rows[1]) else "order"
        }
    other = [{k: (x[k], y[k]) for k in x if repr(x[k]) != repr(y[k])} for x, y in zip(a, b, strict=True)]
    return {f"fields of {stream}": [(row, one) for row, one in zip(rows[0], other, strict=True) if one][:3]}


def _apart(a: list[Any], b: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return the first rows that one has more often than the other."""
    only = []
    for x, y in ((a, b), (b, a)):
        left = list(y)
        rows = []
        for row in x:
            if row in left:
                left.remove(row)
            else:
                rows.append(row)
        only.append(rows[:6])
    return only[0], only[1]


def history_differs(seed: int) -> tuple[str, History]:
    """Return how a drawn history differs from one worker alone, empty if it does not."""
    rng = random.Random(seed)
    drawn = ward(rng)
    whole = alone(drawn)
    history = History(rng, drawn)
    history.play()
    found = differences(whole, history.log)
    if found:
        cut = differences(whole, alone(drawn, 1.5, random.Random(1)))
        for key in cut:
            found.pop(key, None)
        if cut:
            found["cut"] = cut
    return (f"seed {seed}: {found}" if found else ""), history
