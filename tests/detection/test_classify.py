"""Classify: the logit of a peak depends on a few seconds of its own stream, and on no cut."""

from dataclasses import replace

import numpy as np
import pytest
from beatwire.kernels.peaks import classify as kernel
from beatwire.kernels.peaks import peak_features, peak_history, risk
from beatwire.model.trees import load_trees
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import Peaks
from beatwire.records.classification import PeakMemory
from beatwire.records.columns import PEAK_COLUMNS
from beatwire.records.detection import PeakTable, Rings
from beatwire.stages import align
from beatwire.stages.detection import classify, nms, ricker, ring
from laws import Signal, cut
from steps import Detector, decoded, fresh_of

TREES = load_trees()


def judged_of(detector: Detector, signal: Signal, a: int, b: int) -> list[Peaks]:
    """Process a chunk of a stream up to classify; return the peaks of each pass."""
    passes = align.step(detector.align, decoded([signal.chunk(a, b)]))[1].passes
    classified = []
    for placement in passes:
        response = ricker.step(detector.states[0], ring.step(detector.ring, placement)[1])[1]
        classified.append(classify.step(detector.states[2], nms.step(detector.states[1], response)[1])[1])
    return classified


def logits_of(signal: Signal, cuts: list[tuple[int, int]], detector: Detector | None = None) -> dict[int, float]:
    """Return the logits of the peaks of one stream by sample."""
    detector = Detector(Settings()) if detector is None else detector
    found: dict[int, float] = {}
    for a, b in cuts:
        for classified in judged_of(detector, signal, a, b):
            n = int(classified.table.found[-1])
            found |= dict(
                zip(classified.table.peaks[-1, :n, 0].tolist(), classified.logits[-1, :n, 0].tolist(), strict=True)
            )
    return found


def shards(n: int, size: int = 500) -> list[tuple[int, int]]:
    return [(a, min(n, a + size)) for a in range(0, n, size)]


def person(seed: int = 3, *, leads: int = 1, seconds: float = 40.0, noise: float = 200.0) -> np.ndarray:
    """Return a synthetic ECG with noise that makes some peaks uncertain, int16 [leads, n]."""
    clean = synthesise(seed, rate_hz=250.0, leads=leads, seconds=seconds).recording.samples
    rng = np.random.default_rng(seed)
    rough = np.cumsum(rng.normal(0, noise / 3, clean.shape), axis=1)
    rough -= np.stack([np.convolve(row, np.ones(50) / 50, "same") for row in rough])
    return np.clip(clean + rough, -32000, 32000).astype(np.int16)


@pytest.mark.parametrize("leads", [1, 3])
def test_any_cut_gives_the_same_logits_to_the_last_bit(leads: int) -> None:
    x = person(leads=leads)
    signal = Signal("bed", x, uv_per_unit=0.0)
    whole = logits_of(signal, shards(x.shape[1]))
    assert len(whole) > 60
    doubtful = [v for v in whole.values() if abs(v) < 3]
    assert len(doubtful) > 5, "expected uncertain peaks in the test signal"
    for seed, longest in ((1, 30), (2, 300), (3, 3000)):
        assert logits_of(signal, cut(x.shape[1], np.random.default_rng(seed), longest)) == whole


@pytest.mark.parametrize("leads", [1, 2])
def test_a_logit_depends_on_the_samples_within_its_reach_only(leads: int) -> None:
    """Two streams with different beginnings agree on every peak that is farther from it than the reach."""
    rate, begin_s = 250, 14
    later = person(5, leads=leads, seconds=60.0)
    both = []
    for early in (person(6, leads=leads, seconds=begin_s, noise=400.0), np.zeros((leads, begin_s * rate), np.int16)):
        x = np.concatenate([early, later], axis=1)
        both.append(logits_of(Signal("bed", x, uv_per_unit=0.0), shards(x.shape[1])))
    settled = int((begin_s + classify.REACH_S) * rate)
    one, other = ({c: v for c, v in found.items() if c >= settled} for found in both)
    assert len(one) > 30
    assert one == other
    assert both[0] != both[1], "expected the beginnings to change some logits"


def test_expected_errors_are_the_sum_over_the_uncertain_peaks_of_the_last_ten_seconds() -> None:
    x = person()
    detector, found = Detector(Settings()), []
    for a, b in shards(x.shape[1]):
        for classified in judged_of(detector, Signal("bed", x, uv_per_unit=0.0), a, b):
            n = int(classified.table.found[0])
            found += [
                (int(c), *pair)
                for c, pair in zip(classified.table.peaks[0, :n, 0], classified.logits[0, :n, :2].tolist(), strict=True)
            ]
    seen = [(c, logit, errors) for c, logit, errors in found if logit > kernel.NOT_A_CANDIDATE]
    assert all(np.isnan(errors) for c, logit, errors in found if logit == kernel.NOT_A_CANDIDATE)
    np.testing.assert_array_equal(classified.logits[0, :n, 1], classified.logits[0, :n, 2])  # of the last tick
    for c, _, errors in seen:
        sure = [risk.beat_probability(other, TREES.probability) for at, other, _ in seen if c - 2500 <= at <= c]
        verdicts = [other > 0 for at, other, _ in seen if c - 2500 <= at <= c]
        assert errors == pytest.approx(sum(1 - p if v else p for p, v in zip(sure, verdicts, strict=True)), abs=1e-4)
    assert max(errors for *_, errors in seen) > 1
    assert min(errors for c, _, errors in seen if c > 2500) < max(errors for *_, errors in seen) / 2


def test_the_first_peak_of_a_lane_has_a_low_logit_that_still_accepts_it() -> None:
    x = person(3, noise=0.0)
    at = min(c for c, logit in logits_of(Signal("bed", x), shards(x.shape[1])).items() if logit > 5)
    found = {
        cut_off: logits_of(Signal("bed", x[:, at - cut_off :]), shards(x.shape[1] - at + cut_off))[cut_off]
        for cut_off in (60, 99, 100, 150)
    }
    assert found[60] == found[99] == kernel.FIRST_LOGIT > 0
    assert min(found[100], found[150]) > 3


def test_a_silent_lead_changes_no_logit() -> None:
    one = person(4)
    silent = np.concatenate([np.full_like(one, 700), one])
    n = one.shape[1]
    assert logits_of(Signal("bed", silent), shards(n)) == logits_of(Signal("bed", one), shards(n))


@pytest.mark.parametrize("rate_hz", [128.0, 250.0, 360.0, 500.0, 1000.0])
def test_the_beats_of_a_clean_signal_have_high_logits_at_every_rate(rate_hz: float) -> None:
    truth = synthesise(9, rate_hz=rate_hz, seconds=60)
    signal = Signal("bed", truth.recording.samples, rate_hz)
    found = logits_of(signal, shards(truth.recording.samples.shape[1], round(2 * rate_hz)))
    at = np.array(sorted(found))
    beats = truth.detectable_beats()
    beats = beats[(beats > 2 * rate_hz) & (beats < 59 * rate_hz)]
    nearest = at[np.abs(at[None] - beats[:, None]).argmin(axis=1)]
    assert np.mean([found[c] > 3 for c in nearest.tolist()]) > 0.98
    assert np.mean([found[c] == kernel.TYPICAL_LOGIT for c in nearest.tolist()]) > 0.5


def test_a_peak_below_the_lowest_response_is_never_a_beat_and_not_stored() -> None:
    state = classify.State(classify.Settings(TREES, Settings().design))
    fresh = fresh_of([0], [1000])
    rows = np.zeros((1, 3, PEAK_COLUMNS), np.int64)
    rows[0, :, :4] = [[300, 99, 1000, 1000], [600, 100, 1000, 1000], [900, 101, 1000, 1000]]
    rings = Rings(np.zeros((1, 1, 1024), np.int16), np.zeros((1, 1024), np.int32), np.zeros((1, 3), np.int64))
    table = PeakTable(
        np.array([3]), rows, np.zeros((1, 1, 3), np.int64), np.zeros(1, np.int64), np.zeros((1, 2, 2), np.int64)
    )
    peaks = Peaks(fresh, rings, table, np.array([950]))
    classified = classify.step(state, peaks)[1]
    assert classified.logits is not None
    assert classified.logits[0, :2, 0].tolist() == [kernel.NOT_A_CANDIDATE, kernel.NOT_A_CANDIDATE]
    assert classified.logits[0, 2, 0] > kernel.NOT_A_CANDIDATE
    memory = state.memory[0]
    assert (memory.log[0, peak_features.PEAK_COUNT], memory.sample[0, 0]) == (1, 900)


@pytest.mark.parametrize("pause", [(1 << 16) + 100, (1 << 31) + 100, (1 << 32) + 100])
def test_a_peak_behind_a_long_pause_is_not_compared_with_those_before(pause: int) -> None:
    features, numbers, spans = np.ones(peak_features.FEATURES, np.float32), np.zeros(48), np.full(11, 2500)
    memory = PeakMemory(
        np.zeros(peak_features.LOG_COLUMNS, np.int64), np.zeros(48, np.int16), np.zeros((48, 6), np.uint16)
    )
    peak_history.store_peak(1000, 500, memory, numbers, features)
    peak_history.forget_peaks(3500, spans, memory.log)
    assert memory.log[peak_features.PEAK_COUNT] == 1
    peak_history.forget_peaks(1000 + pause, spans, memory.log)
    assert memory.log[peak_features.PEAK_COUNT] == 0


def test_a_restart_of_a_lane_clears_its_memory() -> None:
    x = person(8)
    signal = Signal("bed", x, uv_per_unit=0.0)
    n = x.shape[1]
    alone = logits_of(signal, shards(n))
    detector = Detector(Settings())
    logits_of(signal, shards(n), detector)
    assert logits_of(replace(signal, session=2), shards(n), detector) == alone


def test_without_trees_peaks_are_passed_on_unchanged() -> None:
    state = classify.State(classify.Settings(None, Settings().design))
    peaks = object()
    assert classify.step(state, peaks)[1] is peaks  # type: ignore[arg-type]


def test_the_probability_is_interpolated_between_its_knots_and_never_decreases() -> None:
    knots = np.linspace(0.01, 0.99, 33)
    assert risk.beat_probability(-99.0, knots) == 0.01
    assert risk.beat_probability(99.0, knots) == 0.99
    assert risk.beat_probability(0.0, knots) == pytest.approx(0.5)
    assert risk.beat_probability(0.25, knots) == pytest.approx((knots[16] + knots[17]) / 2)
    several = [risk.beat_probability(v, TREES.probability) for v in np.linspace(-9, 9, 200)]
    assert min(several) >= 0
    assert max(several) <= 1
    assert np.all(np.diff(several) >= 0)
    assert several[0] < 0.05
    assert several[-1] > 0.99
