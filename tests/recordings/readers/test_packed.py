"""ZIP archives, Excel workbooks and HDF5: a known ECG in one of them is read as it is, several are refused."""

import datetime
import io
import json
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire.recordings import read_blocks, read_recording
from draws import draws
from edf_files import Raw, write_raw_edf
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import heart, message_of

openpyxl = pytest.importorskip("openpyxl", reason="needs openpyxl (pip install 'beatwire[formats]')")
h5py = pytest.importorskip("h5py", reason="needs h5py (pip install 'beatwire[formats]')")

RATE_HZ = 250.0
SECONDS = 4
MV = heart(RATE_HZ, seconds=SECONDS)
UV = np.round(MV * 1000).astype(int)
T = np.arange(len(MV)) / RATE_HZ
CSV = "time,II (mV)\n" + "".join(f"{t:g},{v:.4f}\n" for t, v in zip(T, MV, strict=True))
START = datetime.datetime(2026, 3, 5, 10, tzinfo=datetime.UTC).replace(tzinfo=None)


def assert_is_ecg(path: Path, mv: np.ndarray = MV, **options: Any) -> None:
    recording = read_recording(path, **options)
    got = np.where(recording.samples == -32768, np.nan, recording.samples * recording.uv_per_unit / 1000)
    assert recording.rate_hz == RATE_HZ
    np.testing.assert_allclose(got, np.atleast_2d(mv), atol=0.006)


def zipped(path: Path, files: dict[str, bytes | str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in files.items():
            file.writestr(name, content)
    return path


def edf(folder: Path) -> bytes:
    write_raw_edf(folder / "y", [Raw("ECG", "mV", np.round(MV * 6553.5).astype(int))], SECONDS)
    return (folder / "y").read_bytes()


RECORD: dict[str, bytes | str] = {
    "r/100.hea": f"100 1 250 {len(MV)}\n100.dat 16 200 16 0 0 0 0 II\n",
    "r/100.dat": np.round(MV * 200).astype("<i2").tobytes(),
}


def test_the_one_recording_of_an_archive_is_read(tmp_path: Path) -> None:
    found: list[dict[str, bytes | str]] = [
        {"a.csv": CSV}, {"a/": "", "a/ecg.csv": CSV, "__MACOSX/a/._ecg.csv": b"\0", "a/.DS_Store": b"x"},
        {"../../a.csv": CSV}, {"a.json": json.dumps({"fs": 250, "II": MV.tolist()})}, {"a": edf(tmp_path)}, RECORD,
    ]  # fmt: skip
    for files in found:
        path = zipped(tmp_path / "x.zip", files)
        assert_is_ecg(path)
        assert sum(block.samples.shape[1] for block in read_blocks(path, samples=300)) == len(MV)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.csv": CSV, "b.csv": CSV}, "expected one recording in a ZIP archive; got a.csv, b.csv: unpack it"),
        (
            {f"{k}.csv": CSV for k in range(5)},
            "expected one recording in a ZIP archive; got 0.csv, 1.csv, 2.csv, ...: ",
        ),
        ({}, "expected one recording in a ZIP archive; got nothing: unpack it"),
        ({"a.zip": b"PK"}, "expected one recording in a ZIP archive; got a.zip: unpack it"),
        ({**RECORD, "r/101.hea": ""}, "expected one recording in a ZIP archive; got r/100.hea, r/100.dat, r/101.hea"),
        ({"a.csv": "hello\n"}, "a.csv: expected rows of numbers"),
        ({"word/document.xml": "a"}, "expected an ECG recording; got a document of Office"),
    ],
)
def test_an_archive_of_several_files_or_of_none_is_one_line(
    files: dict[str, bytes | str], message: str, tmp_path: Path
) -> None:
    assert message_of(zipped(tmp_path / "x.zip", files)).startswith(f"x.zip: {message}")


def workbook(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("clock", ["seconds", "dates", "none"])
def test_the_table_of_a_workbook_is_read_wherever_it_stands(clock: str, seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    text, gap, missing, other = rng.integers(0, 2, 4).astype(bool) & [clock == "none", True, True, True]
    head, left = rng.integers(0, [4, 3])
    values: list[Any] = [f"{v:.4f}".replace(".", ",") if text else round(float(v), 4) for v in MV]
    times: list[Any] = [START + datetime.timedelta(seconds=t) for t in T.tolist()] if clock == "dates" else T.tolist()
    expected = MV.copy()
    if missing:
        values[200:210] = [None] * 10
        expected[200:210] = np.nan
    rows = [[*([] if clock == "none" else [t]), v] for t, v in zip(times, values, strict=True)]
    if gap and clock != "none":
        del rows[500:520]
        expected[500:520] = np.nan
    names = ["II (mV)"] if clock == "none" else ["time", "II (mV)"]
    above = [["Patient", "A"], ["Age", 50], ["Device", "X 1"]][:head]
    sheets = {"ECG": [[None] * left + row for row in (*above, names, *rows)]}
    sheets |= {"About": [["Recorded", START], ["Rate", 250]]} if other else {}
    path = workbook(tmp_path / "x.xlsx", sheets)
    assert_is_ecg(path, expected, fs=RATE_HZ if clock == "none" else None)


@settings(max_examples=draws(10), deadline=None)
@given(empty=st.sets(st.integers(1, 298), max_size=9), head=st.integers(0, 2), leads=st.integers(1, 3))
def test_an_empty_row_between_rows_of_a_workbook_is_a_sample_without_values(
    empty: set[int], head: int, leads: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    mv = np.array([MV[:300] * (k + 1) for k in range(leads)])
    mv[:, [*empty]] = np.nan
    rows = [[float(v) if np.isfinite(v) else None for v in row] for row in mv.T]
    names = ["II (mV)", "V1 (mV)", "V5 (mV)"][:leads]
    sheet = [*([["A title"], []][:head]), names, *rows, [], []]
    assert_is_ecg(workbook(tmp_path_factory.getbasetemp() / "empty.xlsx", {"ECG": sheet}), mv, fs=RATE_HZ)


@settings(max_examples=draws(15), deadline=None)
@given(
    title=st.booleans(), left=st.integers(0, 2),
    others=st.lists(st.sampled_from(["hr", "marker", "eda", "acc_x"]), max_size=3, unique=True),
    clock=st.booleans(), as_text=st.sampled_from(["", ".", ","]), unit=st.sampled_from([1e-6, 1e-3, 1.0]),
    empty=st.booleans(),
)  # fmt: skip
def test_units_below_some_names_of_a_workbook_are_those_of_their_columns(
    title: bool, left: int, others: list[str], clock: bool, as_text: str, unit: float, empty: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    mv = MV[:500].round(3)
    mv[0] = 0.0
    if empty:
        mv[100:130] = np.nan
    columns = {"millis": (1000 * T[:500]).tolist()} if clock else {}
    columns |= {"II": [None if np.isnan(v) else round(float(v) * 1e-3 / unit, 7) for v in mv]}
    columns |= {name: [1, *(k % 7 // 6 for k in range(499))] for name in others}
    rows = [
        [f"{v}".replace(".", as_text) if as_text and v is not None else v for v in row]
        for row in zip(*columns.values(), strict=True)
    ]
    units = [{"II": {1e-6: "uV", 1e-3: "mV", 1.0: "V"}[unit]}.get(name) for name in columns]
    sheet = [*([["ECG of A"]] * title), [*columns], units, *rows]
    path = workbook(tmp_path_factory.getbasetemp() / "units.xlsx", {"ECG": [[*[None] * left, *row] for row in sheet]})
    assert_is_ecg(path, mv, fs=RATE_HZ)
    assert read_recording(path, fs=RATE_HZ).leads == ("II",)


def test_of_a_workbook_of_two_tables_one_is_chosen(tmp_path: Path) -> None:
    rows: list[list[Any]] = [["II (mV)", "V1 (mV)"], *([float(v), -float(v)] for v in MV[:300])]
    path = workbook(tmp_path / "x.xlsx", {"My A": rows, "B": [[*row, 1] for row in reversed(rows[1:])]})
    assert message_of(path) == ("x.xlsx: expected one sheet with a table; got 'My A', 'B': choose with --column 'My A'")
    assert read_recording(path, column="My A", fs=RATE_HZ).leads == ("II", "V1")
    for column in ("My A.II", "My A.0"):
        assert_is_ecg(path, MV[:300], column=column, fs=RATE_HZ)
    assert "expected one sheet" in str(error_of(path, column="C"))
    path = workbook(tmp_path / "x.xlsx", {"A": rows[:9]})
    assert message_of(path).startswith("x.xlsx: expected one sheet with a table; got none of 50 rows or more")


def error_of(path: Path, **options: Any) -> UserError:
    with pytest.raises(UserError) as error:
        read_recording(path, **options)
    return error.value


def filled(group: Any, shape: str) -> None:
    """Write the ECG as a dataset, as groups, as a table of attributes, or as MATLAB does."""
    if shape == "groups":
        group.attrs["fs"] = 250.0
        group.create_group("signals").create_dataset("II", data=MV, compression="gzip")
    elif shape == "attributes":
        group["ecg"] = UV.astype("i2")
        group["ecg"].attrs.update({"sampling_rate": 250, "units": "uV"})
    elif shape == "matlab":
        group["val"], group["Fs"] = MV[:, None], np.array([[250.0]])
        group["unit"] = np.array([[109], [86]], "u2")
        group["unit"].attrs["MATLAB_class"] = np.bytes_("char")
    else:
        group["ecg"], group["fs"], group["unit"] = MV, 250, "mV"


@pytest.mark.parametrize("shape", ["datasets", "groups", "attributes", "matlab"])
def test_the_ecg_of_an_hdf5_file_has_the_rate_and_the_unit_that_it_states(shape: str, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w", userblock_size=512 if shape == "matlab" else 0) as file:
        filled(file, shape)
    if shape == "matlab":
        with (tmp_path / "x.h5").open("r+b") as file:
            file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64")
    assert_is_ecg(tmp_path / "x.h5")


@pytest.mark.parametrize(("others", "deep"), [(499, 0), (500, 0), (501, 0), (900, 0), (3, 6), (3, 8)])
def test_what_of_an_hdf5_file_is_not_looked_at_is_said(others: int, deep: int, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["ecg"] = MV
        file["ecg"].attrs.update({"fs": RATE_HZ, "units": "mV"})
        for k in range(others):
            file[f"zz/{'g/' * deep}text {k}"] = "of no use"
    (is_said,) = {"datasets" in note for note in read_recording(tmp_path / "x.h5").notes if "left out" in note} or {
        False
    }
    assert is_said == (others > 500 or deep > 5)
    assert_is_ecg(tmp_path / "x.h5")


def test_several_recordings_in_an_hdf5_file_are_refused_and_links_out_of_it_are_not_followed(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for name in ("rec1", "rec2"):
            filled(file.create_group(name), "datasets")
    assert message_of(tmp_path / "x.h5") == (
        "x.h5: expected one recording; got 2, rec1, rec2: choose with --column rec1"
    )
    assert_is_ecg(tmp_path / "x.h5", column="rec2")
    with h5py.File(tmp_path / "y.h5", "w") as file:
        file["ecg"], file["fs"] = h5py.ExternalLink("x.h5", "/rec1/ecg"), 250
    assert message_of(tmp_path / "y.h5").startswith("y.h5: expected an array of numbers; got 'fs' (a number)")


def contents() -> dict[str, bytes]:
    found = {}
    for kind in ("zip", "xlsx", "h5"):
        made = io.BytesIO()
        if kind == "zip":
            zipped(made, {"a.csv": CSV})  # type: ignore[arg-type]
        elif kind == "xlsx":
            workbook(made, {"A": [["II (mV)"], *([float(v)] for v in MV[:250])]})  # type: ignore[arg-type]
        else:
            with h5py.File(made, "w") as file:
                filled(file, "datasets")
        found[kind] = made.getvalue()
    return found


CONTENTS = contents()


@settings(max_examples=draws(40), deadline=None)
@given(kind=st.sampled_from(["zip", "xlsx", "h5"]), at=st.floats(0, 1, exclude_max=True), change=st.integers(0, 255))
def test_a_damaged_archive_is_read_right_or_is_one_line(
    kind: str, at: float, change: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = bytearray(CONTENTS[kind])
    place = int(at * len(content))
    if change:
        content[place] ^= change
    else:
        del content[place:]
    path = tmp_path_factory.getbasetemp() / f"damaged.{kind}"
    path.write_bytes(content)
    with suppress(UserError):
        recording = read_recording(path, fs=RATE_HZ)
        got = recording.samples[0] * recording.uv_per_unit / 1000
        assert kind == "h5" or np.abs(got - MV[: len(got)]).max() < 0.006  # it has no checksums
