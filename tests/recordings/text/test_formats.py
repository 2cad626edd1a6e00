"""Text files as devices and programs write them: heads, names, units, clocks; and what is refused, with its line."""

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire.recordings import read_blocks, read_recording
from beatwire.recordings.columns.roles import Table, roles_of
from beatwire.recordings.synthetic.person import synthetic_recording
from draws import draws
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sources import message_of
from text_dialects import Dialect, dialects, truth_of, write

RATE_HZ = 200.0
LEADS = ("I", "II", "III", "aVR", "V1", "V5")
UV = {"mV": 1.0, "uV": 1000.0, "V": 0.001}  # units of a millivolt
_RECORDING = synthetic_recording("synthetic:seconds=10,seed=1", rate_hz=RATE_HZ)
MV = _RECORDING.samples[0] * _RECORDING.uv_per_unit / 1000.0
T = np.arange(len(MV)) / RATE_HZ
Row = Callable[[int, float, float], str]


def comma(text: str) -> str:
    return text.replace(".", ",")


def lines(*listed: str) -> str:
    return "".join(f"{line}\n" for line in listed)


# name: (head, a row of index, time in s and mV, options, name of the lead)
FORMATS: dict[str, tuple[str, Row, dict[str, float], str]] = {
    "LabChart": (
        lines("Interval=\t0.005 s", "ExcelDateTime=\t4.5e4\t2024-02-03 10:00:00.000", "TimeFormat=\tStartOfBlock",
              "DateFormat=\t", "ChannelTitle=\tECG\tResp", "Range=\t10 mV\t1.000 V"),
        lambda _, t, v: f"{t:.3f}\t{v:.4f}\t{v / 3:.4f}\n", {}, "ECG"),
    "AcqKnowledge, minutes": (
        "x.acq\n5 msec/sample\n2 channels\nECG\nmV\nRSP\nVolts\nmin,CH1,CH2,\n,2000,2000,\n",
        lambda _, t, v: f"{t / 60:.8f},{v:.4f},{v / 3:.4f},\n", {}, "ECG"),
    "AcqKnowledge, no time": (
        "x.acq\n5 msec/sample\n1 channels\nECG\nmV\nCH1,\n2000,\n", lambda _, t, v: f"{v:.4f},\n", {}, "ECG"),
    "Shimmer, four rows": (
        lines('"sep=\t"', "Shimmer_1\tShimmer_1\tShimmer_1", "Timestamp\tECG LL-RA\tTemperature", "CAL\tCAL\tCAL",
              "ms\tmV\tDegrees Celsius"),
        lambda _, t, v: f"{t * 1000 + 1.78e12:.3f}\t{v:.5f}\t{36.5 + t * 1e-5}\n", {}, "ECG LL-RA"),
    "rdsamp -pd": (
        "", lambda _, t, v: f"[10:00:{t:06.3f} 03/02/2024] {v:8.3f}\n", {}, "1"),
    "rdsamp -v": (
        "     sample #      MLII\n                  (mV)\n", lambda k, t, v: f"{k:8d} {v:8.3f}\n", {"fs": 200.0}, ""),
    "PhysioNet, dates": (
        "'Time and date','MLII'\n'hh:mm:ss.mmm dd/mm/yyyy','mV'\n",
        lambda _, t, v: f"'[10:00:{t:06.3f} 03/02/2024]',{v:.3f}\n", {}, "MLII"),
    "numpy.savetxt": ("# time ecg\n", lambda _, t, v: f"{t:.18e} {v:.18e}\n", {}, "ecg"),
    "Apple Watch, German": (
        lines("Name,Test", "Geburtsdatum,15.01.1990", "Aufzeichnungsdatum,2026-08-26 18:15:35 +0100", "Symptome,",
              "Softwareversion,1.90", 'Gerät,"Watch6,7"', "Abtastrate,200 Hertz", "", "", "Ableitung,Ableitung I",
              "Einheit,µV", "", ""),
        lambda _, t, v: comma(f"{v * 1000:.3f}") + "\n", {}, "Ableitung I"),
    "Apple Watch, French": (
        'Nom,Test\nFréquence d\u2019échantillonnage,"200,000 hertz"\nDérivation,Dérivation I\nUnité,µV\n',
        lambda _, t, v: f'"{comma(f"{v * 1000:.3f}")}"\n', {}, "Dérivation I"),
    "Empatica": ("1544027337.000000\n200.000000\n", lambda _, t, v: f"{v:.4f}\n", {}, "0"),
    "keys": ("Patient: X\nFs: 200\nUnits: mV\n\nECG\n", lambda _, t, v: f"{v:.4f}\n", {}, "ECG"),
    "rows before the names": (
        "Device,ABC\nSampling rate,200\nTime,ECG (mV)\n", lambda _, t, v: f"{t:.3f},{v:.4f}\n", {}, "ECG"),
    "R, write.csv2": (
        '"";"ECG"\n', lambda k, t, v: f'"{k + 1}";{comma(f"{v:.4g}")}\n', {"fs": 200.0}, "ECG"),
    "R, write.table": ('"time_s" "ECG"\n', lambda k, t, v: f'"{k + 1}" {t:.4g} {v:.4g}\n', {}, "ECG"),
    "date and time": (
        "Date;Time;ECG\n", lambda _, t, v: f"03.02.2024;{comma(f'10:00:{t:06.3f};{v:.4f}')}\n", {}, "ECG"),
    "second and millisecond": (
        "Second,Millisecond,ECG (mV)\n",
        lambda k, t, v: f"{k // 200},{k % 200 * 5},{v:.4f}\n", {}, "ECG"),
    "quoted, decimal comma": (
        '"time","ECG (mV)"\n', lambda _, t, v: f'"{comma(f"{t:.3f}")}","{comma(f"{v:.4f}")}"\n', {}, "ECG"),
    "lines that end twice": ("time,ECG (mV)\r\r\n", lambda _, t, v: f"{t:.3f},{v:.4f}\r\r\n", {}, "ECG"),
    "beside other quantities": (
        "ts,bat,ecg,temp,marker,subject,HR\n",
        lambda k, t, v: f"{t:.3f},{98 - k // 900},{v:.4f},{36 + np.sin(t):.2f},{int(k == 700)},7,{72 + t:.2f}\n",
        {}, "ecg"),
    "texts beside a date with a blank": (
        "when\tECG\tkind\tday\tlabel\n",
        lambda _, t, v: f"2026-02-03 10:00:{t:06.3f}\t{v:.4f}\tECG\tMonday\tN\n", {}, "ECG"),
    "number sign": ("# ECG HR label\n", lambda k, t, v: f"{k} {v:.4f} {72 + t:.2f} 0\n", {"fs": 200.0}, "ECG"),
    "numbers beside names": (",0,ECG (mV),label\n", lambda k, t, v: f"{k},{t:.3f},{v:.4f},0\n", {}, "ECG"),
    "blanks before quotes": (
        'time, "ECG, mV", "a, b"\n', lambda k, t, v: f'{t:.3f}, {v:.4f}, "x, y"\n', {}, "ECG, mV"),
    "units that nobody knows": (
        "stamp,raw,HR,day\n,arb. unit,,\n", lambda k, t, v: f"{t:.3f},{v:.4f},72,Monday\n", {}, "raw"),
    "one column, commas, no trailing zeros": ("", lambda _, t, v: comma(f"{v:.3g}") + "\n", {"fs": 200.0}, "0"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_the_file_of_a_device_gives_its_ecg_rate_and_unit(tmp_path: Path, name: str) -> None:
    head, row, options, lead = FORMATS[name]
    path = tmp_path / "x.csv"
    path.write_bytes((head + "".join(row(k, t, v) for k, (t, v) in enumerate(zip(T, MV, strict=True)))).encode())
    recording = read_recording(path, **options)  # type: ignore[arg-type]
    assert recording.rate_hz == RATE_HZ
    assert recording.samples.shape == (1, len(MV))
    assert not lead or recording.leads == (lead,)
    assert np.abs(recording.samples[0] * recording.uv_per_unit / 1000.0 - MV).max() < 0.006


def table(bad: str, head: str = "time,I,II\n", at: int = 1500) -> str:
    rows = [f"{t:.3f},{v:.4f},{v:.4f}\n" for t, v in zip(T, MV, strict=True)]
    rows[at] = bad
    return head + "".join(rows)


REFUSED = {
    "a short row": (table("7.5,0.1\n"), "x.csv: expected 3 columns in every line; line 1502 has 2"),
    "a long row": (table("7.5,0.1,0.2,0.3\n"), "x.csv: expected 3 columns in every line; line 1502 has 4"),
    "only long rows": (table("", "time,I\n"), "x.csv: expected 2 columns in every line; line 2 has 3"),
    "only short rows": (table("", "time,I,II,V1,V2\n"), "x.csv: expected 5 columns in every line; line 2 has 3"),
    "a zero byte": (table("7.5,0.1\0,0.2\n"), "x.csv: line 1502: expected text; got a zero byte"),
    "commas of two kinds": (
        table("").replace(".", ","),
        "x.csv: expected a delimiter other than the decimal sign; got '9,995,0,0060,0,0060', in which a comma"),
    "a line of text between rows": (table("sensor lost\n"), "x.csv: expected 3 columns in every line; line 1502 has 1"),
    "another table after the rows": (
        table("") + "Resp\n" + "0.1,0.2\n" * 99, "x.csv: expected 3 columns in every line; line 2001 has 1"),
    "two recordings with their heads": (
        table("") + table("").replace(",0.", ",-0."),
        "x.csv: expected times that rise in column 'time'; got 9.995 then 0 (rows 1999 and 2000); the names come"),
    "times of two recordings": (
        table("") + "".join(f"{t:.3f},{-v:.4f},{v:.4f}\n" for t, v in zip(T, MV, strict=True)),
        "x.csv: expected times that rise in column 'time'; got 9.995 then 0 (rows"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_right_is_refused_with_its_line(tmp_path: Path, case: str) -> None:
    text, expected = REFUSED[case]
    path = tmp_path / "x.csv"
    path.write_text(text)
    assert message_of(path).startswith(expected)


def test_a_last_line_that_is_cut_off_is_left_out_with_a_note_and_zeros_after_it_are_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(table("", at=1999) + "9.995,0.0")
    recording = read_recording(path)
    assert recording.samples.shape == (2, 1999)
    assert recording.notes[-1] == "the last line is cut off: left out"
    path.write_bytes(table("9.995,0.1,0.1\n", at=1999).encode() + b"\0" * 4096)
    assert read_recording(path).samples.shape == (2, 2000)


def test_what_was_assumed_is_said_in_a_note_each(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    rows = "".join(f"{round(t * 1000)},{k % 16},{v:.4f},72\n" for k, (t, v) in enumerate(zip(T, MV, strict=True)))
    path.write_text("stamp,nSeq,ecg,HR\n" + rows)
    assert read_recording(path).notes == (
        "times: column 'stamp', in milliseconds; 200 Hz",
        "left out: 'HR' (another quantity, by its name)",
        "no unit: read as millivolts (give --gain, units per millivolt)",
    )


@settings(max_examples=draws(20), deadline=None)
@given(
    raw_first=st.booleans(),
    raw=st.sampled_from(
        ["ECG LL-RA (no_units)", "ECG LL-RA raw (LSB)", "ecg_adu", "ecg_raw", "lead LL-RA counts", "ECG adc"]
    ),
    volts=st.sampled_from(sorted(UV)),
)
def test_a_lead_in_units_of_a_converter_beside_leads_in_volts_is_the_same_lead_again(
    raw_first: bool, raw: str, volts: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "raw.csv"
    mv = np.random.default_rng(1).uniform(-1, 1, 400)
    columns = [raw, f"ECG LL-RA ({volts})"][:: 1 if raw_first else -1]
    values = [np.rint(mv * 70000), mv * UV[volts]][:: 1 if raw_first else -1]
    np.savetxt(path, np.stack(values, axis=1), "%.7f", delimiter=",", header=",".join(columns), comments="")
    recording = read_recording(path, fs=250)
    assert recording.leads == ("ECG LL-RA",)
    assert np.abs(recording.samples[0] * recording.uv_per_unit / 1000 - mv).max() < 0.001
    assert "(the same lead is there in volts)" in recording.notes[0]


@settings(max_examples=draws(25), deadline=None)
@given(
    raw=st.lists(st.sampled_from(LEADS), min_size=1, max_size=3, unique=True),
    volts=st.lists(st.sampled_from(LEADS), min_size=1, max_size=3, unique=True),
    form=st.sampled_from(["{}_raw", "{} (adu)", "{} raw [counts]", "raw_{}", "ECG {} adc", "Lead {} (LSB)"]),
    unit=st.sampled_from(["{} (mV)", "ECG {} [uV]", "{}_mV", "lead {} (V)", "{}, V"]), raw_first=st.booleans(),
)  # fmt: skip
@example(["I", "II", "V1"], ["II"], "{}_raw", "{} (mV)", True)
@example(["V1"], ["I", "II"], "{} (adu)", "{} (mV)", False)
def test_a_lead_in_units_of_a_converter_is_left_out_only_if_that_lead_is_there_in_volts(
    raw: list[str], volts: list[str], form: str, unit: str, raw_first: bool
) -> None:
    names = [[form.format(lead) for lead in raw], [unit.format(lead) for lead in volts]]
    names = names if raw_first else names[::-1]
    table = Table((*names[0], *names[1]), list(np.random.default_rng(1).normal(0, 1, (len(raw) + len(volts), 400))))
    again = {form.format(lead) for lead in raw if lead in volts}
    assert {table.names[k] for k in roles_of("x", table).leads} == {*names[0], *names[1]} - again


@settings(max_examples=draws(20), deadline=None)
@given(
    word=st.sampled_from(["patient", "subject", "session", "device", "heart", "beat", "id", "sleep", "stage", "group"]),
    joint=st.sampled_from(["", "_", " ", "-0", "_0"]), number=st.integers(0, 99), has_clock=st.booleans(),
)  # fmt: skip
def test_a_single_column_may_be_called_after_a_person_a_session_or_a_device(
    word: str, joint: str, number: int, has_clock: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, name = tmp_path_factory.getbasetemp() / "one.csv", f"{word}{joint}{number}"
    mv = np.random.default_rng(number).uniform(-1, 1, 400)
    columns = {"time": np.arange(400) / 250, name: mv} if has_clock else {name: mv}
    rows = np.stack([*columns.values()], axis=1)
    np.savetxt(path, rows, "%.4f", delimiter=",", header=",".join(columns), comments="")
    recording = read_recording(path, fs=250)
    assert (recording.leads, recording.samples.shape) == ((name,), (1, 400))


@pytest.mark.parametrize("name", ["RR", "HR (bpm)", "heart rate", "patient_01_hr", "rr_intervals", "SpO2"])
def test_a_single_column_of_another_quantity_is_refused_unless_it_is_chosen(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("\n".join([name, *(f"{800 + k % 7}" for k in range(400))]))
    assert message_of(path, fs=250) == (
        f"x.csv: expected a column of ECG; column {name!r} is none (another quantity, by its name) "
        "(choose with --column)"
    )
    assert read_recording(path, fs=250, column="0").samples.shape == (1, 400)


@pytest.mark.parametrize("name", ["sample", "n", "time_ms", "x"])
def test_a_count_in_rows_that_end_with_a_delimiter_has_its_name_and_so_have_the_leads(
    tmp_path: Path, name: str
) -> None:
    rows = [f"{k},{v:.4f},{2 * v:.4f}," for k, v in enumerate(MV)]
    (tmp_path / "x.csv").write_text("\n".join([f"{name},II,V5", *rows]) + "\n")
    recording = read_recording(tmp_path / "x.csv", fs=1000 if name == "time_ms" else 250)
    assert recording.leads == ("II", "V5")
    assert np.abs(recording.samples * recording.uv_per_unit / 1000 - np.stack([MV, 2 * MV])).max() < 0.006


@pytest.mark.parametrize("blank", [0, 1, 3])
def test_blank_lines_between_the_names_and_the_rows_are_no_end_of_the_head(blank: int, tmp_path: Path) -> None:
    rows = [f"{a:.3f};{b:.3f}" for a, b in np.random.default_rng(2).uniform(-1, 1, (300, 2))]
    (tmp_path / "x.txt").write_text("\n".join(["Output rate:;256 Hz", "A:EKG;B:BVP", *[""] * blank, *rows]))
    recording = read_recording(tmp_path / "x.txt")
    assert (recording.leads, recording.rate_hz, recording.samples.shape) == (("A:EKG",), 256, (1, 300))


@settings(max_examples=draws(60), deadline=None)
@given(dialects())
def test_a_text_table_of_any_dialect_gives_the_right_samples_rate_and_unit(dialect: Dialect) -> None:
    truth = truth_of(dialect)
    has_rate = dialect.head in ("keys", "German keys", "JSON")
    is_clock = dialect.clock not in ("none", "count", "count 0-15")
    fs = None if is_clock or has_rate else dialect.rate_hz
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        path = Path(folder) / "x.csv"
        write(path, dialect)
        recording = read_recording(path, fs=fs, lead="all")
        blocks = list(read_blocks(path, fs=fs, samples=3000 if dialect.clock == "whole seconds" else 700))
    assert recording.samples.shape == (1, len(truth)), recording.notes
    assert abs(recording.rate_hz / dialect.rate_hz - 1) < 1e-3
    samples = recording.samples[0].astype(float)
    if recording.uv_per_unit:
        assert np.abs(samples * recording.uv_per_unit / 1000.0 - truth).max() < 0.003
    else:
        assert any("not calibrated" in note for note in recording.notes)
        assert np.corrcoef(samples, truth)[0, 1] > 0.999
    if dialect.unit == "none":
        assert any(re.match("no unit: read as millivolts", note) for note in recording.notes)
    joined = np.concatenate([block.samples[0] * block.uv_per_unit for block in blocks])
    assert np.abs(joined - samples * recording.uv_per_unit).max() < 3


@pytest.mark.parametrize("clock", ["{0:.3f}", "12:00:{0:06.3f}", "{2},{3}", "{1}"])
def test_a_clock_that_is_text_in_a_later_block_is_refused_and_a_count_is_none(clock: str, tmp_path: Path) -> None:
    rows = [clock.format(t, k, k // 200, k % 200 * 5) for k, t in enumerate(T)]
    rows[1500:] = [re.sub(r"[^,]+$", "x", row) for row in rows[1500:]]
    head = {"{1}": "sample", "{2},{3}": "time,ms"}.get(clock, "time")
    (tmp_path / "x.csv").write_text(lines(f"{head},II", *(f"{row},{v:.3f}" for row, v in zip(rows, MV, strict=True))))
    blocks = read_blocks(tmp_path / "x.csv", fs=RATE_HZ, samples=500)
    if head == "sample":
        assert sum(block.samples.shape[1] for block in blocks) == len(T)
        return
    with pytest.raises(UserError, match="expected a time in every row of column 'time'; row 1501"):
        list(blocks)
