"""Fast rhythms: every beat is counted up to 300 a minute; T waves are no beats; what is found depends on no cut."""

import beatwire
import numpy as np
import pytest
from beatwire.kernels.detection.fast_rhythm import APART, LINK_S
from draws import draws
from fast_hearts import heart, units
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from laws import Signal, cut
from steps import Found, beats_of

BEGIN_S, END_S, SECONDS = 12.0, 36.0, 42.0  # of the fast rhythm, and of the whole
ENTRY_S = 10.0  # by then it is counted
RATES_HZ = (128.0, 250.0, 360.0, 500.0, 1000.0)
drawn = settings(
    max_examples=draws(20), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def f1(true_s: np.ndarray, found_s: np.ndarray, begin_s: float, end_s: float) -> float:
    """Return F1 of the beats of a stretch within 75 ms."""
    hits, missed = of_others(true_s, found_s, begin_s, end_s)
    _, false = of_others(found_s, true_s, begin_s, end_s)
    return 2 * hits / (2 * hits + missed + false)


def of_others(one: np.ndarray, other: np.ndarray, begin_s: float, end_s: float) -> tuple[int, int]:
    """Return how many of one within the stretch have another near them, and how many have none."""
    near = [bool((np.abs(other - at) <= 0.075).any()) for at in one[(one > begin_s) & (one < end_s)]]
    return sum(near), len(near) - sum(near)


@drawn
@given(
    st.floats(150, 300), st.sampled_from(RATES_HZ), st.floats(0.008, 0.035), st.integers(1, 3), st.booleans(),
    st.integers(0, 99),
)  # fmt: skip
def test_every_beat_is_counted_up_to_300_a_minute(
    bpm: float, rate_hz: float, sigma_s: float, leads: int, calibrated: bool, seed: int
) -> None:
    rhythm = [(80, 80, BEGIN_S), (bpm, bpm, END_S - BEGIN_S), (80, 80, SECONDS - END_S)]
    sigma_s = max(sigma_s, 1.5 / rate_hz)  # narrower waves have another size and shape by where the samples are
    x, r_s = heart(rhythm, rate_hz, sigma_s, leads=leads, seed=seed)
    found = beats_of(Signal("bed", units(x), rate_hz, 5.0 if calibrated else 0.0))
    at_s = found.sample / rate_hz
    begin, end = BEGIN_S + ENTRY_S, END_S - 0.5
    assert f1(r_s, at_s, begin, end) >= (0.97 if rate_hz > 200 else 0.93)  # a beat, or three
    fast = (at_s > begin) & (at_s < end)
    assert np.median(60 / found.rr_s[fast]) == pytest.approx(bpm, rel=0.03)
    assert (np.diff(found.sample) > 0).all()
    assert (found.decided - found.sample <= 0.36 * rate_hz).all()
    assert f1(r_s, at_s, END_S + 1, SECONDS - 0.5) >= 0.85


@drawn
@given(
    st.floats(40, 180), st.sampled_from(RATES_HZ), st.floats(0.008, 0.02), st.floats(0.2, 0.8), st.integers(1, 2),
    st.integers(0, 99),
)  # fmt: skip
def test_high_t_waves_are_no_beats(
    bpm: float, rate_hz: float, sigma_s: float, t_wave: float, leads: int, seed: int
) -> None:
    x, r_s = heart([(bpm, bpm, 30)], rate_hz, sigma_s, leads=leads, t_wave=t_wave, seed=seed)
    at_s = beats_of(Signal("bed", units(x), rate_hz)).sample / rate_hz
    assert f1(r_s, at_s, 5, 29) >= 0.97


def same(one: Found, other: Found) -> None:
    for name in ("sample", "decided", "rr_s", "quality", "expected_errors"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@drawn
@given(st.floats(230, 320), st.sampled_from((128.0, 250.0)), st.integers(1, 2), st.integers(0, 9999))
def test_any_cut_gives_the_same_beats_of_a_fast_rhythm(bpm: float, rate_hz: float, leads: int, seed: int) -> None:
    x, _ = heart([(100, 100, 5), (bpm, bpm, 15), (90, 90, 4)], rate_hz, 0.015, leads=leads, seed=seed)
    signal = Signal("bed", units(x), rate_hz)
    rng = np.random.default_rng(seed)
    same(beats_of(signal), beats_of(signal, cut(x.shape[1], rng, int(rng.integers(4, 900)))))


@drawn
@given(st.integers(0, 9999), st.booleans())
@example(40, False)
@example(280, False)
@example(382, False)
@example(21, True)
@example(31, True)
def test_no_beat_is_published_twice_when_a_fast_rhythm_begins(seed: int, one: bool) -> None:
    rng = np.random.default_rng(seed)
    rate_hz, leads = float(rng.choice([125, 250, 500])), int(rng.integers(2, 4))
    fast = rng.uniform(180, 300)
    rhythm = [(80, 80, 15), (fast, fast, 15), (80, 80, 10)] if seed % 3 == 0 else [(90, 300, 30)]
    x, _ = heart(rhythm, rate_hz, rng.uniform(0.008, 0.03), leads=leads, t_wave=rng.uniform(0, 0.5), seed=seed)
    for k in range(leads):
        x[k] = np.roll(x[k], int(rng.integers(0, int(0.05 * rate_hz))))
    k, n = int(rng.integers(leads)), x.shape[1]
    first = int(rng.integers(n // 2))
    x[k, first:] += rng.uniform(0.02, 0.6) * rng.standard_normal(n - first)
    beats = beats_of(Signal("bed", units(x[k : k + 1] if one else x), rate_hz)).sample
    assert np.diff(beats).min() > LINK_S[APART] * rate_hz


@drawn
@given(st.floats(235, 300), st.integers(0, 9999))
def test_a_replay_that_begins_in_a_fast_rhythm_finds_the_same_beats(bpm: float, seed: int) -> None:
    x, _ = heart([(bpm, bpm, 70)], 250.0, 0.012, seed=seed)
    whole = beats_of(Signal("bed", units(x)))
    later = beats_of(Signal("bed", units(x)[:, 5000:]))
    settled = 5000 + 40 * 250
    np.testing.assert_array_equal(
        whole.sample[whole.sample > settled], later.sample[later.sample + 5000 > settled] + 5000
    )


@pytest.mark.parametrize("bpm", [240, 270, 300])
def test_extreme_tachycardia_is_announced_and_stays(bpm: int) -> None:
    x, _ = heart([(130, 130, 20), (bpm, bpm, 40)], 250.0, 0.009)
    result = beatwire.analyze(x[0], 250, units="mV")
    alerts = result.alerts[result.alerts.rule == "extreme tachycardia"]
    assert alerts.state.tolist() == ["on"]
    assert alerts.decided_s.iloc[0] < 20 + ENTRY_S
    late = result.beats[result.beats.time_s > 20 + ENTRY_S]
    assert late.rate_bpm.median() == pytest.approx(bpm, rel=0.03)


@pytest.mark.parametrize("bpm", [200, 240, 300])
def test_a_rate_that_rises_and_falls_is_counted(bpm: int) -> None:
    x, r_s = heart([(100, bpm, 30), (bpm, 100, 30)], 250.0, 0.012)
    at_s = beats_of(Signal("bed", units(x))).sample / 250.0
    assert f1(r_s, at_s, 3, 59) >= 0.98


@pytest.mark.parametrize("gain", [None, 50, 1000])
@pytest.mark.parametrize(("bpm", "sigma_s", "t_wave"), [(370, 0.02, 0.0), (370, 0.03, 0.3), (350, 0.025, 0.3)])
def test_a_rhythm_too_fast_to_be_counted_is_no_asystole(
    bpm: int, sigma_s: float, t_wave: float, gain: int | None
) -> None:
    x, _ = heart([(80, 80, 12), (bpm, bpm, 25)], 250.0, sigma_s, t_wave=t_wave)
    values, units_of = (x[0], "mV") if gain is None else (np.rint(gain * x[0]).astype(np.int16), None)
    result = beatwire.analyze(values, 250, units=units_of)
    assert (result.recording.uv_per_unit > 0) == (gain is None)
    on = result.alerts.rule
    assert "asystole" not in set(on)
    said = {"extreme tachycardia", "ventricular fibrillation", "cannot analyse"}
    assert set(on) & (said if gain is None else said | {"noise"})


@drawn
@given(
    st.floats(340, 450), st.sampled_from((100.0, 125.0, *RATES_HZ[:4])), st.floats(0.006, 0.03), st.floats(0, 0.5),
    st.sampled_from((0.3, 1.0, 3.0)), st.integers(1, 2), st.booleans(), st.sampled_from((80, 150)), st.integers(0, 99),
)  # fmt: skip
@example(358, 200.0, 0.029, 0.3, 0.3, 2, True, 80, 65)
@example(387, 100.0, 0.024, 0.15, 1.0, 1, True, 80, 18)
@example(346, 200.0, 0.016, 0.5, 0.3, 1, False, 80, 48)
def test_a_rhythm_that_is_not_counted_is_announced_and_never_called_slow(
    bpm: float, rate_hz: float, sigma_s: float, t_wave: float, mv: float, leads: int, calibrated: bool, before: int,
    seed: int,
) -> None:  # fmt: skip
    x, _ = heart([(before, before, 12), (bpm, bpm, 25)], rate_hz, sigma_s, leads=leads, t_wave=t_wave, seed=seed)
    given = {"units": "mV"} if calibrated else {}
    result = beatwire.analyze(mv * x if calibrated else np.rint(200 * mv * x).astype(np.int16), rate_hz, **given)
    on, late = set(result.alerts.rule), result.beats[result.beats.time_s > 12 + ENTRY_S]
    assert not on & {"pause", "bradycardia", "extreme bradycardia", "asystole"}
    counted = len(late) > 0 and abs(late.rate_bpm.median() - bpm) < 0.03 * bpm
    assert counted or on & {"extreme tachycardia", "ventricular fibrillation", "cannot analyse", "noise"}


@pytest.mark.parametrize("before", [90, 200, 230])
def test_a_pause_after_a_fast_rhythm_is_announced(before: int) -> None:
    x, _ = heart([(before, before, 20)], 250.0, 0.012)
    y, _ = heart([(70, 70, 20)], 250.0, 0.012, seed=2)
    silence = 0.01 * np.random.default_rng(3).standard_normal(round(3.0 * 250))
    alerts = beatwire.analyze(np.concatenate([x[0], silence, y[0]]), 250, units="mV").alerts
    assert "pause" in set(alerts.rule)


@pytest.mark.parametrize("bpm", [400, 430, 480])
def test_what_cannot_be_counted_is_announced(bpm: int) -> None:
    x, _ = heart([(80, 80, 12), (bpm, bpm, 25)], 250.0, 0.008)
    alerts = beatwire.analyze(x[0], 250, units="mV").alerts
    said = alerts[
        alerts.rule.isin({"noise", "cannot analyse", "ventricular fibrillation", "asystole"}) & (alerts.state == "on")
    ]
    assert said.decided_s.min() < 12 + 12


@drawn
@given(st.floats(200, 300), st.floats(3.1, 3.9), st.sampled_from((128.0, 250.0, 500.0)), st.integers(0, 99))
def test_a_pause_behind_a_fast_rhythm_is_announced(bpm: float, pause_s: float, rate_hz: float, seed: int) -> None:
    fast, r_s = heart([(100, 100, 12), (bpm, bpm, 15)], rate_hz, 0.012, seed=seed)
    slow, later_s = heart([(90, 90, 12)], rate_hz, 0.012, seed=seed + 1)
    last = round((r_s[r_s < 26.8][-1] + 0.1) * rate_hz)
    silent = round((pause_s - 0.1 - later_s[0]) * rate_hz)
    between = fast[:, last - 1 : last] + 0.01 * np.random.default_rng(seed).standard_normal((1, silent))
    result = beatwire.analyze(np.concatenate([fast[:, :last], between, slow], axis=1)[0], rate_hz, units="mV")
    alerts = result.alerts[result.alerts.state == "on"]
    assert "pause" in alerts.rule.tolist()
    assert not {"asystole", "cannot analyse", "bradycardia"} & set(alerts.rule)
