"""Laws 1 and 4 with the detector `network`: beats, denied peaks and alerts in noise and silences."""

from dataclasses import replace

import numpy as np
import pytest
from beatwire.evaluation.beats.noise import electrode_motion
from beatwire.offline.analyze import analyze
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings import Recording
from beatwire.records import RawTick
from beatwire.records.columns import ORDERED_KIND, ORDERED_SAMPLE, ORDERED_SLOT
from beatwire.records.events import DENIED
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import Run, Signal, assert_equal, collect, ticks_of, transitions_by_stream

RATE_HZ, SECONDS = 128.0, 40.0
NETWORK = replace(Settings(), detector="network")


def moved(seed: int, leads: int) -> Signal:
    """A heart in electrode motion, ten seconds of every twenty, that is silent for seconds in and after it."""
    rng, n = np.random.default_rng(seed), int(SECONDS * RATE_HZ)
    t = np.arange(n) / RATE_HZ
    x = electrode_motion(n, leads, RATE_HZ, rng) * np.where(t % 20 < 10, 300, 10)
    for at in np.cumsum(rng.normal(0.7, 0.03, 70)):
        if not 5 < (at + seed) % 20 < 7 and not 33 < at < 39:
            x += 800 * (1 - ((t - at) / 0.014) ** 2) * np.exp(-(((t - at) / 0.014) ** 2) / 2)
    return Signal(f"bed-{seed}", np.clip(np.rint(x), -32_767, 32_767).astype(np.int16), RATE_HZ, 1.0)


def output(ticks: list[list[bytes]]) -> tuple[Run, dict[str, list[int]]]:
    """Return the output of the graph for ticks, and the samples of the denied peaks of each stream."""
    pipeline, run, denied = Pipeline(NETWORK), Run(), dict[str, list[int]]()
    collect(pipeline, run)

    def note(alerts: object) -> None:
        for event in alerts.beats.events:  # type: ignore[attr-defined]
            if event[ORDERED_KIND] == DENIED:
                denied.setdefault(pipeline.directory.names[event[ORDERED_SLOT]], []).append(int(event[ORDERED_SAMPLE]))

    pipeline.subscribe(pipeline.alerts, note)
    for values in ticks:
        pipeline.emit(RawTick.of(values))
    return run, denied


@pytest.fixture(scope="module")
def signals() -> list[Signal]:
    return [moved(seed, 1 + seed % 2) for seed in range(4)]


@pytest.fixture(scope="module")
def whole(signals: list[Signal]) -> tuple[Run, dict[str, list[int]]]:
    """Return the output of each stream in one piece."""
    run, denied = output([[s.chunk(0, s.samples.shape[1])] for s in signals])
    assert sum(map(len, denied.values())) > 8
    assert {"asystole", "noise"} <= {a["rule"] for a in run.alerts}
    return run, denied


@settings(max_examples=draws(12), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), longest=st.sampled_from([40, 200, 900]))
def test_in_any_cut_beats_denied_peaks_and_alerts_are_equal(
    signals: list[Signal], whole: tuple[Run, dict[str, list[int]]], seed: int, longest: int
) -> None:
    run, denied = output(ticks_of(signals, np.random.default_rng(seed), longest))
    assert_equal(run, whole[0])
    assert denied == whole[1]


def test_the_analysis_of_recordings_finds_the_alerts_of_the_graph(
    signals: list[Signal], whole: tuple[Run, dict[str, list[int]]]
) -> None:
    for s in signals:
        recording = Recording(s.stream, RATE_HZ, tuple("ab"[: len(s.samples)]), s.uv_per_unit, s.samples)
        decided = [(a["decided"], a["rule"], a["state"]) for a in analyze(recording, settings=NETWORK).alerts]
        of_graph = [row[:3] for row in transitions_by_stream(whole[0].of(s.stream))[s.stream]]
        end = s.samples.shape[1] - RATE_HZ  # what the graph does not know yet
        assert sorted(a for a in decided if a[0] < end) == [row for row in of_graph if row[0] < end]
