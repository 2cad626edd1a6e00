"""The alert stage alone: streams at 100 Hz with chunks, beats and blocks made by the test."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from beatwire.alerts.settings import Lifecycle, Settings
from beatwire.kernels.classes.beat_class import LETTERS, MATCH, MEASURED, SIZE
from beatwire.kernels.classes.normal_beat import NO_NORMAL, NORMAL_MEASURES
from beatwire.records import I64, Acknowledgement, Event
from beatwire.records.columns import NO_BLOCK, ORDERED_KIND, ORDERED_SAMPLE, ORDERED_SLOT, RESIZED
from beatwire.records.events import DRIFTED
from beatwire.records.rhythm import Rhythm
from beatwire.records.ventricular import Ventricular
from beatwire.stages import gather, lifecycle
from beatwire.stages.judging import alert
from beatwire.stages.support.alerts.limits import Limits
from oracles import SentChunk
from steps import Aligner

PASS = 200  # samples


class Ward:
    """Streams at 100 Hz: chunks, beats and blocks in, transitions of alerts out."""

    def __init__(self, **limits: float) -> None:
        self.aligner = Aligner()
        self.gather = gather.State()
        self.last: dict[str, int] = {}
        self.known: dict[str, int] = {}
        self.expected_errors = float("nan")
        settings = Settings.of(**limits)
        self.limits = Limits(settings.limits, self.aligner.directory)
        self.aligner.align.changes = self.limits
        self.alert = alert.State(settings, self.limits)
        self.lifecycle = lifecycle.State(Lifecycle(), self.limits)
        self.published: list[dict[str, Any]] = []
        self.audit: list[dict[str, Any]] = []

    def tick(
        self,
        *chunks: SentChunk,
        beats: Sequence[tuple[Any, ...]] = (),
        known: Sequence[tuple[str, int]] = (),
        blocks: Sequence[tuple[str, int, int]] = (),
        drifts: Sequence[tuple[str, int, int]] = (),
        denied: Sequence[tuple[str, int]] = (),
        large: Sequence[tuple[str, int]] = (),
        gaps: Sequence[tuple[str, int, int]] = (),
        atrial: bool = False,
        atrial_possible: bool = False,
        classes: str = "",
        runs: Sequence[float] = (),
        fast_runs: Sequence[float] = (),
        sizes: Sequence[float] = (),
        alike: Sequence[float] = (),
        spread: float = NO_NORMAL,
        **clock: Any,
    ) -> list[dict[str, Any]]:
        """Run one tick; return the transitions of alerts.

        Parameters
        ----------
        beats
            (stream, sample, median rate in 1/min = 70, anomalous = False, expected errors = those of the ward);
            RR is the distance from the beat before of the same stream.
        known
            Watermarks: (stream, sample), and one for each pass of 2 s before it, as the graph has them.
        blocks
            (stream, end, bits): 1 is flat, 2 is waves, 4 is at rest, 8 is saturated.
        drifts
            Transitions of drift: (stream, sample, value in thousandths, negative at the end).
        denied
            Peaks that the trees call beats and the network does not: (stream, sample).
        large
            Peaks that the trees call beats and that are larger than those of any heart: (stream, sample).
        gaps
            Bridged holes: (stream, first sample, the sample after them).
        atrial
            Whether the beats are in atrial fibrillation.
        atrial_possible
            Whether one of the last decisions was for it; always so with ``atrial``.
        classes
            A letter for each beat; empty: all are normal.
        runs
            Logits that the beats end a ventricular run; empty: none was judged.
        fast_runs
            Logits that the beats are of a ventricular tachycardia; empty: those of ``runs``.
        sizes
            Of the beats, relative to the normal beat; empty: all are 1.
        alike
            Their correlations with it; empty: all are 0.
        spread
            Of the stream's beats, as ``kernels.classes.normal_beat`` measures it.
        clock
            ``now_us`` and ``caught_up`` of the tick.
        """
        times = [c.arrival_us for c in chunks]
        aligned = self.aligner.tick([c.message() for c in chunks], arrival_us=times, **clock)
        tick = gather.step(self.gather, (aligned, ()))[1]
        rows = [(name, Event.BEAT, sample, row) for row, (name, sample, *_) in enumerate(beats)]
        rows += [(name, Event.BLOCK, end, int(flat)) for name, end, flat in blocks]
        rows += [(name, DRIFTED, sample, value) for name, sample, value in drifts]
        rows += [(name, Event.DENIED, sample, NO_BLOCK) for name, sample in denied]
        rows += [(name, Event.DENIED, sample, RESIZED) for name, sample in large]
        rows += [(name, Event.GAP, first, stop) for name, first, stop in gaps]
        for name, sample in known:
            begin = max([self.known.get(name, 0), *(c.first for c in chunks if c.stream == name)])
            passes = range(begin + PASS, sample, PASS)
            rows += [(name, Event.WATERMARK, mark, mark) for mark in (*passes, sample)]
            self.known[name] = sample
        rows.sort(key=lambda row: (row[2], row[1]))
        slots = [self.aligner.directory.names.index(name) for name, *_ in rows]
        sessions = [self.aligner.position(name)[0] for name, *_ in rows]
        made = [(s, own, *row[1:], 0) for s, own, row in zip(slots, sessions, rows, strict=True)]
        events = np.concatenate([np.array(made, np.int64).reshape(-1, 6), tick.events])
        measures = np.ones((len(beats), MEASURED), np.float32)
        measures[:, SIZE] = sizes or 1.0
        measures[:, MATCH] = alike or 0.0
        judged = [np.array(one or runs or [np.nan] * len(beats)) for one in (fast_runs, runs)]
        rates = np.array([b[2] if len(b) > 2 else 70.0 for b in beats])
        tick = replace(
            tick,
            slot=np.zeros(len(beats), np.int64),
            events=in_order(events),
            run=None,
            rr_s=np.array([self.interval(*b[:2]) for b in beats]),
            median_rr_s=60 / rates,
            quality=np.full(len(beats), 0.97, np.float32),
            disturbance=np.array([b[4] if len(b) > 4 else self.expected_errors for b in beats], np.float32),
            anomalous=np.array([len(b) > 3 and b[3] for b in beats], np.bool_),
            beat_class=np.array([LETTERS.index(c) for c in classes or "N" * len(beats)], np.uint8),
            class_measures=measures,
            normal_measures=np.full((len(beats), NORMAL_MEASURES), spread, np.float32),
            ventricular=Ventricular(*judged, 60 / rates),
        )
        if atrial or atrial_possible:
            found = (np.full(len(beats), holds) for holds in (atrial, atrial, True))
            tick = replace(tick, rhythm=Rhythm(np.repeat(60 / rates[:, None], 3, axis=1), *found))
        alerts = alert.step(self.alert, tick)[1]
        lived = lifecycle.step(self.lifecycle, alerts)[1]
        self.published, self.audit = lived.transitions, lived.audit
        return alerts.transitions

    def interval(self, name: str, sample: int) -> float:
        """Return the seconds since the beat before of the stream, NaN for the first."""
        before, self.last[name] = self.last.get(name), sample
        return float("nan") if before is None else (sample - before) / 100.0


def in_order(events: I64) -> I64:
    """Return events by stream, restarts first, then by sample: marks of ``align`` lie among those of the test."""
    restart = events[:, ORDERED_KIND] == Event.RESTART
    at = np.where(restart, -1, events[:, ORDERED_SAMPLE])
    if np.bincount(events[restart, ORDERED_SLOT]).max(initial=0) > 1:  # their order is that of the sessions
        at = np.zeros(len(events), np.int64)
    return events[np.lexsort((at, events[:, ORDERED_SLOT]))]


def device_chunk(first: int = 0, n: int = 10, stream: str = "bed", **changed: Any) -> SentChunk:
    """Return a chunk of ``n`` zeros at 100 Hz."""
    return SentChunk(stream, **({"session": 1, "first": first, "samples": np.zeros((1, n), np.int16)} | changed))


def rows_of(transitions: list[dict[str, Any]]) -> list[tuple[str, str, int, int]]:
    """Return (rule, state, onset, decided) of each transition."""
    return [(a["rule"], a["state"], a["onset"], a["decided"]) for a in transitions]


def states_of(rows: Sequence[tuple[str, str, int, int]], rule: str) -> list[tuple[str, int]]:
    """Return (state, decided) of each of the rows of a rule, which are those of `rows_of`."""
    return [(state, decided) for name, state, _, decided in rows if name == rule]


def acknowledge(ward: Ward, message: dict[str, Any], by: str = "Ada", **changed: Any) -> None:
    """Acknowledge an alert with the next tick."""
    given: dict[str, Any] = {"alert": message["id"], "stream": message["stream"], "by": by, "at_us": 7}
    ward.lifecycle.acks.append(Acknowledgement(**given | changed))


def states(messages: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return (rule, state) of each message."""
    return [(a["rule"], a["state"]) for a in messages]


def in_asystole(ward: Ward) -> dict[str, Any]:
    """Stop the heart of ``bed`` after a beat; return the alert that begins."""
    ward.tick(beats=[("bed", 50)], known=[("bed", 500)])
    (begun,) = ward.published
    return begun
