"""Tools for the tests of the laws: cut streams at random, run the whole graph, compare outputs.

A `Run` is the output of a graph: the beats of each stream, and the transitions of alerts in order of emission.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import Alerts, RawTick
from beatwire.wire.avro import encode_chunk
from score_bounds import score_bounds

START_US = 1_700_000_000_000_000
TIME_US, RR, SCORE, ERROR, FIRST_LATENT = 2, 3, 7, 13, 14  # columns of the beats of a `Run`
FEWEST_BEATS = 10  # a comparison of fewer beats shows little; the shortest test signals here have about 15


@dataclass
class Signal:
    """One stream: ``samples`` int16 [leads, n], and the fields of its messages."""

    stream: str
    samples: np.ndarray
    rate_hz: float = 250.0
    uv_per_unit: float = 5.0
    session: int = 1
    first: int = 0
    lead_off: dict[int, int] = field(default_factory=dict)

    def chunk(self, start: int, stop: int, **changed: Any) -> bytes:
        """Return the message with samples [start, stop) of the signal."""
        index = self.first + start
        given = {
            "stream": self.stream,
            "session": self.session,
            "first": index,
            "time_us": START_US + round(index * 1e6 / self.rate_hz),
            "rate_hz": self.rate_hz,
            "leads": [f"L{k}" for k in range(len(self.samples))],
            "samples": self.samples[:, start:stop],
            "uv_per_unit": self.uv_per_unit,
        }
        return encode_chunk(**(given | changed))


def cut(n: int, rng: np.random.Generator, longest: int) -> list[tuple[int, int]]:
    """Cut [0, n) at random into lengths 1..longest; one length in ten is 1 or 2."""
    bounds = [0]
    while bounds[-1] < n:
        bounds.append(min(n, bounds[-1] + int(rng.integers(1, longest if rng.random() < 0.9 else 3))))
    return list(itertools.pairwise(bounds))


def ticks_of(
    signals: list[Signal], rng: np.random.Generator, longest: int = 200, per_tick: int = 40
) -> list[list[bytes]]:
    """Cut all signals into messages, merge them at random (each stream in its own order), and cut them into ticks."""
    queues = [[s.chunk(a, b) for a, b in cut(s.samples.shape[1], rng, longest)] for s in signals]
    return grouped(shuffled(queues, rng), rng, per_tick)


def shuffled(queues: list[list[bytes]], rng: np.random.Generator) -> list[bytes]:
    """Merge queues at random; each keeps its own order."""
    owner = np.repeat(np.arange(len(queues)), [len(q) for q in queues])
    rng.shuffle(owner)
    at = [0] * len(queues)
    merged = []
    for k in owner:
        merged.append(queues[k][at[k]])
        at[k] += 1
    return merged


def grouped(messages: list[bytes], rng: np.random.Generator, per_tick: int) -> list[list[bytes]]:
    """Cut messages into ticks of 0..2 * per_tick messages."""
    ticks = []
    at = 0
    while at < len(messages):
        size = int(rng.integers(0, 2 * per_tick + 1))
        ticks.append(messages[at : at + size])
        at += size
    return ticks


@dataclass
class Run:
    """Output of a graph.

    beats: rows of each stream (session, sample, time_us, rr_s, median_rr_s, response, quality, score, prematurity,
      scored_by, decided, beat_class, class_probability, reconstruction error, latents)
    alerts: transitions as in the alerts topic
    rejects: reasons
    audit: records of the audit log
    """

    beats: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)
    alerts: list[dict[str, Any]] = field(default_factory=list)
    rejects: list[str] = field(default_factory=list)
    audit: list[dict[str, Any]] = field(default_factory=list)

    def of(self, *streams: str) -> Run:
        """Return the beats and alerts of some streams."""
        return Run(
            {s: self.beats[s] for s in streams if s in self.beats}, [a for a in self.alerts if a["stream"] in streams]
        )


def collect(pipeline: Pipeline, run: Run, *, published: bool = False) -> None:
    """Collect the beats, rejects and alerts of a graph in ``run``: as the rules raise them, or as ``published``."""

    def subscribe(result: Alerts) -> None:
        b = result.beats
        for k, slot in enumerate(b.slot.tolist()):
            run.beats.setdefault(pipeline.directory.names[slot], []).append(
                (
                    int(b.session[k]), int(b.sample[k]), int(b.time_us[k]), float(b.rr_s[k]), float(b.median_rr_s[k]),
                    float(b.response[k]), float(b.quality[k]), float(b.score[k]), float(b.prematurity[k]),
                    int(b.scored_by[k]), int(b.decided[k]), int(b.beat_class[k]), float(b.class_probability[k]),
                    float(b.reconstruction_error[k]), *map(float, b.latent[k]),
                )
            )  # fmt: skip

    pipeline.subscribe(pipeline.alerts, subscribe)
    alerts = pipeline.lifecycle if published else pipeline.alerts
    pipeline.subscribe(alerts, lambda result: run.alerts.extend(result.transitions))
    pipeline.subscribe(pipeline.lifecycle, lambda result: run.audit.extend(result.audit))
    pipeline.subscribe(pipeline.rejects, lambda rejects: run.rejects.extend(rejects.reason))


def run_graph(
    ticks: Iterable[list[bytes]], settings: Settings | None = None, *, published: bool = False, **tick: Any
) -> Run:
    """Return the output of a new graph for ticks of messages; alerts as the rules raise them, or as ``published``."""
    pipeline = Pipeline(settings or Settings())
    run = Run()
    collect(pipeline, run, published=published)
    for values in ticks:
        pipeline.emit(replace(RawTick.of(values), **tick))
    return run


def assert_equal(a: Run, b: Run, fewest_beats: int = FEWEST_BEATS) -> None:
    """Assert equal beats, to the last bit of every float, and equal alerts; times within a microsecond.

    Chunks state times in whole microseconds, so the time of a sample depends on where its chunk begins.
    """
    assert_same(a, b, fewest_beats)
    for stream in a.beats:
        one, other = np.array(a.beats[stream], float), np.array(b.beats[stream], float)
        np.testing.assert_array_equal(one[:, 3:], other[:, 3:], err_msg=stream)


def assert_same(a: Run, b: Run, fewest_beats: int = FEWEST_BEATS) -> None:
    """Assert equal integers, floats within 1e-4, times within a microsecond, alerts equal by id and state.

    This is what holds between two backends: they add floats in another order. On one backend see ``assert_equal``. For
    scores see ``score_bounds``.
    A run of fewer than ``fewest_beats`` beats fails, so that no comparison passes because nothing was detected.
    """
    assert sum(map(len, a.beats.values())) >= fewest_beats
    assert sorted(a.beats) == sorted(b.beats)
    for stream in a.beats:
        one, other = np.array(a.beats[stream], float), np.array(b.beats[stream], float)
        assert one.shape == other.shape, f"{stream}: {one.shape} and {other.shape}"
        for column in (0, 1, 9, 10, 11, 12):
            np.testing.assert_array_equal(one[:, column], other[:, column], err_msg=stream)
        np.testing.assert_allclose(one[:, 2], other[:, 2], rtol=0, atol=1.5)
        for column in (RR, 4, 5, 6, 8):
            np.testing.assert_allclose(one[:, column], other[:, column], rtol=1e-4, atol=1e-4, err_msg=stream)
        np.testing.assert_array_equal(np.isnan(one[:, SCORE]), np.isnan(other[:, SCORE]), err_msg=stream)
        differs = np.nan_to_num(np.abs(one[:, SCORE] - other[:, SCORE]))
        bounds = score_bounds(one, other, FIRST_LATENT, ERROR, RR, TIME_US, SCORE)
        wrong = np.flatnonzero(differs > bounds)
        assert not len(wrong), f"{stream}: scores differ by {differs[wrong]}, at most {bounds[wrong]} is right: {wrong}"
    assert transitions_by_stream(a) == transitions_by_stream(b)


def transitions_by_stream(run: Run) -> dict[str, list[tuple[Any, ...]]]:
    """Return the transitions of each stream, sorted by sample: (decided, rule, state, id, onset)."""
    by_stream: dict[str, list[tuple[Any, ...]]] = {}
    for a in run.alerts:
        by_stream.setdefault(a["stream"], []).append((a["decided"], a["rule"], a["state"], a["id"], a["onset"]))
    return {stream: sorted(rows) for stream, rows in by_stream.items()}


def raw(values: list[bytes] | RawTick) -> RawTick:
    """Return messages as a tick; one that has times is one."""
    return values if isinstance(values, RawTick) else RawTick.of(values)


def run_with_successors(ticks: Sequence[list[bytes] | RawTick], takeovers: Iterable[int]) -> Run:
    """Return what is published if before each of some ticks a new graph takes over: by a replay, and from the log."""
    pipeline, run, begin, log = Pipeline(Settings()), Run(), 0, dict[str, dict[str, Any]]()
    collect(pipeline, run, published=True)
    for before, at in itertools.pairwise([0, *takeovers, len(ticks)]):
        if before > 0:
            begin += pipeline.rewind_tick(0)
            log |= {alert["id"]: alert for alert in run.alerts}
            pipeline = successor(ticks[begin:before], [alert for alert in log.values() if alert["state"] != "off"])
            collect(pipeline, run, published=True)
        for values in ticks[before:at]:
            pipeline.emit(raw(values))
    return run


def successor(replayed: Sequence[list[bytes] | RawTick], alerts: list[dict[str, Any]]) -> Pipeline:
    """Return a graph that has replayed ticks and adopted the alerts of the log."""
    pipeline = Pipeline(Settings())
    for values in replayed:
        pipeline.emit(raw(values))
    pipeline.adopt(alerts)
    return pipeline


class Worker:
    """A graph, and what it publishes."""

    def __init__(self) -> None:
        self.pipeline, self.run = Pipeline(Settings()), Run()
        collect(self.pipeline, self.run, published=True)

    def take(self) -> Run:
        """Return what was published since the last call."""
        taken = Run(dict(self.run.beats), list(self.run.alerts))
        self.run.beats.clear()
        self.run.alerts.clear()
        return taken
