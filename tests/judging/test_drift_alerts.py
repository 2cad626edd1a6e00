"""Alerts of drift on the whole graph: in any cut, and of a successor."""

from dataclasses import replace

import numpy as np
from beatwire.offline.analyze import analyze
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings import read_recording
from beatwire.records import RawTick
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import Run, Signal, assert_equal, collect, run_graph, ticks_of, transitions_by_stream

RATE = 250.0


def test_an_inverted_stream_raises_a_drift_alert_and_an_upright_one_does_not() -> None:
    """On the whole graph: the training data hold no inverted lead."""
    recording = read_recording("synthetic:seconds=150,rate=250,seed=3,ectopy=0")
    upright = analyze(recording)
    turned = analyze(replace(recording, samples=-recording.samples))
    assert [a for a in upright.alerts if a["rule"] == "drift"] == []
    assert [a["state"] for a in turned.alerts if a["rule"] == "drift"] == ["on"]


@settings(max_examples=draws(4), deadline=None)
@given(at_s=st.integers(80, 280), replayed_s=st.integers(40, 130), was_scored=st.booleans(), is_drifting=st.booleans())
def test_a_successor_whose_replay_saw_other_scores_goes_on_with_what_the_log_says(
    at_s: int, replayed_s: int, was_scored: bool, is_drifting: bool
) -> None:
    """Scores were dropped that a replay has, and retention may have removed samples."""
    recording = read_recording("synthetic:seconds=330,rate=250,seed=3,ectopy=0")
    signal = Signal("bed", -recording.samples if is_drifting else recording.samples, RATE, recording.uv_per_unit)
    ticks, log, after = [[signal.chunk(250 * k, 250 * (k + 1))] for k in range(330)], Run(), Run()
    first, second = Pipeline(Settings()), Pipeline(Settings())
    collect(first, log)
    for values in ticks[:at_s]:
        first.emit(replace(RawTick.of(values), overloaded=not was_scored))
    for values in ticks[max(0, at_s - replayed_s) : at_s]:
        second.emit(RawTick.of(values))
    known = {a["id"]: a for a in log.alerts}
    second.adopt([a for a in known.values() if a["state"] != "off"])
    collect(second, after)
    for values in ticks[at_s:]:
        second.emit(RawTick.of(values))
    states = dict[str, list[str]]()
    for one in (*log.alerts, *after.alerts):
        if one["rule"] == "drift":
            states.setdefault(one["id"], []).append(one["state"])
    assert all(said in (["on"], ["on", "off"]) for said in states.values()), "no end of what has not begun"
    assert len(states) == is_drifting
    assert [said for said in states.values() if "off" in said] == []


def test_any_cut_and_a_successor_that_replays_give_the_same_drift_alerts() -> None:
    recording = read_recording("synthetic:seconds=330,rate=250,seed=3,ectopy=0")
    samples = recording.samples.copy()
    samples[:, 250 * 60 : 250 * 230] *= -1
    signal, rng = Signal("bed", samples, RATE, recording.uv_per_unit), np.random.default_rng(9)
    whole = run_graph([[signal.chunk(a, min(a + 8000, samples.shape[1]))] for a in range(0, samples.shape[1], 8000)])
    drifts = [row for row in transitions_by_stream(whole)["bed"] if row[1] == "drift"]
    assert [row[2] for row in drifts] == ["on", "off"]
    ticks = ticks_of([signal], rng, 400, per_tick=30)
    assert_equal(run_graph(ticks), whole)
    for part in (0.55, 0.65):  # while the alert is on
        at = int(part * len(ticks))
        first, published = Pipeline(Settings()), Run()
        collect(first, published)
        for values in ticks[:at]:
            first.emit(RawTick.of(values))
        assert published.alerts[-1]["rule"] == "drift"
        second, discarded = Pipeline(Settings()), Run()
        collect(second, discarded)
        for values in ticks[first.rewind_tick(0) : at]:
            second.emit(RawTick.of(values))
        second.adopt([a for a in {a["id"]: a for a in published.alerts}.values() if a["state"] != "off"])
        discarded.alerts.clear()
        for values in ticks[at:]:
            second.emit(RawTick.of(values))
        both = Run(alerts=published.alerts + discarded.alerts)
        assert [row for row in transitions_by_stream(both)["bed"] if row[1] == "drift"] == drifts
