"""Text tables whose rows are leads, and cells that hold a whole recording."""

import gzip
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from beatwire.errors import UserError
from beatwire.offline.analyze import analyze
from beatwire.recordings import NO_VALUE, read_blocks, read_recording
from beatwire.recordings.read import as_recording
from beatwire.recordings.synthetic.person import synthetic_recording
from beatwire.recordings.text import turned
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

RATE_HZ = 200.0
ONE = synthetic_recording("synthetic:seconds=10,seed=1,leads=3", rate_hz=RATE_HZ)
MV = ONE.samples * ONE.uv_per_unit / 1000.0
NOTE = "each row is read as a lead"


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list[str]], str, int]:
    """Return rows of cells, a delimiter that is not in them, and the number of leads."""
    leads, decimal = draw(st.integers(1, 3)), draw(st.sampled_from(".,"))
    delimiter = draw(st.sampled_from(";\t| " if decimal == "," else ",;\t| "))
    columns = [[f"{v:.4f}".replace(".", decimal) for v in lead] for lead in MV[:leads]]
    if draw(st.booleans()):
        columns = [[f"{k / RATE_HZ:.3f}".replace(".", decimal) for k in range(MV.shape[1])], *columns]
        names = ["time", "I", "II", "III"]
    else:
        names = ["I", "II", "III"]
    if draw(st.booleans()):
        columns = [[name, *column] for name, column in zip(names, columns, strict=False)]
    return columns, delimiter, leads


@settings(deadline=None, max_examples=draws(60))
@given(
    table=tables(),
    end=st.sampled_from(["\n", "\r\n", ""]),
    brackets=st.booleans(),
    head=st.sampled_from(["", "subject 7\n", "Sampling rate: 200 Hz\n"]),
)
def test_a_table_of_rows_is_read_as_one_of_columns(
    table: tuple[list[list[str]], str, int], end: str, brackets: bool, head: str
) -> None:
    rows, delimiter, leads = table
    is_named = not rows[0][0][0].isdigit()
    lines = [delimiter.join(row) for row in rows]
    text = (end or "\n").join(f"[{line}]" if brackets and not is_named else line for line in lines) + end
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.csv"
        path.write_text(head + text, "utf-8", newline="")
        found = read_recording(path, fs=RATE_HZ)
        blocks = list(read_blocks(path, fs=RATE_HZ, samples=700))
    assert found.rate_hz == RATE_HZ
    assert NOTE in found.notes
    assert found.name == "x"
    assert np.abs(found.samples * found.uv_per_unit / 1000.0 - MV[:leads]).max() < 1e-3
    assert sum(block.samples.shape[1] for block in blocks) == MV.shape[1]
    assert sum(NOTE in block.notes for block in blocks) == 1


def test_a_row_longer_than_the_beginning_of_a_file_is_a_lead(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text(",".join(f"{v:.4f}" for v in np.tile(MV[0], 40)))
    assert len(analyze(read_recording(path, fs=RATE_HZ)).beats["sample"]) == 400


def test_a_table_with_too_many_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "many.csv"
    path.write_text("\n".join(",".join(f"{v:.4f}" for v in MV[0, k : k + 150]) for k in range(50)))
    with pytest.raises(UserError, match="expected 1-12 leads; got 150"):
        read_recording(path, fs=RATE_HZ)


@pytest.mark.parametrize("between", [",", ", ", ";", " "])
def test_a_cell_that_holds_a_recording_without_brackets_is_read(tmp_path: Path, between: str) -> None:
    path, listed = tmp_path / "cell.csv", between.join(f"{v:.4f}" for v in MV[0, :500])
    path.write_text(f'start,device,ecg\n2024-03-05T11:22:33,10,"{listed}"\n')
    recording = read_recording(path, fs=RATE_HZ)
    assert np.abs(recording.samples[0] * recording.uv_per_unit / 1000 - MV[0, :500]).max() < 0.001


def test_a_recording_of_hardly_a_beat_says_so(tmp_path: Path) -> None:
    path = tmp_path / "short.csv"
    path.write_text("0.1\n0.2\n")
    assert "0.01 s: too short for beats and rates" in as_recording(path, fs=RATE_HZ).notes


NARROW = "".join(f"{v:.4f}\n" for v in MV[0])


@pytest.mark.parametrize(
    "text",
    [f"subject 7\n{' ' * 250}\n{NARROW}", f"{',' * 250}\n{NARROW}", f"{'-' * 5000}\n{NARROW}", NARROW + "\0" * 6000],
    ids=["blanks", "commas", "dashes", "zeros at the end"],
)
def test_a_long_line_without_numbers_changes_nothing(tmp_path: Path, text: str) -> None:
    plain, path = tmp_path / "plain.csv", tmp_path / "x.csv"
    plain.write_text(NARROW)
    path.write_text(text)
    expected, found = read_recording(plain, fs=RATE_HZ), read_recording(path, fs=RATE_HZ)
    assert NOTE not in found.notes
    assert np.array_equal(expected.samples[:, -1900:], found.samples[:, found.samples.shape[1] - 1900 :])


@pytest.mark.parametrize(
    "content", [b"\0" * 300_000, b"A" * 300_000, b"<p>" * 3000, b"1,2," * 50 + b'"' + b"1," * 99_999]
)
def test_what_is_no_table_is_an_error_of_its_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"^x.csv: "):
        read_recording(path, fs=RATE_HZ)


def test_a_damaged_archive_is_an_error_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "x.csv.gz"
    raw = bytearray(gzip.compress(NARROW.encode()))
    raw[40:400] = bytes(360)
    path.write_bytes(raw)
    with pytest.raises(UserError, match=r"x\.csv\.gz: "):
        read_recording(path, fs=RATE_HZ)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_empty_cells_at_the_ends_are_samples_without_a_value(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "x.csv"
    one, other = ([f"{v:.4f}" for v in lead] for lead in MV[:2])
    one[:5], other[-5:] = [""] * 5, [""] * 5
    path.write_text(f"{delimiter.join(one)}\n{delimiter.join(other)}\n")
    found = read_recording(path, fs=RATE_HZ)
    missing = np.argwhere(found.samples == NO_VALUE).tolist()
    assert missing == [[0, k] for k in range(5)] + [[1, k] for k in range(1995, 2000)]


def test_a_data_frame_with_a_row_for_each_lead_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    pd.DataFrame(MV[:2], index=["I", "II"]).to_csv(path, float_format="%.4f")
    found = read_recording(path, fs=RATE_HZ)
    assert found.leads == ("I", "II")
    assert np.abs(found.samples * found.uv_per_unit / 1000.0 - MV[:2]).max() < 1e-3


@pytest.mark.parametrize("write", ["ecg = [{}];", "[{}]", "({}),", "{{{}}}"])
def test_brackets_cost_no_sample(tmp_path: Path, write: str) -> None:
    path = tmp_path / "x.txt"
    path.write_text(write.format(", ".join(f"{v:.4f}" for v in MV[0])) + "\n")
    assert read_recording(path, fs=RATE_HZ).samples.shape == (1, 2000)


def test_rows_that_memory_should_not_hold_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turned, "MOST_CHARACTERS", 1 << 13)
    path = tmp_path / "x.csv"
    path.write_text(",".join(f"{v:.4f}" for v in MV[0]))
    with pytest.raises(UserError, match=r"x\.csv: expected at most .* write one sample a line"):
        read_recording(path, fs=RATE_HZ)
