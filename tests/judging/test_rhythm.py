"""The judges of the rhythm: features against slow versions, medians, cuts, and alarms of the whole graph."""

from dataclasses import replace

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire.kernels.classes.beat_class import P_V, N, S
from beatwire.kernels.classes.normal_beat import NORMAL_MEASURES
from beatwire.kernels.rhythms import atrial, fibrillation, rhythm, wave_shape
from beatwire.kernels.rhythms.beat_ring import BEATS, DOUBTFUL, HAS_DENIED, NOISY, UNKNOWN
from beatwire.kernels.rhythms.flutter import POSSIBLE, WAVES
from beatwire.model.rhythm import load_rhythm_judges, save_rhythm_judges
from beatwire.offline.analyze import LONG_PASS_S, analyze
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings import Recording, read_recording
from beatwire.recordings.synthetic.person import synthesise
from beatwire.recordings.synthetic.rhythm import TACHYCARDIA, Event
from beatwire.records import RawTick
from beatwire.records.rhythm import RhythmBeats
from laws import Signal, assert_equal, run_graph, ticks_of

RATE = 250.0
FAST = {"tachycardia", "extreme tachycardia"}


def ring_of(at: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the rings of intervals and flags after beats at these samples; the first interval is unknown."""
    intervals, flags = np.zeros(BEATS, np.int32), np.zeros(BEATS, np.uint8)
    for k, sample in enumerate(at):
        intervals[k % BEATS], flags[k % BEATS] = sample - at[k - 1] if k else 0, 0 if k else UNKNOWN
    return intervals, flags


def beats_with(intervals: np.ndarray) -> list[int]:
    return np.cumsum([1000, *intervals]).tolist()


def test_a_rate_is_known_after_its_full_number_of_intervals(rng) -> None:
    at = beats_with(rng.integers(120, 300, 40))
    medians = np.zeros(rhythm.SPANS)
    for beats in range(2, len(at)):
        numbers = np.zeros(rhythm.NUMBERS, np.int64)
        numbers[rhythm.COUNT] = beats
        rhythm.write_medians(0.2, RATE, *ring_of(at[:beats]), numbers, medians)
        for k, n in enumerate((16, 8, 4)):
            expected = np.median(np.diff(at[:beats])[-n:]) / RATE if beats > n else np.nan
            assert medians[k] == pytest.approx(expected, nan_ok=True)


def test_in_noise_no_rate_is_known(rng) -> None:
    at = beats_with(rng.integers(120, 300, 40))
    numbers, medians = np.zeros(rhythm.NUMBERS, np.int64), np.zeros(rhythm.SPANS)
    numbers[rhythm.COUNT] = len(at)
    rhythm.write_medians(1.5, RATE, *ring_of(at), numbers, medians)
    assert np.isnan(medians).tolist() == [False, True, True]
    rhythm.write_medians(float("nan"), RATE, *ring_of(at), numbers, medians)  # a detector without an estimate
    assert not np.isnan(medians).any()


@pytest.mark.parametrize("flag", [NOISY, HAS_DENIED])
@pytest.mark.parametrize(("interval_s", "noisy", "known"), [(1.4, 3, False), (1.4, 2, True), (0.6, 5, True)])
def test_a_slow_rate_is_not_known_if_most_of_its_beats_are_noisy_or_have_a_denied_peak_before_them(
    interval_s: float, noisy: int, known: bool, flag: int
) -> None:
    intervals, flags = ring_of(beats_with(np.full(4, round(interval_s * RATE))))
    flags[:noisy] |= np.uint8(flag)
    numbers, medians = np.zeros(rhythm.NUMBERS, np.int64), np.zeros(rhythm.SPANS)
    numbers[rhythm.COUNT] = 5
    rhythm.write_medians(0.8, RATE, intervals, flags, numbers, medians)
    assert medians[2] == pytest.approx(interval_s if known else np.nan, nan_ok=True)


@pytest.mark.parametrize("of_detector", [0.2, 1.2])
@pytest.mark.parametrize("of_trees", [0.2, 1.2])
@pytest.mark.parametrize("denied", [0, 400, 600])
def test_rates_read_the_more_of_the_expected_errors_and_denied_peaks_in_the_interval(
    of_trees: float, of_detector: float, denied: int
) -> None:
    intervals, flags = ring_of([500])
    numbers, one = np.zeros(rhythm.NUMBERS, np.int64), np.ones(1, np.float32)
    numbers[[rhythm.COUNT, rhythm.LAST, rhythm.LAST_DENIED]] = 1, 500, denied and denied + 1
    most = max(of_trees, of_detector)
    beats = RhythmBeats(np.ones(1), one, of_trees * one, most * one, np.zeros((1, NORMAL_MEASURES), np.float32))
    rhythm.store_beat(700, 0, beats, intervals, flags, numbers)
    assert bool(flags[1] & NOISY) == (most > 1)
    assert bool(flags[1] & DOUBTFUL) == (of_trees > 1)
    assert bool(flags[1] & HAS_DENIED) == (denied == 600)


@pytest.mark.parametrize(
    ("logit", "kind"), [(np.nan, 0), (rhythm.POSSIBLE_LOGIT, 0), (0.0, POSSIBLE), (0.1, POSSIBLE | WAVES)]
)
def test_a_block_below_the_limit_of_fibrillation_is_possible_fibrillation(logit: float, kind: int) -> None:
    assert rhythm.kind_of_block(0, logit, np.zeros(rhythm.PAST_COLUMNS, np.int64)) == kind


def test_the_features_of_atrial_fibrillation_equal_a_slow_version(rng) -> None:
    for _ in range(20):
        at = beats_with(rng.integers(120, 320, int(rng.integers(15, 90))))
        features = np.zeros(rhythm.FEATURES, np.float32)
        assert atrial.write_features(RATE, len(at), *ring_of(at), features)
        kept = [a for a in at[-BEATS:] if a >= at[-1] - 60 * RATE]
        rr = np.diff(kept).astype(float)
        typical = np.sort(rr)[(len(rr) - 1) // 2]
        difference = np.diff(rr)
        unlike = np.abs(difference) / np.minimum(rr[1:], rr[:-1])
        cell = np.clip(np.floor(difference / typical * atrial.CELL + 0.5), -12, 12)
        slow = {
            "intervals": len(rr),
            "typical interval": typical * 1000 / RATE,
            "differ by 5 %": np.mean(unlike > 0.05),
            "by 20 %": np.mean(unlike > 0.2),
            "cells": len(set(zip(cell[1:], cell[:-1], strict=True))) / (len(rr) - 2),
            "zero cells": np.mean(cell[1:] * cell[:-1] == 0),
            "mean difference": np.mean(np.abs(difference)) / typical,
            "short": np.mean(rr < 0.8 * typical),
        }
        for name, value in slow.items():
            assert features[atrial.NAMES.index(name)] == pytest.approx(value, rel=1e-5), name


def test_a_regular_rhythm_is_not_judged(rng) -> None:
    at = beats_with(200 + rng.integers(-3, 4, 70))
    assert not atrial.write_features(RATE, len(at), *ring_of(at), np.zeros(rhythm.FEATURES, np.float32))


@pytest.mark.parametrize(("errors", "doubtful", "counts"), [(0.2, DOUBTFUL, 1), (1.5, 0, 1), (1.5, DOUBTFUL, 0)])
def test_noise_is_not_judged_to_be_atrial_fibrillation(errors: float, doubtful: int, counts: int) -> None:
    trees = load_rhythm_judges().trees
    at = np.array(beats_with(np.random.default_rng(0).integers(120, 320, 62)))
    every = int(rhythm.AF_EVERY_S * RATE)
    at += every - at[-1] % every  # the last beat is the first of its 8 s
    intervals, flags = ring_of(at.tolist())
    flags |= np.uint8(doubtful)
    numbers, features = np.zeros(rhythm.NUMBERS, np.int64), np.zeros(rhythm.FEATURES, np.float32)
    numbers[rhythm.COUNT] = len(at)
    assert rhythm.judge_beat(int(at[-1]), errors, RATE, intervals, flags, numbers, trees, features) > 0
    assert numbers[rhythm.AF_BITS] == counts


def test_a_description_holds_eight_numbers() -> None:
    points = np.rint(1000 * np.sin(np.arange(128) * 2 * np.pi / 16)).astype(np.int32)  # a wave of 4 Hz
    packed = wave_shape.pack_description(points, 5000, 16, 3)
    found = [wave_shape.number_of(packed, k) for k in range(wave_shape.NUMBERS)]
    assert found[wave_shape.LEAKAGE] == 3
    assert found[wave_shape.HALF] == pytest.approx(4 * 8, abs=2)
    assert found[wave_shape.SIZE] == pytest.approx(8 * np.log2(2 / np.pi * 1000 / 16 * 5), abs=2)
    assert found[wave_shape.UPWARD] == 8
    assert packed & wave_shape.KIND_MASK == 0
    assert packed & wave_shape.DESCRIBED


def test_beats_after_the_margin_do_not_change_a_judgement_of_a_block() -> None:
    at = [1000, 1200, 1400, 1600, 1810]
    blocks = np.full(fibrillation.BLOCKS, wave_shape.DESCRIBED, np.int64)
    end = 1900
    before, after = np.zeros(rhythm.FEATURES, np.float32), np.zeros(rhythm.FEATURES, np.float32)
    fibrillation.write_features(end, RATE, blocks, 4, at[3], *ring_of(at[:4]), before)
    fibrillation.write_features(
        end, RATE, blocks, 5, at[4], *ring_of(at), after
    )  # the last one is 0.36 s before the end
    assert np.array_equal(before, after)


@pytest.mark.parametrize("cut", np.linspace(0.0, 0.9, 7))
def test_a_stream_that_begins_within_a_beat_raises_no_alarm_of_its_rate(cut: float) -> None:
    recording = synthesise((0, int(cut * 100)), seconds=30).recording
    samples = np.ascontiguousarray(recording.samples[:, int((1 + cut) * RATE) :])
    assert not FAST & {a["rule"] for a in analyze(replace(recording, samples=samples)).alerts}


def test_extreme_tachycardia_takes_seventeen_beats() -> None:
    made = synthesise(4, seconds=60, events=[Event(TACHYCARDIA, 20.0, 50.0)])
    alerts = {a["rule"]: a for a in analyze(made.recording).alerts if a["state"] == "on"}
    fast = made.beats[(made.beats >= 20 * RATE)]
    assert np.searchsorted(fast, alerts["tachycardia"]["onset"]) >= 4
    if "extreme tachycardia" in alerts:
        assert np.searchsorted(fast, alerts["extreme tachycardia"]["onset"]) >= 8


def test_noise_is_no_tachycardia(rng) -> None:
    noise = np.convolve(rng.normal(0, 150, 60 * 250), np.ones(5) / 5, "same")
    recording = Recording("noise", RATE, ("I",), 5.0, np.rint(noise).astype(np.int16)[None])
    assert not FAST & {a["rule"] for a in analyze(recording).alerts}


def test_atrial_fibrillation_of_a_person_is_announced_within_a_minute(ecg_folder) -> None:
    recording = read_recording(ecg_folder / "mimicaf" / "af10.hea")
    first = replace(recording, samples=np.ascontiguousarray(recording.samples[:, : int(180 * recording.rate_hz)]))
    alerts = [a for a in analyze(first).alerts if a["rule"] == "irregular rhythm"]
    assert [a["state"] for a in alerts] == ["on"]
    assert alerts[0]["decided"] < 60 * recording.rate_hz


def test_any_cut_gives_the_same_alerts_of_a_record_in_fibrillation(ecg_folder) -> None:
    recording = read_recording(ecg_folder / "cudb" / "cu01.hea")
    samples = np.ascontiguousarray(recording.samples[:, 205 * 250 : 235 * 250])
    signal = Signal("bed", samples, 250.0, recording.uv_per_unit)
    whole = run_graph([[signal.chunk(a, min(a + 5000, samples.shape[1])) for a in range(0, samples.shape[1], 5000)]])
    assert "ventricular fibrillation" in {a["rule"] for a in whole.alerts}
    for seed, longest in enumerate((30, 400)):
        assert_equal(run_graph(ticks_of([signal], np.random.default_rng(seed), longest)), whole)


def test_in_atrial_fibrillation_no_beat_is_supraventricular(ecg_folder) -> None:
    record = read_recording(ecg_folder / "mitdb" / "203.hea").pick(0)
    kept = []
    for judged in (True, False):
        pipeline = Pipeline(Settings(pass_s=LONG_PASS_S))
        if not judged:
            pipeline.alerting.judged.func = lambda state, tick: (state, tick)
        pipeline.subscribe(pipeline.alerting.judged, kept.append)
        signal = Signal("bed", record.samples[:, : 180 * 360], 360.0)
        pipeline.emit(RawTick.of(ticks_of([signal], np.random.default_rng(1), per_tick=10**9)[0]))
    tick, classified = kept
    assert tick.rhythm.certain.mean() > 0.3
    assert not (tick.rhythm.atrial & ~tick.rhythm.possible).any()
    assert tick.rhythm.possible.sum() > tick.rhythm.atrial.sum()
    assert [rhythm.is_atrial(0b1001, last) for last in (rhythm.AF_DECISIONS, rhythm.AF_CERTAIN)] == [True, False]
    was_s, is_s = classified.beat_class == S, tick.beat_class == S
    premature = was_s & tick.rhythm.certain
    assert premature.sum() > 3
    np.testing.assert_array_equal(is_s, was_s & ~premature)
    np.testing.assert_array_equal(tick.beat_class[~premature], classified.beat_class[~premature])
    assert (tick.beat_class[premature] == N).all()
    not_v = 1.0 - tick.class_measures[premature, P_V]
    np.testing.assert_array_equal(tick.class_probability[premature], not_v)
    assert tick.class_probability.dtype == classified.class_probability.dtype == np.float32


def test_judges_of_other_features_are_refused(tmp_path) -> None:
    assert load_rhythm_judges().trees.feature.shape[0] == 2
    leaf = {"feature": [-1, -1], "threshold": [0, 0], "below": [0, 0], "leaf": [0, 0], "roots": [0, 1]}
    path = tmp_path / "j.safetensors"
    save_rhythm_judges(path, leaf, {})
    config = path.with_suffix(".json")
    config.write_text(config.read_text().replace("crest", "height"))
    with pytest.raises(UserError, match="expected judges of the rhythm trained with fibrillation"):
        load_rhythm_judges(path)
    with pytest.raises(UserError, match="there is no such file"):
        load_rhythm_judges(tmp_path / "none.safetensors")
