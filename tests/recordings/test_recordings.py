"""Recordings: every kind of source gives the same samples; a source that cannot be used gives a one-line error."""

import gzip
import shlex
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire.recordings import NO_VALUE, Recording, read_recording
from beatwire.tables import parse
from sources import message_of

N = 500
RATE_HZ = 250.0
MV = np.round(0.3 * np.sin(np.arange(N) / 7.0) + np.where(np.arange(N) % 200 == 50, 1.2, 0.0), 3)
UV = np.rint(MV * 1000).astype(np.int16)


def write(path: Path, rows: list[list[object]], delimiter: str = ",", head: str = "") -> Path:
    text = head + "".join(delimiter.join(str(cell) for cell in row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def comma(value: float) -> str:
    return str(value).replace(".", ",")


def same_as_mv(recording: Recording, lead: int = 0) -> bool:
    return bool(np.allclose(recording.samples[lead] * recording.uv_per_unit, UV, atol=2.51))


LAYOUTS = {
    "no header, one column": ([[v] for v in MV], ",", "", {"fs": RATE_HZ}, "x.csv"),
    "header, one column": ([[v] for v in MV], ",", "ECG (mV)\n", {"fs": RATE_HZ}, "x.csv"),
    "time in seconds": ([[k / 250, v] for k, v in enumerate(MV)], ",", "time,II\n", {}, "x.csv"),
    "time in milliseconds": ([[k * 4, v] for k, v in enumerate(MV)], ",", "time_ms,II\n", {}, "x.csv"),
    "time in microseconds, unnamed": ([[k * 4000, v] for k, v in enumerate(MV)], ",", "", {}, "x.csv"),
    "time in seconds, unnamed": ([[round(k / 250, 3), v] for k, v in enumerate(MV)], ",", "", {}, "x.csv"),
    "time last": ([[v, k / 250] for k, v in enumerate(MV)], ",", "II,Timestamp\n", {}, "x.csv"),
    "dates": ([[f"2024-02-03T10:00:{k / 250:06.3f}", v] for k, v in enumerate(MV)], ",", "time,II\n", {}, "x.csv"),
    "semicolon and decimal comma": ([[comma(k / 250), comma(v)] for k, v in enumerate(MV)], ";", "t;II\n", {}, "x.csv"),
    "tab": ([[k / 250, v] for k, v in enumerate(MV)], "\t", "time\tII\n", {}, "x.tsv"),
    "blanks": ([[k / 250, v] for k, v in enumerate(MV)], "   ", "", {}, "x.txt"),
    "gzip": ([[k / 250, v] for k, v in enumerate(MV)], ",", "time,II\n", {}, "x.csv.gz"),
    "comments, quotes, a byte order mark": (
        [[k / 250, v] for k, v in enumerate(MV)], ",", "\ufeff# made by hand\n'time','II'\n", {}, "x.csv"),
    "row of units": (
        [[f"'0:{k / 250:06.3f}'", v] for k, v in enumerate(MV)], ",",
        "'Elapsed time','MLII'\n'hh:mm:ss.mmm','mV'\n", {}, "x.csv"),
    "counts and a rate": ([[k, v] for k, v in enumerate(MV)], ",", "sample,II\n", {"fs": RATE_HZ}, "x.csv"),
    "microvolts by name": ([[k / 250, v] for k, v in enumerate(UV)], ",", "time,II (uV)\n", {}, "x.csv"),
    "integers with a gain": (
        [[k / 250, round(v * 200)] for k, v in enumerate(MV)], ",", "time,II\n", {"gain": 200.0}, "x.csv"),
    "beside a column of text": ([[k / 250, v, "N"] for k, v in enumerate(MV)], ",", "time,II,note\n", {}, "x.csv"),
    "written by pandas": ([[k, v] for k, v in enumerate(MV)], ",", ",0\n", {"fs": RATE_HZ}, "x.csv"),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_csv_of_any_layout_gives_the_same_samples(tmp_path: Path, layout: str) -> None:
    rows, delimiter, head, kwargs, name = LAYOUTS[layout]
    recording = read_recording(write(tmp_path / name, rows, delimiter, head), **kwargs)  # type: ignore[arg-type]
    assert recording.name == "x"
    assert recording.rate_hz == RATE_HZ
    assert recording.samples.dtype == np.int16
    assert recording.samples.shape == (1, N)
    assert same_as_mv(recording)


def test_several_leads_are_read_and_picked_by_name_number_or_first(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", [[k / 250, -v, v] for k, v in enumerate(MV)], head="time,MLII,V5\n")
    both = read_recording(path)
    assert both.leads == ("MLII", "V5")
    assert same_as_mv(both, 1)
    for lead in ("V5", "v5", "1", 1):
        assert read_recording(path, lead=lead).leads == ("V5",)
    assert read_recording(path, lead="first").leads == ("MLII",)
    assert read_recording(path, column="V5").leads == ("V5",)
    assert read_recording(path, column="V5,MLII").leads == ("V5", "MLII")


def test_a_missing_number_is_a_sample_without_a_value(tmp_path: Path) -> None:
    rows: list[list[object]] = [[k / 250, v] for k, v in enumerate(MV)]
    for k, nothing in ((10, "NaN"), (11, ""), (12, "-"), (13, "nan"), (14, "inf")):
        rows[k][1] = nothing
    recording = read_recording(write(tmp_path / "x.csv", rows, head="time,II\n"))
    assert np.array_equal(np.flatnonzero(recording.samples[0] == NO_VALUE), [10, 11, 12, 13, 14])


def test_a_blank_line_in_a_single_column_is_a_gap_and_at_the_end_is_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("0.1\n0.2\n\n0.4\n\n\n")
    assert read_recording(path, fs=250).samples[0, 2] == NO_VALUE
    assert read_recording(path, fs=250).samples.shape == (1, 4)


def test_a_gap_in_the_times_is_a_gap_in_the_samples(tmp_path: Path) -> None:
    rows: list[list[object]] = [[f"{k / 360:.3f}", v] for k, v in enumerate(MV) if not 100 <= k < 107 and k != 300]
    recording = read_recording(write(tmp_path / "x.csv", rows, head="time,II\n"))
    assert recording.rate_hz == 360.0
    assert np.array_equal(np.flatnonzero(recording.samples[0] == NO_VALUE), [*range(100, 107), 300])


def test_jitter_of_the_times_is_no_gap(tmp_path: Path) -> None:
    late = np.random.default_rng(1).choice((0.0, 0.0, 0.0, 0.007), N)
    at = np.maximum.accumulate(np.arange(N) / 250 + late)
    recording = read_recording(
        write(tmp_path / "x.csv", [[f"{t:.4f}", v] for t, v in zip(at, MV, strict=True)], head="t,a\n")
    )
    assert recording.samples.shape == (1, N)
    assert recording.rate_hz == pytest.approx(250, rel=0.02)


def test_numbers_that_cannot_be_millivolts_are_not_calibrated(tmp_path: Path) -> None:
    counts = read_recording(write(tmp_path / "x.csv", [[round(v * 200) + 1024] for v in MV]), fs=250)
    assert counts.uv_per_unit == 0
    assert np.array_equal(counts.samples[0], np.rint(MV * 200) + 1024)
    wide = read_recording(write(tmp_path / "y.csv", [[round(v * 1e6) + 4_000_000] for v in MV]), fs=250)
    assert wide.uv_per_unit == 0
    assert np.corrcoef(wide.samples[0], MV)[0, 1] > 0.9999
    fractions = read_recording(write(tmp_path / "z.csv", [[v * 1e3 + 0.25] for v in MV]), fs=250)
    assert fractions.uv_per_unit == 0
    assert any("too large for millivolts" in note for note in fractions.notes)


def test_an_offset_that_does_not_fit_is_subtracted_and_small_numbers_keep_their_resolution(tmp_path: Path) -> None:
    offset = read_recording(write(tmp_path / "x.csv", [[v + 300] for v in MV]), fs=250)
    assert offset.uv_per_unit == 1.0
    assert np.ptp(offset.samples[0]) == np.ptp(UV)
    volts = read_recording(write(tmp_path / "y.csv", [[f"{v / 1000:.6f}"] for v in MV], head="ecg [V]\n"), fs=250)
    assert volts.uv_per_unit == 1.0
    small = read_recording(write(tmp_path / "z.csv", [[f"{v / 1000:.6f}"] for v in MV]), fs=250)
    assert np.ptp(small.samples[0]) > 1000
    assert (small.uv_per_unit, small.notes[0]) == (
        0,
        "the numbers are too small for millivolts (give --gain, units per millivolt)",
    )


MESSAGES = {
    "text in the column": (
        "t,II\n0,0.1\n0.004,oops\n0.008,0.3\n", {},
        "x.csv: line 3, column 'II': expected a number; got 'oops'"),
    "text after blank lines": (
        "II\n0.1\n\n\nbad\n0.2\n", {"fs": 250},
        "x.csv: line 5, column 'II': expected a number; got 'bad'"),
    "only text": ("t,II\n0,a\n0.004,b\n", {}, "x.csv: expected a column of ECG; column 'II' is none (text)"),
    "no such column": (
        "t,II,V5\n0,1,2\n0.004,1,2\n", {"column": "V9"},
        "x.csv: expected one of its columns, 0 't', 1 'II', 2 'V5'; got 'V9'"),
    "no such lead": ("t,II\n0,1\n0.004,2\n", {"lead": 3}, "x.csv: expected one of its leads, 0 'II'; got '3'"),
    "empty": ("", {"fs": 250}, "x.csv: expected rows of numbers; the file is empty"),
    "only a header": ("t,II\n", {}, "x.csv: expected rows of numbers; there is nothing after the header"),
    "only missing numbers": ("II\nNaN\nNaN\n", {"fs": 250}, "x.csv: expected rows of numbers; there is no value in it"),
    "no rate": ("II\n0.1\n0.2\n", {}, "x.csv: expected a sampling rate; the file has no time column: give --fs, in Hz"),
    "counts without a rate": (
        "sample,II\n0,0.1\n1,0.2\n2,0.1\n", {},
        "x.csv: expected a sampling rate; column 'sample' only counts samples: give --fs, in Hz"),
    "rate 0": ("II\n0.1\n0.2\n", {"fs": 0}, "--fs: expected 50-4000 Hz; got 0"),
    "rate 1e9": ("II\n0.1\n0.2\n", {"fs": 1e9}, "--fs: expected 50-4000 Hz; got 1e+09"),
    "rate -250": ("II\n0.1\n0.2\n", {"fs": -250}, "--fs: expected 50-4000 Hz; got -250"),
    "rate nan": ("II\n0.1\n0.2\n", {"fs": float("nan")}, "--fs: expected 50-4000 Hz; got nan"),
    "a contradicted rate": (
        "time,II\n0,0.1\n0.004,0.2\n0.008,0.1\n", {"fs": 360},
        "x.csv: expected --fs 250, the rate of its time column 'time', or no --fs; got --fs 360"),
    "times too far apart": ("t_s,II\n0,0.1\n1,0.2\n2.5,0.2\n4,0.1\n", {}, "x.csv: expected a rate of 50-4000 Hz; got"),
    "times that fall": (
        "time,II\n0,0.1\n0.004,0.2\n0.002,0.2\n", {},
        "x.csv: expected times that rise in column 'time'; got 0.004 then 0.002 (rows 2 and 3)"),
    "a time that cannot be read": (
        "time,II\n0,0.1\nnoon,0.2\n0.008,0.2\n", {},
        "x.csv: expected a time in every row of column 'time'; row 2 has 'noon'"),
    "too many columns in a line": (
        "t,II\n0,0.1\n0.004,0.2,7\n", {},
        "x.csv: expected 2 columns in every line; line 3 has 3"),
    "13 leads": (",".join(f"x{k}" for k in range(13)) + "\n" + ",".join("1" * 13), {"fs": 250},
                 "x.csv: expected 1-12 leads; got 13 columns (choose with --column)"),
    "binary": (
        "a\0b\0", {"fs": 250},
        "x.csv: expected a recording of a known format; got another binary file: convert it to EDF or CSV"),
    "gain 0": (
        "II\n0.1\n", {"fs": 250, "gain": 0.0},
        "--gain: expected a positive number of units per millivolt; got 0"),
}  # fmt: skip


@pytest.mark.parametrize("case", MESSAGES)
def test_a_csv_that_cannot_be_used_gives_a_one_line_error(tmp_path: Path, case: str) -> None:
    text, kwargs, expected = MESSAGES[case]
    path = tmp_path / "x.csv"
    path.write_text(text)
    assert message_of(path, **kwargs).startswith(expected)


def test_a_truncated_gzip_file_gives_a_one_line_error(tmp_path: Path) -> None:
    path = write(
        tmp_path / "x.csv.gz", [[k / 250, v] for k, v in enumerate(np.random.default_rng(0).normal(size=20_000))]
    )
    path.write_bytes(path.read_bytes()[:-100])
    assert "x.csv.gz: expected a complete gzip file" in message_of(path)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    assert message_of(tmp_path / "no.csv").endswith(
        "no.csv: expected a recording or a WFDB record; neither this file nor no.csv.hea exists"
    )
    assert message_of(tmp_path).endswith("got a folder (it holds no WFDB record)")


@pytest.mark.parametrize("database", ["mitdb", "svdb", "incartdb", "qtdb"])
@pytest.mark.parametrize("record", ["100", "100.hea", "sel30"])
def test_a_missing_record_of_physionet_comes_with_the_command_that_downloads_it(
    database: str, record: str, tmp_path: Path
) -> None:
    folder = tmp_path / "it's here" / database
    message = message_of(folder / record)
    program = shlex.split(message.split("to download it: ")[1])
    assert program[:2] == ["python", "-c"]
    calls: list[tuple[str, ...]] = []
    exec(program[2].removeprefix("import wfdb; "), {"wfdb": SimpleNamespace(dl_database=lambda *a: calls.append(a))})
    assert calls == [(database, str(folder))]
    folder.mkdir(parents=True)
    (folder / "101.hea").touch()
    assert "download" not in message_of(folder / record)


# synthetic


def test_synthetic_is_a_recording_by_name() -> None:
    recording = read_recording("synthetic:seconds=10,leads=2,rate=360,seed=3,bpm=70")
    assert (recording.rate_hz, recording.leads, recording.samples.shape) == (360.0, ("II", "V1"), (2, 3600))
    assert read_recording("synthetic", fs=128).rate_hz == 128.0


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("synthetic:speed=3", "expected keys among seconds, leads, rate, seed, bpm, ectopy, noise, hum; got 'speed'"),
        ("synthetic:seconds=ten", "expected a number for seconds; got 'ten'"),
        ("synthetic:leads=13", "expected leads within 1-12; got 13"),
        ("synthetic:rate=1e9", "expected rate within 50-4000; got 1e9"),
        ("synthetic:leads=1.5", "expected leads within 1-12; got 1.5"),
    ],
)
def test_an_invalid_synthetic_source_gives_a_one_line_error(source: str, expected: str) -> None:
    assert expected in message_of(source)


# the parser of tables of numbers


@pytest.mark.parametrize("layout", LAYOUTS)
def test_pyarrow_and_pandas_read_the_same(tmp_path: Path, layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, delimiter, head, kwargs, name = LAYOUTS[layout]
    path = write(tmp_path / name, rows, delimiter, head)
    one = read_recording(path, **kwargs)  # type: ignore[arg-type]
    monkeypatch.setattr(parse, "_read_numbers", lambda *_: None)
    other = read_recording(path, **kwargs)  # type: ignore[arg-type]
    assert np.array_equal(one.samples, other.samples)
    assert vars(one) | {"samples": None} == vars(other) | {"samples": None}


@pytest.mark.parametrize("layout", ["time in seconds", "no header, one column", "semicolon and decimal comma", "tab"])
def test_a_table_of_numbers_is_parsed_by_pyarrow(tmp_path: Path, layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, delimiter, head, kwargs, name = LAYOUTS[layout]
    monkeypatch.setattr(parse, "_read_any", lambda *_: pytest.fail("parsed by pandas"))
    recording = read_recording(write(tmp_path / name, rows, delimiter, head), **kwargs)  # type: ignore[arg-type]
    assert same_as_mv(recording)


def test_missing_numbers_are_parsed_by_pyarrow_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse, "_read_any", lambda *_: pytest.fail("parsed by pandas"))
    recording = read_recording(write(tmp_path / "x.csv", [["0.1"], ["nan"], [""], ["-"], ["0.2"]]), fs=250)
    assert (recording.samples[0] == NO_VALUE).tolist() == [False, True, True, True, False]


@pytest.mark.skipif(find_spec("cudf") is not None, reason="cuDF is installed")
def test_a_csv_for_a_gpu_is_refused_without_cudf(tmp_path: Path) -> None:
    path = write(tmp_path / "beats.csv", [[0.1], [0.2]])
    with pytest.raises(
        UserError, match=r"beats\.csv: expected cuDF to parse .*not installed \(pip install 'beatwire\[gpu\]'\)"
    ):
        read_recording(path, fs=250.0, xp=SimpleNamespace())
