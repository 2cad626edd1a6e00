"""Text tables whose rows are leads, and cells that hold a whole recording."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire.offline.analyze import analyze
from beatwire.recordings import read_blocks, read_recording
from beatwire.recordings.read import as_recording
from beatwire.recordings.synthetic.person import synthetic_recording
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
def test_a_cell_that_holds_a_recording_is_refused_with_its_line(tmp_path: Path, between: str) -> None:
    path, write = tmp_path / "cell.csv", '"[{}]"'
    listed = between.join(f"{v:.4f}" for v in MV[0, :500])
    path.write_text(f"start,duration,ecg\n2024-03-05T11:22:33,10,{write.format(listed)}\n")
    with pytest.raises(UserError, match=r"cell.csv: line 2, column 'ecg': expected a number; got a list of 500"):
        read_recording(path, fs=RATE_HZ)


def test_a_recording_of_hardly_a_beat_says_so(tmp_path: Path) -> None:
    path = tmp_path / "short.csv"
    path.write_text("0.1\n0.2\n")
    assert "0.01 s: too short for beats and rates" in as_recording(path, fs=RATE_HZ).notes
