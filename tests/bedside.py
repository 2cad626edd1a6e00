"""The alert stage alone: streams at 100 Hz with chunks, beats and blocks made by the test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from beatwire.kernels import rules
from beatwire.records import Event
from beatwire.stages import alert, gather
from oracles import SentChunk
from steps import Aligner


class Ward:
    """Streams at 100 Hz: chunks, beats and blocks in, transitions of alerts out."""

    def __init__(self, **limits: float) -> None:
        self.aligner = Aligner()
        self.gather = gather.State()
        self.last: dict[str, int] = {}
        self.expected_errors = float("nan")
        self.alert = alert.State(alert.Settings(**limits), self.aligner.directory)

    def tick(
        self,
        *chunks: SentChunk,
        beats: Sequence[tuple[Any, ...]] = (),
        known: Sequence[tuple[str, int]] = (),
        blocks: Sequence[tuple[str, int, int]] = (),
        drifts: Sequence[tuple[str, int, int]] = (),
        **clock: Any,
    ) -> list[dict[str, Any]]:
        """Run one tick; return the transitions of alerts.

        Parameters
        ----------
        beats
            (stream, sample, median rate in 1/min = 70, anomalous = False, early = False); RR is the distance from the
            beat before of the same stream.
        known
            Watermarks: (stream, sample).
        blocks
            (stream, end, bits): 1 is flat, 2 is waves.
        drifts
            Transitions of drift: (stream, sample, value in thousandths, negative at the end).
        clock
            ``now_us`` and ``caught_up`` of the tick.
        """
        times = [c.arrival_us for c in chunks]
        aligned = self.aligner.tick([c.message() for c in chunks], arrival_us=times, **clock)
        tick = gather.step(self.gather, (aligned, ()))[1]
        rows = [(name, Event.BEAT, sample, row) for row, (name, sample, *_) in enumerate(beats)]
        rows += [(name, Event.BLOCK, end, int(flat)) for name, end, flat in blocks]
        rows += [(name, rules.DRIFTED, sample, value) for name, sample, value in drifts]
        rows += [(name, Event.WATERMARK, sample, sample) for name, sample in known]
        rows.sort(key=lambda row: (row[2], row[1]))
        slots = [self.aligner.directory.names.index(name) for name, *_ in rows]
        sessions = [self.aligner.position(name)[0] for name, *_ in rows]
        made = [(s, own, *row[1:]) for s, own, row in zip(slots, sessions, rows, strict=True)]
        events = np.concatenate([tick.events, np.array(made, np.int64).reshape(-1, 5)])
        rates = np.array([b[2] if len(b) > 2 else 70.0 for b in beats])
        tick = replace(
            tick,
            slot=np.zeros(len(beats), np.int64),
            events=events[np.argsort(events[:, 0], kind="stable")],
            rr_s=np.array([self.interval(*b[:2]) for b in beats]),
            median_rr_s=60 / rates,
            quality=np.full(len(beats), 0.97, np.float32),
            expected_errors=np.full(len(beats), self.expected_errors, np.float32),
            anomalous=np.array([len(b) > 3 and b[3] for b in beats], np.bool_),
            prematurity=np.array([0.5 if len(b) > 4 and b[4] else np.nan for b in beats], np.float32),
        )
        return alert.step(self.alert, tick)[1].transitions

    def interval(self, name: str, sample: int) -> float:
        """Return the seconds since the beat before of the stream, NaN for the first."""
        before, self.last[name] = self.last.get(name), sample
        return float("nan") if before is None else (sample - before) / 100.0


def device_chunk(first: int = 0, n: int = 10, stream: str = "bed", **changed: Any) -> SentChunk:
    """Return a chunk of ``n`` zeros at 100 Hz."""
    return SentChunk(stream, **({"session": 1, "first": first, "samples": np.zeros((1, n), np.int16)} | changed))


def rows_of(transitions: list[dict[str, Any]]) -> list[tuple[str, str, int, int]]:
    """Return (rule, state, onset, decided) of each transition."""
    return [(a["rule"], a["state"], a["onset"], a["decided"]) for a in transitions]
