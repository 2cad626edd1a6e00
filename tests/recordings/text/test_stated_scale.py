"""The size of one count that the head of a text file states."""

import time
from pathlib import Path

import numpy as np
import pytest
from beatwire.recordings.read import as_recording, read_recording
from beatwire.recordings.record import Recording
from beatwire.recordings.text.stated_scale import StatedScale
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import UV_PER, heart

COUNTS = ("adu", "LSB", "counts", "units", "bit", "ADC units", "digit", "code")
VOLTS = {"nV": 1e-3, "uV": 1.0, "\u00b5V": 1.0, "mV": 1e3, "V": 1e6, "microvolts": 1.0, "millivolt": 1e3}
VOLTS_A_COUNT = (  # with a number of volts, their unit and a word for a count
    "{n} {v}/{c}", "Resolution: {n} {v} per {c}", "1 {c} = {n} {v}", "{c}: {n} {v}", "{v}_per_{c}: {n}", "{v}/{c};{n}",
    "Resolution: {n} {v}", "scale = {n} {v}", "Conversion factor ({v});{n}", "lsb_{v}={n}", '"Scale","{n} {v}/{c}"',
)  # fmt: skip
COUNTS_A_VOLT = (
    "gain: {n} {c}/{v}", "1 {v} = {n} {c}", "{c} per {v}: {n}", "Gain ({c}/{v});{n}", "gain,{n},{c}/{v}",
    "ADC gain = {n} /{v}", "Gain [1/{v}]: {n}",
)  # fmt: skip
UV = np.round(heart(250.0) * 1000)
SIGNS = ("", "# ", "% ", "// ")


@settings(max_examples=draws(80), deadline=None)
@given(
    uv=st.integers(1, 2000).map(lambda k: k / 16), word=st.sampled_from(COUNTS), volts=st.sampled_from(sorted(VOLTS)),
    form=st.sampled_from((*VOLTS_A_COUNT, *COUNTS_A_VOLT)), sign=st.sampled_from(SIGNS), has_names=st.booleans(),
)  # fmt: skip
def test_a_stated_size_of_a_count_is_used(
    tmp_path_factory: pytest.TempPathFactory, uv: float, word: str, volts: str, form: str, sign: str, has_names: bool
) -> None:
    number = uv / VOLTS[volts] if form in VOLTS_A_COUNT else VOLTS[volts] / uv
    line = sign + form.format(n=f"{number:.12g}", v=volts, c=word)
    recording = _read(tmp_path_factory.mktemp("scale"), ["# Device: X", line, "# Range: 5 mV"], has_names)
    assert recording.uv_per_unit * np.ptp(recording.samples) == pytest.approx(400 * uv, rel=0.01)
    assert any(note.endswith("uV a count, from the head of the file") for note in recording.notes)


@pytest.mark.parametrize("line", ["gain:" + "\t1" * 20, "# " + "resolution step " * 40, "77, " * 190, "scale " * 9999])
def test_a_long_line_takes_no_time(line: str) -> None:
    began_s = time.process_time()
    assert StatedScale.of([line]).stated == ()
    assert time.process_time() - began_s < 0.5


@pytest.mark.parametrize("between", [", ", "\t", ";", "; ", " ", ",\t", " | ", "\t "])
def test_the_numbers_of_a_list_stand_apart_in_any_way(between: str) -> None:
    found = StatedScale.of([f"gain: {between.join(['200', '100', '50'])} adu/mV"])
    assert found.uv_per_count(["I", "II", "III"]) == [5.0, 10.0, 20.0]


@pytest.mark.parametrize(
    ("line", "uv"),
    [("gain = 1,000 adu/mV", None), ("1 mV = 12,000 units", None), ("counts/mV: 200,100", None),
     ("Gain [1/mV]: 1,024", None), ("1 LSB = 4,883 uV", 4.883), ("uV/LSB: 4,883", 4.883), ("gain: 0,125 adu/uV", 8.0),
     ("gain: 200,5 adu/mV", 1000 / 200.5), ("Resolution: 2,441 uV", 2.441)],
)  # fmt: skip
def test_counts_whose_comma_may_separate_thousands_are_said_and_not_used(
    tmp_path: Path, line: str, uv: float | None
) -> None:
    assert StatedScale.of([line]).uv_per_count(["II"]) == (None if uv is None else [pytest.approx(uv)])
    notes = _read(tmp_path, [line]).notes
    assert any(f"states {line!r}, whose comma may separate thousands" in note for note in notes) is (uv is None)


@pytest.mark.parametrize("line", ["gain = 200", "Gain;24", "Resolution: 16", "# Sensitivity: 2"])
def test_a_gain_without_a_unit_is_said_and_not_used(tmp_path: Path, line: str) -> None:
    recording = _read(tmp_path, [line])
    assert recording.uv_per_unit == 0
    assert any(f"states {line.removeprefix('# ')!r} without a unit" in note for note in recording.notes)


@pytest.mark.parametrize(
    "line", ["Gain: 10 mm/mV", "ADC resolution: 12 bit", "Full scale: 5 mV", "Range: 10 mV", "Time resolution: 1 ms",
             "Calibration pulse: 1 mV", "Speed: 25 mm/s", "Baseline: 1024 adu", "Supply: 3.3 V"],
)  # fmt: skip
def test_paper_ranges_and_converters_state_no_size_of_a_count(tmp_path: Path, line: str) -> None:
    recording = _read(tmp_path, [line])
    assert recording.uv_per_unit == 0
    assert not any("the head states" in note for note in recording.notes)


def test_each_lead_has_its_own_size_and_sizes_that_differ_otherwise_are_said(tmp_path: Path) -> None:
    listed, named = StatedScale.of(["gain: 200, 100 adu/mV"]), StatedScale.of(["II: 2 uV/LSB", "V5: 4 uV/LSB"])
    assert (listed.uv_per_count(["I", "II"]), named.uv_per_count(["V5", "II"])) == ([5, 10], [4, 2])
    assert named.uv_per_count(["V5", "I"]) is None
    recording = _read(tmp_path, ["gain: 200 adu/mV", "gain: 100 adu/mV"])
    assert recording.uv_per_unit == 0
    assert any("the head states sizes of a count that differ" in note for note in recording.notes)


@settings(max_examples=draws(40), deadline=None)
@given(
    per_mv=st.permutations([100, 200, 400]),
    form=st.sampled_from(["gain {l}: {n}/mV", "{l}: {n} adu/mV", "{l} = {n} counts per mV"]),
    comma=st.sampled_from([", ", "; ", "\n", "\n# "]), sign=st.sampled_from(SIGNS),
)  # fmt: skip
def test_the_size_of_each_lead_may_stand_in_one_line_with_the_others(
    per_mv: list[int], form: str, comma: str, sign: str
) -> None:
    leads = ["I", "II", "V5"]
    line = sign + comma.join(form.format(l=lead, n=n) for lead, n in zip(leads, per_mv, strict=True))
    assert StatedScale.of(line.splitlines()).uv_per_count(leads) == [1000 / n for n in per_mv]


def test_numbers_in_volts_and_names_of_columns_have_no_size_of_a_count(tmp_path: Path) -> None:
    assert _read(tmp_path, ["5 uV/LSB"], name="ecg (uV)").uv_per_unit == 1
    assert not any("states" in note for note in _read(tmp_path, ["Gain: 24"], name="ecg (mV)").notes)
    assert _read(tmp_path, ["Gain: 24"], name="scale 5 uV/LSB").uv_per_unit == 0


def _read(folder: Path, head: list[str], has_names: bool = True, name: str = "ecg") -> Recording:
    rows = [f"{k / 250:.3f},{1024 + round(200 * np.sin(k / 20))}" for k in range(1000)]
    names = [f"time_s,{name}"] if has_names else []
    (folder / "a.csv").write_text("\n".join([*head, *names, *rows]) + "\n")
    return as_recording(folder / "a.csv")


@settings(max_examples=draws(60), deadline=None)
@given(
    stated=st.sampled_from(sorted(VOLTS)), given_uv=st.sampled_from([1e-3, 1.0, 5.0, 1e3, 1e6]),
    way=st.sampled_from(["file", "table", "units"]), form=st.sampled_from(["II ({})", "II [{}]"]),
)  # fmt: skip
def test_a_gain_or_a_unit_that_contradicts_the_name_of_a_column_counts_and_is_said(
    stated: str, given_uv: float, way: str, form: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    values, name = np.round(UV / given_uv, 6), form.format(stated)
    units = {1e-3: "nV", 1.0: "uV", 1e3: "mV", 1e6: "V"}.get(given_uv) if way == "units" else None
    options = {"units": units} if units else {"gain": 1000.0 / given_uv}
    source: object = {name: values}
    if way == "file":
        source = tmp_path_factory.getbasetemp() / "gain.csv"
        np.savetxt(source, values, header=name, comments="", fmt="%.7g")
    recording = as_recording(source, 250.0, **options)
    assert np.ptp(recording.samples.astype(float)) * recording.uv_per_unit == pytest.approx(np.ptp(UV), rel=0.02)
    said = [note for note in recording.notes if f"counts, not the unit of {name!r}" in note]
    assert len(said) == (VOLTS[stated] != given_uv)


@settings(max_examples=draws(60), deadline=None)
@given(
    unit=st.sampled_from(sorted(VOLTS)), sign=st.sampled_from(SIGNS[1:]), has_names=st.booleans(),
    form=st.sampled_from(["values in {}", "All ECG values are in {}.", "data in {}, 12 bit",
                          "Amplitude given in {}", "ECG (data in {}) - bed 3"]),
    other=st.sampled_from(["", "ECG of bed 3", "the leads: see above", "resp in kPa"]), width=st.integers(1, 2),
)  # fmt: skip
def test_a_remark_that_says_the_unit_of_all_numbers_is_read(
    tmp_path_factory: pytest.TempPathFactory, unit: str, sign: str, has_names: bool, form: str, other: str, width: int
) -> None:
    names = [",".join(["II", "V1"][:width])] if has_names else []
    numbers = UV / VOLTS[unit]
    head = [f"{sign}{other}"] * bool(other) + [sign + form.format(unit), *names]
    path = tmp_path_factory.mktemp("unit") / "x.csv"
    path.write_text("\n".join([*head, *(",".join([f"{v:.9g}"] * width) for v in numbers)]) + "\n")
    recording = as_recording(path, 250.0)
    assert recording.samples.shape == (width, len(UV)), "the sign of a remark is no column"
    assert recording.leads == (("II", "V1")[:width] if has_names else tuple("01")[:width])
    away = recording.samples[0] * recording.uv_per_unit - UV  # an offset may be subtracted
    assert 0 < np.ptp(away) + 1e-6 <= 2 * recording.uv_per_unit


@pytest.mark.parametrize(
    "line",
    ["# ECG in uV, data in mV", "# range of values in uV: 5", "# values in 5 uV", "# lowest value in mV: -5",
     "# values in mV/1000", "# samples in uV x 10", "# ECG values in mV (x1000)", "# data in mV*200",
     "# signal in mV per division", "# values in mV times 200", "# ECG in V-fib", "# 12 signals in V tach, bed 3"],
)  # fmt: skip
def test_a_remark_that_may_mean_another_unit_is_not_used(tmp_path: Path, line: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text("\n".join([line, "II", *(f"{v:.0f}" for v in UV)]) + "\n")
    recording = as_recording(path, 250.0)
    assert recording.uv_per_unit == 0.0
    assert any("without a unit" in note for note in recording.notes)


@settings(max_examples=draws(40), deadline=None)
@given(
    unit=st.sampled_from(["mV", "uV", "V"]), lead=st.sampled_from(["ECG", "II", "chest"]),
    others=st.lists(st.sampled_from(["HR", "count", "F", "C", "g"]), max_size=3, unique=True),
    time=st.sampled_from(["datetime", "time", "t", "s", "ms", ""]), delimiter=st.sampled_from([",", ";", "\t", "|"]),
    key=st.sampled_from(["Sampling rate (Hz)", "fs", "Sample Rate"]),
)  # fmt: skip
def test_a_row_of_units_counts_where_names_are_those_of_units_too(
    unit: str, lead: str, others: list[str], time: str, delimiter: str, key: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    path = tmp_path_factory.getbasetemp() / "units.csv"
    mv = np.round(heart(250, 8), 3)
    names = [*([time] if time else []), *others, lead]
    units = [*(["ms" if time == "ms" else "s"] if time else []), *([""] * len(others)), unit]
    rng = np.random.default_rng(len(names))
    columns = [f"{4 * k if time == 'ms' else k / 250:.3f}" for k in range(len(mv))]
    rows = [
        [*([columns[k]] if time else []), *(f"{70 + v:.2f}" for v in rng.uniform(0, 9, len(others))),
         f"{v * 1000 / UV_PER[unit]:.6f}"]
        for k, v in enumerate(mv)
    ]  # fmt: skip
    head = "" if time else f"Device{delimiter}X\n{key}{delimiter}250\n"
    path.write_text(head + "".join(delimiter.join(row) + "\n" for row in (names, units, *rows)))
    recording = read_recording(path, column=lead)
    assert (recording.rate_hz, recording.leads) == (250, (lead,))
    assert np.abs(recording.samples[0] * recording.uv_per_unit / 1000 - mv).max() < 0.002


@settings(max_examples=draws(40), deadline=None)
@given(
    words=st.sampled_from([None, "seconds{0}millivolts", "Seconds{0}Millivolt"]),
    signs=st.sampled_from(["s{0}mV", "-{0}mV", "{0}mV", "NA{0}mV"]), others=st.integers(0, 2),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
)  # fmt: skip
def test_names_above_units_are_those_of_columns_where_units_are_written_twice_or_a_time_has_none(
    words: str | None, signs: str, others: int, delimiter: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "twice.csv"
    mv = np.round(heart(250, 8), 3)
    head = ["time{0}ECG" + "{0}Resp" * (others > 0) + "{0}Pleth" * (others > 1)]
    head += [row + f"{{0}}{'volts' if row is words else 'V'}" * others for row in (words, signs) if row]
    rows = [delimiter.join([f"{k / 250:.3f}", f"{v:g}", "0.5", "0.7"][: 2 + others]) for k, v in enumerate(mv)]
    path.write_text("\n".join([*(row.format(delimiter) for row in head), *rows]) + "\n")
    recording = read_recording(path)
    assert (recording.leads, recording.rate_hz) == (("ECG",), 250.0)
    assert np.abs(recording.samples[0] * recording.uv_per_unit / 1000 - mv).max() < 0.003
