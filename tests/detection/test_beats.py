"""Beats: the position of R, RR, gaps, the floor in microvolts; gain, offset and polarity."""

import numpy as np
import pytest
from beatwire.kernels.detection import intervals
from beatwire.kernels.detection.r_peak import mark_r
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.stages.support.filters import filter_for
from laws import Signal, cut
from signal_oracles import mark_of
from steps import Detector, Found, beats_of

RATES_HZ = (128.0, 250.0, 360.0, 500.0, 1000.0)


def waves(
    at_s: np.ndarray, size: float, *, rate_hz: float = 250.0, seconds: float = 30.0, sigma_s: float = 0.014
) -> np.ndarray:
    """Return Ricker-shaped waves around given times, int16 [1, n]."""
    n = round(seconds * rate_hz)
    x = np.zeros(n)
    for centre in np.rint(at_s * rate_hz):
        t = (np.arange(n) - centre) / (sigma_s * rate_hz)
        near = np.abs(t) < 8
        x[near] += size * ((1 - t**2) * np.exp(-(t**2) / 2))[near]
    return np.rint(x)[None].astype(np.int16)


def heart(*, leads: int = 1, seed: int = 3, seconds: float = 40.0, rate_hz: float = 250.0) -> np.ndarray:
    return synthesise(seed, rate_hz=rate_hz, leads=leads, seconds=seconds).recording.samples


def bed(samples: np.ndarray, **given: object) -> Signal:
    return Signal("bed", samples, **{"uv_per_unit": 0.0, **given})


def same(a: Found, b: Found, shift: int = 0) -> None:
    assert len(a.sample) > FEWEST
    np.testing.assert_array_equal(a.sample + shift, b.sample)
    np.testing.assert_array_equal(a.rr_s, b.rr_s)


TIMES_S = np.arange(0.7, 29, 0.83)
FEWEST = 30  # beats that a comparison needs; 40 s of `heart` have more than 40


@pytest.mark.parametrize("size", [400, -400], ids=["upright", "inverted"])
@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_r_is_marked_on_the_peak_and_rr_is_the_distance_of_the_marks(rate_hz: float, size: int) -> None:
    found = beats_of(bed(waves(TIMES_S, size, rate_hz=rate_hz), rate_hz=rate_hz))
    at = np.rint(TIMES_S * rate_hz)
    np.testing.assert_array_equal(found.sample, at)
    assert np.isnan(found.rr_s[0])
    np.testing.assert_allclose(found.rr_s[1:], np.diff(at) / rate_hz, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.response, 1, atol=0.05)
    assert found.quality.min() > 0.9
    assert (found.decided - found.sample <= 0.32 * rate_hz).all()


@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_beats_are_within_10_ms_of_the_truth_in_the_median(rate_hz: float) -> None:
    truth = synthesise((7, round(rate_hz)), rate_hz=rate_hz, leads=2, seconds=40)
    found = beats_of(bed(truth.recording.samples, rate_hz=rate_hz, uv_per_unit=2.0))
    beats = truth.detectable_beats()
    beats = beats[(beats > rate_hz) & (beats < 39 * rate_hz)]
    off = np.abs(found.sample[None] - beats[:, None]).min(axis=1) / rate_hz
    assert np.median(off) <= 0.010
    assert (off <= 0.15).mean() >= 0.99
    assert abs(len(found.sample) - len(truth.detectable_beats())) <= 2


def test_the_median_interval_is_that_of_the_last_eight_within_its_window() -> None:
    rng = np.random.default_rng(4)
    at_s = 0.5 + np.cumsum(np.concatenate([rng.uniform(0.5, 1.2, 40), [9.0, 9.0, 11.0, 12.0, 12.0, 13.0, 9.0]]))
    found = beats_of(bed(waves(at_s, 900, seconds=float(at_s[-1]) + 2)))
    assert len(found.sample) == len(at_s)
    at, window_s = found.sample / 250.0, Settings().beats().rate_window_s
    assert 30 <= window_s <= 60
    for k in range(1, len(at)):
        last = [at[j] - at[j - 1] for j in range(max(1, k - 7), k + 1) if at[j] >= at[k] - window_s]
        assert found.median_rr_s[k] == pytest.approx(np.median(last), abs=1e-9)
    assert np.isnan(found.median_rr_s[0])


def test_an_interval_longer_than_thirty_seconds_is_not_a_number() -> None:
    found = beats_of(bed(waves(np.array([1.0, 2.0, 32.0, 62.004]), 900, seconds=65.0)))
    assert found.sample.tolist() == [250, 500, 8000, 15501]
    np.testing.assert_array_equal(found.rr_s, [np.nan, 1.0, 30.0, np.nan])


def test_a_wave_below_the_floor_is_no_beat_of_a_calibrated_stream() -> None:
    small, large = waves(TIMES_S, 20), waves(TIMES_S, 35)
    assert len(beats_of(bed(small, uv_per_unit=2.0)).sample) == 0
    assert len(beats_of(bed(large, uv_per_unit=2.0)).sample) == len(TIMES_S)
    assert len(beats_of(bed(small)).sample) == len(TIMES_S)


@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_the_floor_is_the_same_number_of_microvolts_at_every_rate(rate_hz: float) -> None:
    for leads in (1, 3):
        for size_uv, seen in ((50, False), (70, True)):
            x = np.repeat(waves(TIMES_S, size_uv / 0.5, rate_hz=rate_hz), leads, axis=0)
            x[1:] = 0
            assert (len(beats_of(bed(x, rate_hz=rate_hz, uv_per_unit=0.5)).sample) > 0) is seen


@pytest.mark.parametrize("gain", [0.1, 0.5, 3.0, 10.0])
def test_the_amplitude_of_an_uncalibrated_signal_changes_nothing(gain: float) -> None:
    x = np.clip(4 * heart().astype(float), -3000, 3000)
    plain, scaled = beats_of(bed(np.rint(x).astype(np.int16))), beats_of(bed(np.rint(gain * x).astype(np.int16)))
    assert len(plain.sample) > 40
    same(plain, scaled)
    np.testing.assert_allclose(plain.response, scaled.response, atol=0.03)
    np.testing.assert_allclose(plain.quality, scaled.quality, atol=0.03)


@pytest.mark.parametrize("offset", [-20_000, 1, 25_000])
def test_an_offset_changes_nothing_at_all(offset: int) -> None:
    x = heart()
    plain, moved = beats_of(bed(x)), beats_of(bed((x + offset).astype(np.int16)))
    assert len(plain.sample) > FEWEST
    for a, b in zip(plain, moved, strict=True):
        np.testing.assert_array_equal(a, b)


def test_polarity_changes_nothing_at_all() -> None:
    upright, inverted = beats_of(bed(heart())), beats_of(bed(-heart()))
    assert len(upright.sample) > FEWEST
    for a, b in zip(upright, inverted, strict=True):
        np.testing.assert_array_equal(a, b)


def test_another_index_of_the_first_sample_shifts_the_beats() -> None:
    blocks = 77_777 * 500
    same(beats_of(bed(heart())), beats_of(bed(heart(), first=blocks)), shift=blocks)


def test_r_of_several_leads_is_that_of_the_first_lead() -> None:
    late = np.concatenate([waves(TIMES_S, 400), waves(TIMES_S + 0.012, 700)])
    found = beats_of(bed(late[:1])).sample.tolist()
    assert len(found) == len(TIMES_S)
    assert beats_of(bed(late)).sample.tolist() == found


@pytest.mark.parametrize("level", [0, 8], ids=["silent", "noise"])
def test_r_is_taken_from_the_second_lead_when_the_first_has_no_waves(level: int) -> None:
    spoken = waves(TIMES_S, 700)
    nothing = np.random.default_rng(1).integers(-level, level + 1, spoken.shape).astype(np.int16)
    found = beats_of(bed(np.concatenate([nothing, spoken])))
    assert set(np.rint(TIMES_S * 250).astype(int)) <= set(found.sample.tolist())


def test_r_is_marked_at_the_centre_of_a_wave_with_a_steep_onset() -> None:
    rise, fall = np.linspace(0, 1, 6), np.linspace(1, 0, 31)  # 10 and 60 ms at 500 Hz
    wave = np.rint(800 * np.concatenate([rise, fall[1:]]))
    at = np.rint(TIMES_S * 500).astype(int)
    x = np.zeros((1, 15_000), np.int16)
    for a in at:
        x[0, a - 5 : a - 5 + len(wave)] = wave
    found = beats_of(bed(x, rate_hz=500.0))
    assert len(found.sample) == len(at)
    assert ((found.sample - at) / 500 > 0.008).all()
    assert ((found.sample - at) / 500 < 0.025).all()  # the wave's centre


@pytest.mark.parametrize("leads", [1, 3])
def test_r_equals_that_of_a_search_over_every_response(leads: int) -> None:
    rng = np.random.default_rng(leads)
    s = Settings().beats()
    for rate_hz in RATES_HZ:
        taps = np.stack([filter_for(d, rate_hz, 1).taps for d in (s.narrow, s.wide)])
        marking = np.array([*(round(t * rate_hz) for t in (s.before_s, s.after_s, s.near_s)), 9, 7], np.int64)
        x = np.cumsum(rng.integers(-90, 91, (leads, 1024)), axis=1).astype(np.int16)
        x[0] //= int(rng.integers(1, 40))
        for c in [0, 3, *rng.integers(0, 800, 6).tolist()]:
            value = int(rng.integers(1, 1 << int(rng.integers(10, 26))))
            found = mark_r(x, np.array([1 << 30, 1 << 30, 5]), 0, c, value, marking, taps, np.zeros((3, 512), np.int32))
            assert found == mark_of(x, c, value, marking.tolist(), taps), (rate_hz, c)


def test_a_silent_lead_does_not_change_the_beats() -> None:
    one = heart()
    silent = np.concatenate([one, np.full_like(one, 5000)])
    same(beats_of(bed(one)), beats_of(bed(silent)))


def test_beats_with_one_lead_off_are_those_of_the_other_lead_alone() -> None:
    both = heart(leads=2)
    detector = Detector()
    signal = bed(both)
    found = [b for a in range(0, both.shape[1], 500) for b in detector.beats([signal.chunk(a, a + 500, lead_off=2)])[1]]
    alone = beats_of(bed(both[:1])).sample
    assert len(alone) > FEWEST
    np.testing.assert_array_equal(np.concatenate([b.sample for b in found]), alone)


def test_several_leads_with_weak_waves_in_noise_give_fewer_errors_than_one() -> None:
    rng = np.random.default_rng(8)
    clean = np.repeat(waves(TIMES_S, 100), 4, axis=0)
    noisy = (clean + rng.normal(0, 35, clean.shape)).astype(np.int16)
    at = np.rint(TIMES_S * 250)

    def wrong(found: Found) -> int:
        hits = (np.abs(found.sample[:, None] - at[None]) <= 10).any(axis=1).sum()
        return int(len(at) - hits + len(found.sample) - hits)

    assert wrong(beats_of(bed(noisy))) < wrong(beats_of(bed(noisy[:1])))


def without(signal: Signal, gaps: list[tuple[int, int]], per_tick: int = 1) -> tuple[Found, Detector]:
    """Return the beats of a signal with gaps, sent in chunks of 10 samples, and the detector."""
    detector = Detector()
    sent = [a for a in range(0, signal.samples.shape[1], 10) if not any(start <= a < stop for start, stop in gaps)]
    messages = [signal.chunk(a, a + 10) for a in sent]
    ticks = [messages[k : k + per_tick] for k in range(0, len(messages), per_tick)]
    parts = [b for tick in ticks for b in detector.beats(tick)[1]]
    return Found(*(np.concatenate([getattr(p, name) for p in parts]) for name in Found._fields)), detector


def test_no_beat_is_found_in_a_bridged_gap_and_no_interval_across_it() -> None:
    at = np.rint(TIMES_S * 250).astype(int)
    start, stop = int(at[10]) // 10 * 10 - 20, int(at[10]) // 10 * 10 + 30
    found, detector = without(bed(waves(TIMES_S, 900)), [(start, stop)])
    assert detector.counts == {"bridged": 1, "lost_samples": stop - start, "reordered": detector.counts["reordered"]}
    assert found.sample.tolist() == [*at[:10], *at[11:]]
    assert np.flatnonzero(np.isnan(found.rr_s)).tolist() == [0, 10]


def test_a_step_at_a_bridged_gap_is_not_a_beat() -> None:
    x = waves(TIMES_S[:10], 900)
    x[0, 5000:] += 3000
    gap = [(4980, 5030)]
    found, _ = without(bed(x), gap)
    assert len(found.sample) == 10
    x[0, 4960:4968] = np.linspace(0, 3000, 8)  # slower than the jump of an electrode
    x[0, 4968:] = 3000
    assert len(beats_of(bed(x)).sample) == 11


@pytest.mark.parametrize("per_tick", [1, 10_000], ids=["many ticks", "one tick"])
@pytest.mark.parametrize(
    ("start", "stop", "seen"), [(10, 40, False), (-40, -10, False), (20, 50, True), (-50, -20, True)]
)
def test_no_beat_is_emitted_within_sixty_milliseconds_of_a_gap(
    start: int, stop: int, seen: bool, per_tick: int
) -> None:
    at = np.arange(200, 7000, 200)
    found, _ = without(bed(waves(at / 250, 900)), [(2000 + start, 2000 + stop)], per_tick)
    assert found.sample.tolist() == [a for a in at if seen or a != 2000]
    across = 2200 if start > 0 or not seen else 2000
    assert found.sample[np.isnan(found.rr_s)].tolist() == [200, across]


@pytest.mark.parametrize("per_tick", [1, 60, 10_000])
def test_no_beat_is_emitted_in_any_of_many_gaps_of_a_pass_and_no_interval_spans_one(per_tick: int) -> None:
    at = np.rint(TIMES_S * 250).astype(int)
    gaps = [(int(a) // 10 * 10 - 10, int(a) // 10 * 10 + 20) for a in at[5:30:2]]
    found, _ = without(bed(waves(TIMES_S, 900)), gaps, per_tick)
    assert found.sample.tolist() == [*at[:5], *at[6:30:2], *at[30:]]
    assert np.isnan(found.rr_s).tolist() == [k == 0 or 5 <= k <= 17 for k in range(len(found.sample))]


def test_the_first_beat_after_a_long_gap_has_no_interval() -> None:
    at = np.rint(TIMES_S * 250).astype(int)
    found, detector = without(bed(waves(TIMES_S, 900)), [(2000, 2500)])
    assert detector.counts["restarts"] == 1
    assert found.sample.tolist() == [a for a in at if not 1980 <= a < 2500]
    assert np.isnan(found.rr_s).sum() == 2


def test_the_response_of_a_beat_after_a_long_silence_is_finite() -> None:
    x = waves(np.arange(30.5, 45, 0.9), 900, seconds=46.0)
    found = beats_of(bed(x))
    assert found.sample[0] == round(30.5 * 250)
    assert np.isfinite(found.response).all()
    assert found.quality.max() <= 1


def test_single_samples_give_the_same_beats_as_one_piece() -> None:
    signal = bed(heart(seconds=12.0), uv_per_unit=2.0)
    n = signal.samples.shape[1]
    one = beats_of(signal, [(0, n)])
    assert len(one.sample) >= 10  # of 12 s
    for cuts in ([(a, a + 1) for a in range(n)], cut(n, np.random.default_rng(0), 70)):
        for a, b in zip(one, beats_of(signal, cuts), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("pause", [10_001, (1 << 31) + 1000, (1 << 32) + 1000])
def test_intervals_before_a_pause_are_not_in_the_median_behind_it(pause: int) -> None:
    state, quiet = np.zeros(intervals.BEAT_STATE_COLUMNS, np.int64), np.zeros((0, 3), np.int64)
    state[intervals.LAST_R] = -1
    for r in (100, 300, 500, 500 + pause, 900 + pause):
        intervals.store_interval(state, quiet, 0, 0, r, 7500)
    assert intervals.median_interval(state, 900 + pause, 10_000, np.zeros(8, np.int32)) == 400
