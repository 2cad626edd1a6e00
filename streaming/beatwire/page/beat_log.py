"""The beats of the last ten minutes of all streams: one log, from which the beats of a stream are selected.

In: beats decoded from ``ecg.beats``. Out: rows of ``BEAT`` of some streams since a place in the log, and by slot the
last eight beats and the rate. State: the log, at most ``MOST_BEATS`` rows in a ring (83 MB when full: ten minutes of
2,000 streams at 75 beats a minute, four minutes of 5,000), and by slot a few values.
"""

from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from beatwire.kafka.reading.record import Record
from beatwire.stages.score import ANOMALOUS
from beatwire.wire.avro import decode_beat
from beatwire.wire.names import BEATS

MOST_BEATS = 1_500_000
KEPT_S = 600.0
LAST_BEATS = 8
SCORED_BY = ("", "history", "population", "overload", "gap")
EARLY = 0.1  # prematurity from which on a beat is shown as premature
_SMALLEST = 4_096
BEAT = np.dtype(
    [
        ("slot", "<i4"), ("scored_by", "u1"), ("sample", "<i8"), ("time_us", "<i8"), ("rr_ms", "<f4"), ("bpm", "<f4"),
        ("score", "<f4"), ("quality", "<f4"), ("prematurity", "<f4"), ("x", "<f4"), ("y", "<f4"),
        ("beat_class", "S1"),
    ]
)  # fmt: skip


class Last(NamedTuple):
    """The last beat of a stream: its device time, rate (None: unknown) and quality; and the last eight, for tiles."""

    time_us: int
    bpm: float | None
    quality: float
    beats: deque[dict[str, Any]]


class BeatLog:
    """Beats in the order in which they arrived.

    Attributes
    ----------
    total : int
        Beats since the start: the place after the newest one.
    last : dict of int to Last
        By slot.
    """

    def __init__(self, most: int = MOST_BEATS) -> None:
        self._most = most
        self._rows: NDArray[Any] = np.zeros(min(_SMALLEST, most), BEAT)
        self.total = 0
        self.last: dict[int, Last] = {}

    def add(self, slots: Iterable[int], beats: Iterable[dict[str, Any]]) -> None:
        """Add beats as ``wire.decode_beat`` returns them, each with the slot of its stream."""
        rows = np.array([_row(slot, beat) for slot, beat in zip(slots, beats, strict=True)], BEAT)[-self._most :]
        self._grow(self.total + len(rows))
        self._rows[np.arange(self.total, self.total + len(rows)) % len(self._rows)] = rows
        self.total += len(rows)
        for row in rows:
            slot = int(row["slot"])
            before = self.last.get(slot)
            beats_of = before.beats if before else deque(maxlen=LAST_BEATS)
            letter = row["beat_class"].decode() or None
            beats_of.append({"score": rounded(row["score"], 2), "class": class_of(row), "beat_class": letter})
            quality = float(rounded(row["quality"], 2) or 0.0)
            self.last[slot] = Last(int(row["time_us"]), rounded(row["bpm"], 1), quality, beats_of)

    def since(self, place: int, slots: Iterable[int]) -> NDArray[Any]:
        """Return the rows of the slots from a place of the log on, [n] of ``BEAT``, oldest first."""
        begin = max(place, self.total - len(self._rows), 0)
        rows = self._rows[np.arange(begin, self.total) % len(self._rows)]
        return rows[np.isin(rows["slot"], list(slots))]

    def recent(self, slot: int) -> NDArray[Any]:
        """Return the rows of a slot of the ten minutes before the newest, by the device's present clock."""
        kept = min(self.total, len(self._rows))
        at = np.flatnonzero(self._rows["slot"][:kept] == slot)
        rows = self._rows[at[np.argsort((at - self.total) % len(self._rows), kind="stable")]]
        if not len(rows):
            return rows
        newest = rows["time_us"][-1]  # what is later was before the clock was set back
        recent: NDArray[Any] = rows[(rows["time_us"] > newest - KEPT_S * 1e6) & (rows["time_us"] <= newest)]
        return recent

    def forget(self, slots: Iterable[int]) -> None:
        """Remove the beats of streams whose slots go to others."""
        gone = list(slots)
        self._rows["slot"][np.isin(self._rows["slot"], gone)] = -1
        for slot in gone:
            self.last.pop(slot, None)

    def _grow(self, needed: int) -> None:
        size = len(self._rows)
        if needed <= size or size == self._most:
            return
        while size < min(needed, self._most):
            size = min(2 * size, self._most)
        rows = np.zeros(size, BEAT)
        rows[: self.total] = self._rows[: self.total]  # a log that still grows has not wrapped
        self._rows = rows


def decoded(records: Iterable[Record]) -> list[dict[str, Any] | None]:
    """Return the beats among the records; None for one that cannot be read."""
    beats: list[dict[str, Any] | None] = []
    for record in records:
        if record.topic == BEATS and record.value:
            try:
                beats.append(decode_beat(record.value))
            except ValueError:
                beats.append(None)
    return beats


def class_of(row: Any) -> str:
    """Return the class of a beat: ``normal``, ``anomalous``, ``premature`` (anomalous and early) or ``unscored``."""
    if np.isnan(row["score"]):
        return "unscored"
    if row["score"] < ANOMALOUS:
        return "normal"
    return "premature" if row["prematurity"] >= EARLY else "anomalous"


def as_json(row: Any) -> dict[str, Any]:
    """Return a beat as the protocol has it."""
    return {
        "sample": int(row["sample"]),
        "time_us": int(row["time_us"]),
        "rr_ms": rounded(row["rr_ms"], 1),
        "bpm": rounded(row["bpm"], 1),
        "score": rounded(row["score"], 2),
        "quality": rounded(row["quality"], 2),
        "x": rounded(row["x"], 3),
        "y": rounded(row["y"], 3),
        "scored_by": SCORED_BY[row["scored_by"]],
        "class": class_of(row),
        "beat_class": row["beat_class"].decode() or None,
    }


def rounded(value: float, digits: int) -> float | None:
    """Return a number for JSON; None for NaN and infinity.

    >>> rounded(71.26, 1), rounded(float("nan"), 1)
    (71.3, None)
    """
    return round(float(value), digits) if np.isfinite(value) else None


def _row(slot: int, beat: dict[str, Any]) -> tuple[Any, ...]:
    def number(name: str) -> float:
        value = beat.get(name)
        return np.nan if value is None else float(value)

    scored_by = str(beat["scored_by"])
    return (
        slot, SCORED_BY.index(scored_by) if scored_by in SCORED_BY else 0, beat["sample"],
        round(beat["time"].timestamp() * 1e6), number("rr_ms"), number("rate_bpm"), number("score"),
        number("quality"), number("prematurity"), number("map_x"), number("map_y"),
        beat.get("beat_class") or "",
    )  # fmt: skip
