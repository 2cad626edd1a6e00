"""A recording in shards gives the beats, scores and alerts of the recording in one piece, for every cut."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from beatwire.api.analyze import random_cuts
from beatwire.errors import FullMemoryError
from beatwire.offline import analyzer, batch, prefetch
from beatwire.offline.analyze import Analysis, analyze
from beatwire.offline.plan import Plan
from beatwire.offline.results.coverage import Coverage, coverage_of
from beatwire.offline.shards import cut
from beatwire.pipeline.settings import Settings
from beatwire.recordings import NO_VALUE, Recording
from beatwire.recordings.synthetic.person import synthesise
from beatwire.recordings.synthetic.rhythm import ASYSTOLE, TACHYCARDIA, Event
from beatwire.records import Bank
from draws import draws
from hypothesis import example, given, settings
from hypothesis import strategies as st

PLANS = (
    Plan(shard_s=37.3, pass_s=11.1, lanes=5),
    Plan(shard_s=60.0, pass_s=60.0, lanes=64, by_pass=False),
    Plan(shard_s=7.0, pass_s=3.0, lanes=17),
    Plan(),
)


def person(seed: int, rate_hz: float = 250.0, leads: int = 1, seconds: float = 420.0) -> Recording:
    events = (Event(TACHYCARDIA, 150.0, 170.0), Event(ASYSTOLE, 260.0, 268.0)) if seconds > 300 else ()
    made = synthesise(
        seed, rate_hz=rate_hz, leads=leads, seconds=seconds, events=events, ectopy=0.06, noise=2.0
    ).recording
    return replace(made, samples=made.samples.copy())


def with_gaps(recording: Recording, seed: int) -> Recording:
    """Gaps of all lengths, some as long as a bridge, some in one lead only, at both ends too."""
    rng, x, hz = np.random.default_rng(seed), recording.samples.copy(), recording.rate_hz
    for k in range(40):
        at = int(rng.integers(0, x.shape[1]))
        width = int(rng.choice([1, 2, round(0.2 * hz), round(0.25 * hz), round(0.25 * hz) + 1, round(1.5 * hz)]))
        x[k // 2 % len(x) if k % 2 else slice(None), at : at + width] = NO_VALUE
    x[:, : (0, 3, round(0.5 * hz))[seed % 3]] = NO_VALUE
    end = (0, round(0.1 * hz), round(2.5 * hz))[seed % 3]
    x[:, x.shape[1] - end :] = NO_VALUE
    return replace(recording, samples=x)


def assert_same(shards: Analysis, whole: Analysis, fewest_beats: int = 100) -> None:
    """Assert equal output; recordings of 200 s and more have at least 100 beats, or nothing was detected."""
    a, b = shards.beats, whole.beats
    assert len(a["sample"]) >= fewest_beats
    assert list(a) == list(b)
    for name in ("sample", "decided", "scored_by", "time_s"):
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)
    for name in ("rr_ms", "rate_bpm", "response", "quality", "score", "prematurity", "expected_errors"):
        np.testing.assert_allclose(a[name], b[name], rtol=1e-4, atol=1e-4, err_msg=name)
    assert sorted(map(transition, shards.alerts)) == sorted(map(transition, whole.alerts))
    for name in ("bridged", "restarts", "lost_samples"):
        assert shards.counts[name] == whole.counts[name], name


def transition(alert: dict[str, Any]) -> tuple[Any, ...]:
    return alert["decided"], alert["rule"], alert["state"], alert["id"], alert["onset"], alert["onset_us"]


@pytest.mark.parametrize("rate_hz", [128.0, 250.0, 257.0, 360.0])
def test_shards_give_the_output_of_the_whole_at_any_rate(rate_hz: float) -> None:
    recording = person(3, rate_hz)
    whole = analyze(recording, chunk_ms=1000)
    assert len(whole.beats["sample"]) > 400
    assert {"asystole", "tachycardia"} <= {a["rule"] for a in whole.alerts}
    for plan in PLANS:
        assert_same(analyze(recording, plan=plan), whole)


@pytest.mark.parametrize("seed", range(6))
def test_gaps_end_and_begin_segments_as_they_do_in_a_stream(seed: int) -> None:
    recording = with_gaps(person(seed, (250.0, 360.0)[seed % 2], 1 + 2 * (seed % 2)), seed)
    whole = analyze(recording, chunk_ms=200)
    assert whole.counts["bridged"] > 5
    assert whole.counts["restarts"] >= 5
    assert whole.alerts
    for plan in PLANS[:3]:
        assert_same(analyze(recording, plan=plan), whole)


@pytest.mark.parametrize("samples", [1, 2, 40, 300])
def test_a_recording_shorter_than_any_window_passes(samples: int) -> None:
    recording = person(1, seconds=20)
    short = replace(recording, samples=recording.samples[:, :samples])
    assert_same(analyze(short), analyze(short, chunk_ms=1000), fewest_beats=0)  # 1 s may have none


@settings(max_examples=draws(6), deadline=None)
@example(leads=12, chunk_s=50.0)
@given(leads=st.integers(1, 12), chunk_s=st.floats(4.0, 100.0))
def test_chunks_that_are_several_messages_are_analyzed_to_the_end(leads: int, chunk_s: float) -> None:
    recording = person(2, 360.0, leads, seconds=100)
    assert_same(analyze(recording, chunk_ms=1000 * chunk_s), analyze(recording), fewest_beats=90)


def test_a_recording_without_any_value_has_no_beats() -> None:
    nothing = Recording("x", 250.0, ("I",), 5.0, np.full((1, 5000), NO_VALUE, np.int16))
    assert len(analyze(nothing).beats["sample"]) == 0


def test_without_calibration_shards_agree_too() -> None:
    recording = replace(person(5, seconds=200), uv_per_unit=0.0)
    assert_same(analyze(recording, plan=PLANS[0]), analyze(recording, chunk_ms=1000))


def test_a_warm_up_that_is_too_short_fails_these_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    recording = person(3)
    whole = analyze(recording, chunk_ms=1000)
    assert len(whole.beats["sample"]) > 400
    monkeypatch.setattr(analyzer, "WARM_S", 4.0)
    with pytest.raises(AssertionError):
        assert_same(analyze(recording, plan=PLANS[0]), whole)


def test_progress_rises_to_one() -> None:
    fractions: list[float] = []
    analyze(person(2, seconds=100), plan=PLANS[2], progress=fractions.append)
    assert fractions == sorted(fractions)
    assert fractions[-1] == pytest.approx(1.0)
    assert len(fractions) > 5


def test_shards_own_every_sample_once_and_begin_outside_of_gaps() -> None:
    recording = with_gaps(person(9, 250.0), 2)
    coverage = coverage_of(recording.samples, 250, 62, 10)
    shards = cut(coverage, 2500, 5000, 250)
    for s, (first, last) in enumerate(coverage.segment.tolist()):
        of_segment = shards.segment == s
        assert shards.begin[of_segment][0] == first
        assert shards.end[of_segment][-1] == last
        assert np.array_equal(shards.begin[of_segment][1:], shards.end[of_segment][:-1])
    for a, b in coverage.gap.tolist():
        assert not ((shards.base > a) & (shards.base < b)).any()
        assert not ((shards.stop > a) & (shards.stop < b)).any()
    assert (shards.stop >= shards.end).all()
    assert (shards.base <= shards.begin).all()


def test_one_analyzer_takes_recordings_of_different_rates_one_after_the_other() -> None:
    one = analyzer.Analyzer(Settings(), PLANS[0])
    for rate_hz, leads in ((250.0, 1), (360.0, 3), (250.0, 1)):
        recording = person(4, rate_hz, leads, seconds=200)
        beats = one.analyze(recording, "x")[0].beats
        assert len(beats.sample) > 100
        assert np.array_equal(beats.sample, analyze(recording, chunk_ms=1000).beats["sample"])


def test_several_graphs_at_once_give_the_same_output(monkeypatch: pytest.MonkeyPatch) -> None:
    recording = with_gaps(person(6), 1)
    whole = analyze(recording, chunk_ms=1000)
    for workers in (1, 3):
        monkeypatch.setattr(analyzer.Analyzer, "_workers", lambda self, _, n=workers: add_graphs(self, n))
        assert_same(analyze(recording, plan=PLANS[0]), whole)


def add_graphs(to: analyzer.Analyzer, workers: int) -> int:
    while len(to._graphs) < workers:
        to._graphs.append(analyzer.ShardBatch(to._settings, to._backend))
    return workers


@pytest.mark.parametrize(("rate_hz", "leads"), [(250.0, 1), (257.0, 3)])
def test_samples_that_are_uploaded_pass_by_pass_give_the_same_output(
    rate_hz: float, leads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Upload:
        """An upload that writes its samples only when it is waited for."""

        def __init__(self, samples: Any, start: Any, stop: Any, buffer: Any) -> None:
            self.width = int((stop - start).max())
            self.rows = buffer[: len(start) * leads * self.width].reshape(len(start), leads, self.width)
            self.parts = [samples[:, a:b] for a, b in zip(start, stop, strict=True)]
            buffer[:] = NO_VALUE

        def synchronize(self) -> None:
            for row, part in zip(self.rows, self.parts, strict=True):
                row[:, : part.shape[1]] = part

    def start_upload(*arguments: Any) -> tuple[int, Any]:
        upload = Upload(*arguments)
        return upload.width, upload

    def uploaded(self: Any, samples: Any, batch: Any, pass_samples: int) -> prefetch.UploadedSamples:
        size = len(batch) * leads * pass_samples
        return prefetch.UploadedSamples(samples, [np.empty(size, np.int16) for _ in range(prefetch.BUFFERS)])

    recording = with_gaps(person(6, rate_hz, leads), 1)
    expected = analyze(recording)
    monkeypatch.setattr(prefetch, "upload_stretches", start_upload)
    monkeypatch.setattr(analyzer.Analyzer, "_source", uploaded)
    for plan in PLANS:
        assert_same(analyze(recording, plan=plan), expected)


def test_a_long_recording_is_one_batch_of_longer_shards() -> None:
    plan = Plan(75.0, 5.0, 100, longest_s=900.0)
    assert [plan.for_length(hours * 3600.0).shard_s for hours in (1, 9.9, 1000)] == [75.0, 360.0, 900.0]
    assert Plan(60.0).for_length(1e6).shard_s == 60.0
    for segments in (1, 2, 30):
        last = 3_000_017 * np.arange(1, segments + 1)
        segment = np.stack([last - 3_000_017 + 700, last], axis=1)
        longer = replace(plan, longest_s=1e6).for_length(last[-1] / 250.0, segments)
        coverage = Coverage(segment, np.zeros((0, 2), np.int64), segment, np.zeros((0, 3), np.int64))
        shards = cut(coverage, round(longer.shard_s * 250.0), 25_000, 250)
        assert 60 < len(shards) <= 100


def test_fewer_lanes_fit_into_less_memory() -> None:
    plan, bank = Plan(119.0, 120.0, 4096), Bank(0, 500.0, 12)
    lanes = [plan.within(gib << 30, bank).lanes for gib in (1, 4, 100)]
    assert 20 < lanes[0] < lanes[1] < lanes[2] <= 4096
    assert plan.within(1, bank).lanes == 1


def test_what_a_card_needs_for_any_number_of_lanes_is_not_left_for_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    within = Plan.within
    monkeypatch.setattr(Plan, "within", lambda plan, *args: (asked.append(args[0]), within(plan, *args))[1])
    for detector, fixed_bytes in (("network", 240 << 20), ("trees", 0)):
        analyzer.Analyzer(Settings(detector=detector), memory_bytes=1 << 30).analyze(person(1, seconds=12.0), "x")
        assert asked.pop() == (1 << 30) - fixed_bytes


def test_where_memory_is_full_fewer_shards_at_once_give_the_same_beats(monkeypatch: pytest.MonkeyPatch) -> None:
    run = batch.ShardBatch.run
    tried: list[int] = []
    done: list[float] = []

    def full(self: Any, placements: Any, shards: Any, *args: Any, **options: Any) -> Any:
        tried.append(len(shards))
        if len(shards) > 2:
            next(iter(placements))
            raise FullMemoryError("full")
        return run(self, placements, shards, *args, **options)

    def analyzed() -> Any:
        one = analyzer.Analyzer(Settings(), Plan(shard_s=7.0, pass_s=3.0, lanes=17), most_graphs=1)
        return one.analyze(person(3, seconds=120.0), "x", done.append)[0]

    expected = analyzed()
    done.clear()
    monkeypatch.setattr(batch.ShardBatch, "run", full)
    found = analyzed()
    assert tried[:4] == [17, 8, 4, 2]
    assert done[-1] == pytest.approx(1.0)
    np.testing.assert_array_equal(found.beats.sample, expected.beats.sample)
    np.testing.assert_array_equal(found.beats.score, expected.beats.score)
    monkeypatch.setattr(batch.ShardBatch, "run", lambda *_, **__: full(None, iter("x"), range(3)))
    with pytest.raises(FullMemoryError):
        analyzed()


@pytest.mark.parametrize(("n", "chunk_ms", "seed"), [(0, 1000.0, 0), (1, 1.0, 1), (5000, 10.0, 2), (30_000, 1.0, 3)])
def test_ticks_are_drawn_until_they_take_all_chunks(n: int, chunk_ms: float, seed: int) -> None:
    chunks, ticks = random_cuts(n, 250.0, chunk_ms, seed)
    assert sum(chunks) == n
    assert sum(ticks[:-1]) < len(chunks) <= sum(ticks) or not ticks
