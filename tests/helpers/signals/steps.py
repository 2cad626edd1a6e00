"""Chains of stages for tests of single stages: messages in, records of the last stage out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from beatwire.model.trees import load_trees
from beatwire.pipeline.settings import Settings
from beatwire.records import Aligned, Bank, Beats, Chunks, Event, Fresh, RawTick
from beatwire.records import slot_columns as columns
from beatwire.records.columns import CHUNK_COUNT, EVENT_KIND
from beatwire.stages import align, decode
from beatwire.stages.detection import beats, classify, leads, nms, ricker, ring
from beatwire.stages.support.streams.admission import Admission
from beatwire.stages.support.streams.directory import Directory
from beatwire.wire.avro import encode_chunk
from laws import Signal

NO_QUIET = np.zeros((0, 3), np.int64)


def chunk(**changed: Any) -> bytes:
    """Return a small valid message with some of its fields changed."""
    given: dict[str, Any] = {
        "stream": "bed-3",
        "session": 1,
        "first": 0,
        "time_us": 1_000_000,
        "rate_hz": 250.0,
        "leads": ["I"],
        "samples": np.arange(8, dtype=np.int16),
    }
    return encode_chunk(**(given | changed))


def decoded(values: Sequence[bytes], schema_id: int | None = None, **tick: Any) -> Chunks:
    """Return the decoded columns of one tick."""
    return decode.step(decode.State(decode.Settings(schema_id)), RawTick.of(values, **tick))[1]


def row(chunks: Chunks, i: int) -> dict[str, Any]:
    """Return row ``i`` of decoded columns by the field names of the schema; ``leads`` is their number."""
    at, size, _, session, first, time_us, leads, lead_off, samples, n = map(int, chunks.ints[i, : CHUNK_COUNT + 1])
    return {
        "stream": chunks.payload[at : at + size].tobytes(),
        "session": session,
        "first": first,
        "time": time_us,
        "rate_hz": float(chunks.floats[i, 0]),
        "leads": leads,
        "uv_per_unit": float(chunks.floats[i, 1]),
        "lead_off": lead_off,
        "samples": chunks.payload[samples : samples + 2 * leads * n].tobytes(),
    }


@dataclass
class Aligner:
    """The stages decode, align and ring; ``ring_s`` of None: the length in the whole graph."""

    settings: Settings = field(default_factory=Settings)
    ring_s: float | None = None

    def __post_init__(self) -> None:
        self.directory = Directory(self.settings.most_streams)
        self.align = align.State(self.settings.align(), self.directory, Admission(self.settings.most_banks))
        self.ring = ring.State(ring.Settings(self.ring_s or self.settings.ring_s, self.settings.bridge_s))
        self.watched: list[tuple[Fresh, np.ndarray]] = []

    def tick(self, values: Sequence[bytes], *, watch: bool = False, **tick: Any) -> Aligned:
        """Process one tick up to the rings; with ``watch`` copy the rings after each pass into ``watched``."""
        aligned = align.step(self.align, decoded(values, **tick))[1]
        is_restart = aligned.events[:, EVENT_KIND] == Event.RESTART
        assert np.array_equal(aligned.restarts, aligned.events[is_restart])
        self.watched.clear()
        for placement in aligned.passes:
            ringed = ring.step(self.ring, placement)[1]
            if watch:
                self.watched.append((ringed.fresh, ringed.x.copy()))
        return aligned

    def event_rows(self, aligned: Aligned) -> list[tuple[str, str, int, int]]:
        """Return the events of a tick: (stream, kind, sample, value); ARRIVED is left out."""
        names = {v: k for k, v in vars(Event).items() if k.isupper()}
        return [
            (self.directory.names[s], names[kind], at, value)
            for _, s, kind, at, value, *_ in aligned.events.tolist()
            if kind in names
        ]

    @property
    def counts(self) -> dict[str, int]:
        """Return the counters of align that are not zero."""
        return {name: n for name, n in zip(align.COUNTS, self.align.counts.tolist(), strict=True) if n}

    def slot_of(self, stream: str) -> int:
        """Return the slot of a stream, -1 if the directory does not hold it."""
        known = self.directory.is_known()
        return next((slot for slot, name in enumerate(self.directory.names) if name == stream and known[slot]), -1)

    def has_lane(self, stream: str) -> bool:
        """Return True if the stream has a slot and a lane."""
        slot = self.slot_of(stream)
        return slot >= 0 and self.align.slots[slot, columns.SLOT_LANE] >= 0

    def position(self, stream: str) -> tuple[int, int, int]:
        """Return the session of a stream, the first sample since its last restart, and the next expected sample."""
        columns_of_position = [columns.SLOT_SESSION, columns.SLOT_BASE, columns.SLOT_EXPECTED]
        session, base, expected = self.align.slots[self.slot_of(stream), columns_of_position].tolist()
        return session, base, expected

    def final(self, stream: str) -> int:
        """Return the sample after those of a stream that are final."""
        return int(self.align.slots[self.slot_of(stream), columns.SLOT_FINAL])

    def ring_samples(self, stream: str, first: int, stop: int) -> np.ndarray:
        """Return samples [first, stop) of a stream from its ring: int16 [leads, n]."""
        slot = self.align.slots[self.slot_of(stream)]
        x = self.ring.rings[int(slot[columns.SLOT_BANK])][slot[columns.SLOT_LANE]]
        return x[:, np.arange(first, stop) % x.shape[1]]


def fresh_of(
    start: Sequence[int],
    stop: Sequence[int],
    base: Sequence[int] | None = None,
    *,
    rate_hz: float = 250.0,
    leads: int = 1,
    uv_per_unit: float = 5.0,
    quiet: np.ndarray = NO_QUIET,
) -> Fresh:
    """Return the record of new samples of lanes 0, 1, ... of one bank."""
    n = len(start)
    numbers = np.arange(n)
    return Fresh(
        number=0,
        bank=Bank(0, rate_hz, leads),
        lane=numbers,
        slot=numbers,
        start=np.array(start, np.int64),
        stop=np.array(stop, np.int64),
        base=np.zeros(n, np.int64) if base is None else np.array(base, np.int64),
        session=np.ones(n, np.int64),
        uv_per_unit=np.full(n, uv_per_unit),
        quiet=quiet,
    )


@dataclass
class Detector(Aligner):
    """The stages from decode to beats."""

    def __post_init__(self) -> None:
        super().__post_init__()
        s = self.settings
        trees = None if s.detector == "rule" else load_trees(s.trees)
        self.states = ricker.State(s.ricker()), nms.State(s.nms), classify.State(s.classify(trees))
        self.leads_state, self.beats_state = leads.State(s.leads(trees)), beats.State(s.beats(trees))

    def beats(self, values: Sequence[bytes], **tick: Any) -> tuple[Aligned, list[Beats]]:
        """Process one tick up to beats; return the aligned tick and the beats of each pass."""
        aligned = align.step(self.align, decoded(values, **tick))[1]
        found = []
        for placement in aligned.passes:
            ringed = ring.step(self.ring, placement)[1]
            response = ricker.step(self.states[0], ringed)[1]
            classified = classify.step(self.states[2], nms.step(self.states[1], response)[1])[1]
            found.append(beats.step(self.beats_state, leads.step(self.leads_state, classified)[1])[1])
        return aligned, found


def beats_of(signal: Signal, cuts: Sequence[tuple[int, int]] | None = None, settings: Settings | None = None) -> Found:
    """Return the beats of one stream, one array for each column."""
    detector = Detector(settings or Settings())
    n = signal.samples.shape[1]
    parts = []
    for a, b in cuts or [(a, min(n, a + 1000)) for a in range(0, n, 1000)]:
        parts += detector.beats([signal.chunk(a, b)])[1]
    names = ("sample", "rr_s", "median_rr_s", "response", "quality", "decided", "expected_errors")
    return Found(*(np.concatenate([getattr(p, name) for p in parts]) for name in names))


class Found(NamedTuple):
    """Columns of the beats of one stream."""

    sample: np.ndarray
    rr_s: np.ndarray
    median_rr_s: np.ndarray
    response: np.ndarray
    quality: np.ndarray
    decided: np.ndarray
    expected_errors: np.ndarray
