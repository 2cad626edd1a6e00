"""Alerts by hand-made events: a ward of streams at 100 Hz, told of chunks and beats tick by tick."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from beatwire.kernels import rules
from beatwire.records import Event
from beatwire.stages import alert, gather
from oracles import Sent
from steps import Aligner


class Ward:
    """Streams at 100 Hz: chunks and beats in, alerts out."""

    def __init__(self, **limits: float) -> None:
        self.aligner = Aligner()
        self.gather = gather.State()
        self.last: dict[str, int] = {}
        self.expected_errors = float("nan")
        self.alert = alert.State(alert.Settings(**limits), self.aligner.directory)

    def tick(
        self,
        *chunks: Sent,
        beats: Sequence[tuple[Any, ...]] = (),
        known: Sequence[tuple[str, int]] = (),
        blocks: Sequence[tuple[str, int, int]] = (),
        drifts: Sequence[tuple[str, int, int]] = (),
        **clock: Any,
    ) -> list[dict[str, Any]]:
        """One tick; beats are (stream, sample, median rate, anomalous, early), blocks (stream, end, flat or waves).

        An interval is known between two beats of a stream that are told; drifts are (stream, sample, value).
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
        sessions = [self.aligner.stands(name)[0] for name, *_ in rows]
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
        """Seconds since the stream's beat before, NaN for the first."""
        before, self.last[name] = self.last.get(name), sample
        return float("nan") if before is None else (sample - before) / 100.0


def came(first: int = 0, n: int = 10, stream: str = "bed", **changed: Any) -> Sent:
    return Sent(stream, **({"session": 1, "first": first, "samples": np.zeros((1, n), np.int16)} | changed))


def short(told: list[dict[str, Any]]) -> list[tuple[str, str, int, int]]:
    return [(a["rule"], a["state"], a["onset"], a["decided"]) for a in told]
