"""Numbers without a unit: judged once they change, and anew if they outgrow it, whatever the cutting."""

import itertools
from typing import Any

import beatwire
import numpy as np
import pytest
from beatwire.recordings.judged_scale import JudgedScale
from draws import draws
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sources import UV_PER

FS = 250
FOUND = beatwire.analyze("synthetic:seconds=40,rate=250,bpm=75")
MV, BEATS = FOUND.signal()[0], FOUND.beats["sample"].to_numpy()
N = len(MV)
BEGINNINGS = ("nothing", "zeros", "no value", "constant", "noise")
PER_MV = {"V": 1e-3, "mV": 1.0, "uV": 1e3, "nV": 1e6}


def numbers(begin: str, begin_s: float, per_mv: float, grows_s: float, by: float) -> NDArray[np.float64]:
    """Return a heart behind a beginning; from a second on its numbers are larger."""
    values, first = MV * per_mv, slice(0, round(begin_s * FS))
    made = {
        "zeros": 0.0,
        "no value": np.nan,
        "constant": 3.0 * per_mv,
        "noise": 0.0005 * per_mv * np.random.default_rng(2).standard_normal(first.stop),
    }
    if begin in made:
        values[first] = made[begin]
    values[round(grows_s * FS) :] *= by
    return values


def passed_on(values: Any, cuts: list[int]) -> tuple[list[tuple[int, float, bytes]], list[str]]:
    """Return begin, unit and samples of each signal that a scale passes on, and its notes."""
    notes: list[str] = []
    scale = JudgedScale(FS, ["II"], None, False, 1.0, notes.append)
    held = scale.held_samples
    scale.begin(values[None, :held])
    parts = []
    for a, b in itertools.pairwise([0, held, *(c for c in cuts if c > held), len(values)]):
        parts += scale.parts(values[None, a:b], a)
    found = []
    for _, same in itertools.groupby(parts, lambda part: part.renewed):
        own = list(same)
        found.append((own[0].first, own[0].uv_per_unit, b"".join(part.samples.tobytes() for part in own)))
        assert len({part.uv_per_unit for part in own}) == 1, "a session has one scale"
    return found, notes


@settings(max_examples=draws(60), deadline=None)
@given(
    st.sampled_from(BEGINNINGS), st.floats(0.0, 20.0), st.sampled_from(sorted(PER_MV)), st.floats(5.0, 40.0),
    st.sampled_from([1.0, 0.1, 50.0, 3000.0]), st.lists(st.integers(0, N), max_size=30).map(sorted),
)  # fmt: skip
@example("zeros", 7.0, "uV", 15.0, 3000.0, list(range(0, N, 7)))
def test_any_cutting_passes_the_same_samples_on(
    begin: str, begin_s: float, unit: str, grows_s: float, by: float, cuts: list[int]
) -> None:
    values = numbers(begin, begin_s, PER_MV[unit], grows_s, by)
    whole, notes = passed_on(values, [])
    assert passed_on(values, cuts) == (whole, notes)
    assert len(whole) == 1 + sum("a new session" in note for note in notes)
    assert sum(len(samples) for _, _, samples in whole) == 2 * N


@settings(max_examples=draws(20), deadline=None)
@given(
    st.sampled_from(BEGINNINGS), st.floats(0.0, 2.8), st.sampled_from(sorted(PER_MV)), st.floats(0.04, 3.0),
    st.booleans(),
)  # fmt: skip
@example("zeros", 2.8, "V", 0.2, False)
@example("no value", 3.0, "uV", 0.2, False)
@example("noise", 3.0, "uV", 0.2, False)
def test_live_finds_a_heart_behind_any_beginning(
    begin: str, begin_s: float, unit: str, chunk_s: float, grows: bool
) -> None:
    values = numbers(begin, begin_s, PER_MV[unit], 15.0 if grows else 99.0, 5000.0)
    beats, rules, step = [], set(), max(1, round(chunk_s * FS))
    with beatwire.Live(FS, notes=lambda _: None) as monitor:
        for a in range(0, N, step):
            events = monitor.push(values[a : a + step])
            beats += [b.sample for b in events.beats]
            rules |= {a["rule"] for a in events.alerts if a["state"] == "on"}
        beats += [b.sample for b in monitor.close().beats]
    settled_s = 30.0 if grows else 22.0 if begin == "noise" else 8.0
    due = [b for b in BEATS if b > settled_s * FS]
    assert not [b / FS for b in due if min(abs(b - a) for a in beats) > 0.06 * FS]
    assert "asystole" not in rules


@settings(max_examples=draws(20), deadline=None)
@given(
    st.sampled_from([-32768.0, -999.0, 9999.0, -99999.0, 65535e3]), st.sampled_from(sorted(PER_MV)),
    st.sampled_from(["nothing", "zeros"]), st.integers(0, 249), st.lists(st.integers(0, N), max_size=20).map(sorted),
)  # fmt: skip
@example(-32768.0, "mV", "nothing", 30, [])
@example(-999.0, "mV", "zeros", 30, [700, 701])
@example(-999.0, "V", "zeros", 0, [])
def test_codes_for_no_value_do_not_decide_the_scale(
    code: float, unit: str, begin: str, at: int, cuts: list[int]
) -> None:
    is_marker = code == 65535e3
    if abs(code) < (5000 if is_marker else 60) * PER_MV[unit] or (is_marker and begin == "zeros"):
        return  # a value; a marker among numbers that do not change is none that is known
    values = numbers(begin, 4.0, PER_MV[unit], 99.0, 1.0)
    values[at::50] = code
    whole, notes = passed_on(values, [])
    assert passed_on(values, cuts) == (whole, notes)
    assert len(whole) <= 1 + (begin == "zeros")
    assert f'{code:g} is taken for "no value"' in notes
    samples = np.frombuffer(whole[-1][2], np.int16)[-30 * FS :].astype(float)
    samples[samples == -32768] = np.nan
    assert (np.isnan(samples) == (values[-30 * FS :] == code)).all()
    shape = values[-30 * FS :][~np.isnan(samples)]
    assert np.corrcoef(samples[~np.isnan(samples)], shape)[0, 1] > 0.999


@pytest.mark.parametrize("size", [20.0, 30.0, 60.0, 80.0, 99.0, 120.0])
def test_numbers_that_are_large_for_millivolts_fit_from_the_first_sample_on(size: float) -> None:
    values = MV * size / np.ptp(MV)
    found, notes = passed_on(values, [])
    assert len(found) == len([note for note in notes if "a heart" not in note]) == 1
    _, uv, content = found[0]
    assert np.abs(np.frombuffer(content, np.int16) * uv / 1000 - values).max() <= 0.5 * uv / 1000 + 1e-9


def test_numbers_that_never_change_are_passed_on() -> None:
    found, notes = passed_on(np.full(20 * FS, 7.5), [])
    assert [(first, uv, len(samples)) for first, uv, samples in found] == [(0, 0.0, 2 * 20 * FS)]
    assert notes == []


@pytest.mark.parametrize("uv", [1000.0, 2.5])
def test_a_unit_that_is_stated_is_never_judged(uv: float) -> None:
    notes: list[str] = []
    scale = JudgedScale(FS, ["II"], uv, False, 1.0, notes.append)
    parts = scale.parts(numbers("zeros", 5.0, 1000.0 / uv, 12.0, 30.0)[None], 0)
    assert [(part.first, part.renewed) for part in parts] == [(0, 0)]
    assert not any("session" in note for note in notes)


@settings(max_examples=draws(40), deadline=None)
@given(
    stated=st.sampled_from([("mV", 1.0), ("V", 1e-3), ("uV", 1e3), ("V", 1.0), ("mV", 1e3), ("uV", 1.0), ("mV", 0.05)]),
    flat_s=st.sampled_from([0, 8, 25]), cuts=st.lists(st.integers(1, 60 * FS), max_size=20).map(sorted),
)  # fmt: skip
def test_a_size_that_no_heart_has_is_said_once_of_the_first_seconds_that_move(
    stated: tuple[str, float], flat_s: int, cuts: list[int]
) -> None:
    unit, per_mv = stated
    values = np.zeros(60 * FS)
    values[flat_s * FS : (flat_s + 35) * FS] = MV[: 35 * FS] * per_mv
    notes: list[str] = []
    scale = JudgedScale(FS, ["II"], UV_PER[unit], False, 1.0, notes.append)
    for a, b in itertools.pairwise([0, *cuts, len(values)]):
        scale.parts(values[None, a:b], a)
    times = UV_PER[unit] / 1000 * per_mv
    said = "more than a heart: is its gain wrong" if times > 100 else "less than a heart: is its unit wrong?"
    assert [note.startswith(said) for note in notes if "a heart" in note] == [True] * (not 0.01 < times < 100)
