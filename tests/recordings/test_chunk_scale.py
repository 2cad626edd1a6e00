"""The scale of chunks: units as analyze judges them, offsets of electrodes, and any cutting gives the same samples."""

from typing import Any

import beatwire
import numpy as np
import pytest
from beatwire.recordings import NO_VALUE
from beatwire.recordings.chunk_scale import ChunkScale
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

FS = 250
MV = beatwire.analyze("synthetic:seconds=24,rate=250,bpm=80").signal()[0]
N = len(MV)


def live(values: Any, cuts: list[int], **options: Any) -> tuple[list[int], list[str], list[str]]:
    """Return the beats, the alerts and the notes of a stream."""
    notes: list[str] = []
    beats, alerts, first = [], [], 0
    with beatwire.Live(FS, notes=notes.append, **options) as monitor:
        for last in [*cuts, values.shape[-1]]:
            events = monitor.push(values[..., first:last])
            first = last
            beats += [b.sample for b in events.beats]
            alerts += [f"{a['rule']} {a['state']}" for a in events.alerts]
        events = monitor.close()
    return [*beats, *(b.sample for b in events.beats)], alerts, notes


RIGHT = live(MV, [], units="mV")[0]
CUTS = st.lists(st.integers(0, N), max_size=6).map(sorted)
SCALES = {"V": 1e-3, "mV": 1.0, "uV": 1e3, "nV": 1e6}


@settings(max_examples=draws(40), deadline=None)
@given(st.data())
def test_live_finds_the_beats_in_any_unit_given_or_not(data: st.DataObject) -> None:
    unit = data.draw(st.sampled_from(list(SCALES)))
    is_given = data.draw(st.booleans())
    values = MV * SCALES[unit]
    missing = data.draw(st.booleans())
    gone = np.arange(N) == 3000
    source = np.ma.masked_array(np.where(gone, 1e9, values), gone) if missing else values
    beats, alerts, notes = live(source, data.draw(CUTS), units=unit if is_given else None)
    assert [abs(a - b) <= 2 for a, b in zip(beats, RIGHT, strict=True)].count(False) == 0
    assert not alerts
    assert any("taken as millivolts" in n for n in notes) is (not is_given and unit == "mV")
    assert any("not calibrated" in n for n in notes) is (not is_given and unit != "mV")


@settings(max_examples=draws(60), deadline=None)
@given(st.data())
def test_any_cutting_gives_the_same_samples(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    values = MV + 0.0
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, N))
        kind = data.draw(st.sampled_from(["jump", "drift", "noise", "gone", "pulse"]))
        size = data.draw(st.floats(-300, 300))
        if kind == "jump":
            values[at:] += size
        elif kind == "drift":
            values[at:] += np.linspace(0, size, N - at)
        elif kind == "noise":
            values[at : at + 500] += rng.normal(0, abs(size) + 0.1, len(values[at : at + 500]))
        elif kind == "pulse":
            values[at : at + 500] += size
        else:
            values[at : at + 500] = np.nan

    def scaled(cuts: list[int]) -> np.ndarray:
        scale, first, parts = ChunkScale(FS, ["II"], 1000.0, False, 1.0, lambda _: None), 0, []
        for last in [*cuts, N]:
            parts.append(scale.samples(values[None, first:last], first))
            first = last
        return np.concatenate(parts, axis=1)

    whole = scaled([])
    assert ((whole == NO_VALUE) == ~np.isfinite(values)).all()
    assert (scaled(data.draw(CUTS)) == whole).all()
    begin = data.draw(st.integers(1, N - 500))
    assert (scaled(list(range(begin, begin + 500))) == whole).all()


@settings(max_examples=draws(25), deadline=None)
@given(st.floats(-300, 300), st.sampled_from(["constant", "drift", "jump"]), CUTS)
def test_an_offset_of_an_electrode_and_its_drift_cost_no_beat(size: float, kind: str, cuts: list[int]) -> None:
    seconds = np.arange(N) / FS
    shapes = {"constant": 1 + 0 * seconds, "drift": 1 + 0.02 * seconds, "jump": 1.0 * (seconds > 12.1)}
    offset = size * shapes[kind]
    beats, alerts, notes = live(MV + offset, cuts, units="mV")
    near = [s for s in RIGHT if kind != "jump" or abs(s / FS - 12.1) > 1]
    assert not [s for s in near if min(abs(b - s) for b in beats) > 2]
    assert len(beats) - len(RIGHT) in (-1, 0, 1)
    assert not [a for a in alerts if a.startswith("asystole")]
    assert any("an offset of" in n for n in notes) or np.abs(MV + offset).max() < 34


@settings(max_examples=draws(20), deadline=None)
@given(
    st.sampled_from([
        ("mV", -32768.0), ("uV", -32768.0), ("mV", -999.0), ("mV", 9999.0), ("V", -99.0), (None, -32768),
        ("mV", 1.7e308), (None, -1e200),
    ]),
    st.lists(st.integers(0, N - 1), min_size=1, max_size=20), CUTS,
)  # fmt: skip
def test_a_code_for_no_value_is_none_and_moves_no_offset(
    kind: tuple[str | None, float], gone: list[int], cuts: list[int]
) -> None:
    unit, code = kind
    uv = {"V": 1e6, "mV": 1e3, "uV": 1.0, None: 0.0}[unit]
    notes: list[str] = []
    scales = [ChunkScale(FS, ["II"], uv, False, 1.0, said.append) for said in ([], notes)]
    values = np.round(MV * 1e3) / (uv or 1.0)
    if unit is None:
        for scale in scales:
            scale.decide(values[None])
    right = scales[0].samples(values[None], 0)[0].copy()
    right[gone] = NO_VALUE
    values[gone] = code
    parts = [scales[1].samples(values[None, a:b], a)[0] for a, b in zip([0, *cuts], [*cuts, N], strict=True)]
    assert np.array_equal(np.concatenate(parts), right)
    assert notes[-1] == f'{code:g} is taken for "no value"'


def test_values_that_fit_are_not_changed() -> None:
    scale = ChunkScale(FS, ["II"], 1000.0, False, 1.0, lambda _: None)
    assert (scale.samples(MV[None], 0) == np.floor(MV * 1000 + 0.5)).all()


def test_noise_that_jumps_without_end_is_clipped_and_not_hidden() -> None:
    noise = np.where(np.arange(N) % 2, 250.0, -250.0)
    scale = ChunkScale(FS, ["II"], 1000.0, False, 1.0, lambda _: None)
    assert (np.abs(scale.samples(noise[None], 0)) == 32767).mean() > 0.4


def test_numbers_of_a_converter_of_24_bits_are_analysed() -> None:
    counts = np.round(MV * 40_000).astype(np.int32) + 3_000_000
    for options in ({}, {"units": "adc"}, {"gain": 40_000}):
        beats, alerts, notes = live(counts, list(range(0, N, 50)), **options)
        assert [abs(a - b) <= 2 for a, b in zip(beats, RIGHT, strict=True)].count(False) == 0, options
        assert not alerts
        assert notes


def test_chunks_may_be_lists_tables_and_arrays_of_any_type() -> None:
    import pandas as pd

    def table(values: np.ndarray) -> pd.DataFrame:
        return pd.DataFrame({"t": values * 0, "II": values})

    for make in (list, np.float32, pd.Series, table, lambda values: values[None].tolist()):
        monitor = beatwire.Live(FS, ["II"], units="mV", notes=lambda _: None)
        beats = [b for k in range(0, N, 100) for b in monitor.push(make(MV[k : k + 100])).beats]
        assert [b.sample for b in [*beats, *monitor.close().beats]] == RIGHT


def test_a_gap_and_a_silence_while_the_scale_is_not_decided_keep_their_places() -> None:
    monitor = beatwire.Live(FS, notes=lambda _: None)
    assert monitor.position == 0
    monitor.push(MV[:200])
    assert monitor.position == 200
    with pytest.raises(beatwire.UserError, match="expected a first sample of 200 or greater; got 100"):
        monitor.push(MV[:10], first=100)
    monitor.push(MV[300:400], first=300)
    assert monitor.position == 400
    assert [a["rule"] for a in monitor.wait(2.5).alerts] == ["no data"]
    beats = monitor.push(MV[400:]).beats
    assert [b.sample for b in beats if b.sample > 1500] == [s for s in RIGHT if 1500 < s <= beats[-1].sample]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no rate": ({"fs": 0}, "fs: expected a rate of 50-4000 Hz; got 0"),
    "rate nan": ({"fs": float("nan")}, "fs: expected a rate of 50-4000 Hz; got nan"),
    "rate text": ({"fs": "250"}, "fs: expected a rate of 50-4000 Hz; got '250'"),
    "rate none": ({"fs": None}, "fs: expected a rate of 50-4000 Hz; got None"),
    "rates": ({"fs": np.array([250.0])}, r"fs: expected a rate of 50-4000 Hz; got an array of shape \[1\]"),
    "true": ({"fs": True}, "fs: expected a rate"),
    "complex": ({"fs": 250j}, "fs: expected a rate"),
    "leads text": ({"leads": "II"}, "leads: expected a list of 1-12 names; got 'II'"),
    "no leads": ({"leads": []}, "leads: expected a list of 1-12 names"),
    "leads number": ({"leads": 3}, "leads: expected a list of 1-12 names; got 3"),
    "leads of lists": ({"leads": [["I"]]}, "leads: expected a list of 1-12 names"),
    "13 leads": ({"leads": list("ABCDEFGHIJKLM")}, "leads: expected a list of 1-12 names"),
    "unit": ({"units": "kg"}, "units: expected V, mV, uV, nV or adc; got 'kg'"),
    "unit number": ({"units": 3}, "units: expected V, mV, uV, nV or adc; got 3"),
    "gain": ({"gain": 0}, "gain: expected a positive number"),
    "gain text": ({"gain": "200"}, "gain: expected a positive number"),
    "gain nan": ({"gain": np.nan}, "gain: expected a positive number"),
    "both": ({"gain": 200, "units": "mV"}, "gain: expected units 'adc'"),
    "resolution": ({"resolution_uv": 0, "units": "mV"}, "resolution_uv: expected a positive number"),
    "stream": ({"stream": ""}, "stream: expected a stream id of 1-64 bytes"),
    "stream number": ({"stream": 5}, "stream: expected a stream id; got 5"),
    "start": ({"start_s": float("inf")}, "start_s: expected seconds since 1970; got inf"),
    "backend": ({"backend": 3}, "backend: expected cpu, gpu or auto; got 3"),
    "model": ({"model": 3}, "model: expected the path of a file; got 3"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_argument_is_one_line(what: str) -> None:
    options, message = WRONG[what]
    with pytest.raises(beatwire.UserError, match=message):
        beatwire.Live(**{"fs": FS} | options)


@pytest.mark.parametrize("seconds", [float("nan"), -1, "2", None, np.zeros(2), float("inf"), True])
def test_a_wrong_wait_is_one_line(seconds: Any) -> None:
    with pytest.raises(beatwire.UserError, match="wait: expected a number of seconds of at least 0; got"):
        beatwire.Live(FS, units="mV").wait(seconds)


@pytest.mark.parametrize("first", [-1, 1.5, "3", float("nan"), 2**60, 2**53, 10**13, 1_760_000_000_000_000])
def test_a_wrong_first_sample_is_one_line(first: Any) -> None:
    monitor = beatwire.Live(FS, units="mV")
    with pytest.raises(beatwire.UserError, match=r"push: .*expected"):
        monitor.push(MV[:10], first)
    assert monitor.position == 0


CHUNKS = ["abc", None, 5, {1.0}, MV * 1j, MV > 0, [[1, 2], [3]], np.zeros((2, 5)), np.zeros((1, 1, 5))]


@pytest.mark.parametrize("chunk", CHUNKS)
def test_a_wrong_chunk_is_one_line_and_changes_nothing(chunk: Any) -> None:
    monitor = beatwire.Live(FS, units="mV")
    with pytest.raises(beatwire.UserError, match="push: expected") as error:
        monitor.push(chunk)
    assert "\n" not in str(error.value)
    assert monitor.position == 0


@settings(max_examples=draws(12), deadline=None)
@given(
    bits=st.sampled_from([16, 24]), size=st.sampled_from([200, 500, 2000]),
    lost=st.sampled_from(["sign", "code", "no"]), cuts=CUTS,
    options=st.sampled_from([{}, {"units": "adc"}, {"gain": 400}, {"gain": 2000}]),
)  # fmt: skip
def test_numbers_that_have_lost_their_sign_are_said_to_have(
    bits: int, size: int, lost: str, cuts: list[int], options: dict[str, Any]
) -> None:
    values = np.round(MV * size).astype(np.int64)
    if lost == "sign":
        values &= (1 << bits) - 1
    elif lost == "code":
        values[::97] = (1 << bits) - 1
    said = [note for note in live(values, cuts, **options)[2] if "without their sign" in note]
    assert len(set(said)) == (lost == "sign")
    assert all(f"{2**bits - 6:,} for -6" in note for note in said)


def test_a_code_for_no_value_is_none_in_numbers_that_shrink_on_the_scale() -> None:
    notes: list[str] = []
    scale = ChunkScale(FS, ["II"], 0.5, False, 1.0, notes.append)
    assert scale.samples(np.array([[100.0, NO_VALUE, -100.0]]), 0).tolist() == [[50, NO_VALUE, -50]]
    assert notes == ['-32768 is taken for "no value"']
