"""Lines of a text table that are no rows: remarks, names that come again, and what stands after the last row."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from beatwire.recordings import read_blocks, read_recording
from draws import draws
from hypothesis import example, given, settings
from hypothesis import strategies as st

MV = np.random.default_rng(3).uniform(-1, 1, 600).round(4)
REMARKS = ("# artefact", "#", "% rest", "// button, pressed", "-----", "=====", "[Data]", "# 1.0, 2.0")
AFTER = (
    "END OF FILE", "EOF", "Total{d}600", "mean{d}0.01", "Number of samples: 600", "Duration{d}2.4 s{d}",
    "--- end ---", "// done", "\x1a", "[End]",
)  # fmt: skip


@settings(max_examples=draws(60), deadline=None)
@given(
    delimiter=st.sampled_from(",;\t| "), has_clock=st.booleans(), comma=st.booleans(), has_names=st.booleans(),
    remarks=st.dictionaries(st.integers(1, 599), st.sampled_from(REMARKS), max_size=3),
    again=st.sets(st.integers(1, 599), max_size=2), after=st.lists(st.sampled_from(AFTER), max_size=3),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]), end=st.sampled_from(["\n", "\r\n"]),
    packed=st.booleans(), last=st.booleans(),
)  # fmt: skip
def test_lines_that_are_no_rows_are_left_out_and_said(
    tmp_path_factory: pytest.TempPathFactory, delimiter: str, has_clock: bool, comma: bool, has_names: bool,
    remarks: dict[int, str], again: set[int], after: list[str], encoding: str, end: str, packed: bool, last: bool,
) -> None:  # fmt: skip
    sign = "," if comma and delimiter != "," else "."
    rows = [f"{v:.4f}".replace(".", sign) for v in MV]
    names, fs = "ecg (mV)", 250.0
    if has_clock:
        rows = [f"{k / 250:.3f}".replace(".", sign) + delimiter + row for k, row in enumerate(rows)]
        names, fs = f"time{delimiter}ecg_mV", None  # type: ignore[assignment]
    lines = [names] if has_names else []
    for k, row in enumerate(rows):
        lines += [remarks[k]] if k in remarks else []
        lines += [names, row] if k in again and has_names else [row]
    lines += [line.format(d=delimiter) for line in after]
    folder = tmp_path_factory.mktemp("strays")
    text = end.join(lines) + end * (last or not after)
    (folder / "x.csv").write_bytes((gzip.compress if packed else bytes)(text.encode(encoding)))
    recording = read_recording(folder / "x.csv", fs=fs, lead="all")
    assert (recording.rate_hz, recording.samples.shape) == (250, (1, 600)), recording.notes
    uv = recording.samples[0] * recording.uv_per_unit
    assert np.abs(uv / 1000 - MV).max() < 0.001 or not has_names
    said = " ".join(recording.notes)
    assert ("remark" in said) >= bool(remarks)
    assert ("names come again" in said) == bool(again and has_names)
    blocks = [*read_blocks(folder / "x.csv", fs=fs, samples=250)]
    joined = np.concatenate([block.samples[0] * block.uv_per_unit for block in blocks])
    assert np.abs(joined - uv).max() <= 2 * recording.uv_per_unit
    assert [note for block in blocks for note in block.notes if ": left out" in note and "cut" not in note] == [
        note for note in recording.notes if ": left out" in note and "cut" not in note
    ]


@settings(max_examples=draws(40), deadline=None)
@example(
    delimiter=",", has_clock=False, blanks={5: 2}, last=1, blank="  ", end="\n", below=False, encoding="utf-8",
    packed=False,
)  # fmt: skip
@given(
    delimiter=st.sampled_from(",;\t "), has_clock=st.booleans(),
    blanks=st.dictionaries(st.integers(1, 599), st.integers(1, 3)), last=st.integers(0, 3),
    blank=st.sampled_from(["", "  ", " \t"]), end=st.sampled_from(["\n", "\r\n"]), below=st.booleans(),
    encoding=st.sampled_from(["utf-8", "utf-16", "cp1252"]), packed=st.booleans(),
)  # fmt: skip
def test_blank_lines_between_rows_of_several_columns_are_counted_where_no_clock_shows_what_is_missing(
    tmp_path_factory: pytest.TempPathFactory, delimiter: str, has_clock: bool, blanks: dict[int, int], last: int,
    blank: str, end: str, below: bool, encoding: str, packed: bool,
) -> None:  # fmt: skip
    blank = blank.rstrip("\t") if delimiter == "\t" else blank
    first = [f"{k / 250:.3f}" if has_clock else f"{-v:.4f}" for k, v in enumerate(MV)]
    names = f"{'time' if has_clock else 'V1'}{delimiter}II"
    lines = [names, *[""] * below]
    for k, v in enumerate(MV):
        lines += [blank] * blanks.get(k, 0)
        lines.append(f"{first[k]}{delimiter}{v:.4f}")
    text = end.join([*lines, *[blank] * last, ""])
    path = tmp_path_factory.mktemp("blank") / "x.csv"
    path.write_bytes((gzip.compress if packed else bytes)(text.encode(encoding)))
    recording = read_recording(path, fs=None if has_clock else 250.0, lead="all")
    assert recording.samples.shape[1] == 600
    count = sum(blanks.values())
    note = f"{count} blank {'line' if count == 1 else 'lines'} between its rows: left out"
    expected = [note] * (count > 0 and not has_clock)
    assert [one for one in recording.notes if "blank" in one] == expected
    blocks = read_blocks(path, fs=None if has_clock else 250.0, samples=250)
    assert [one for block in blocks for one in block.notes if "blank" in one] == expected


@settings(max_examples=draws(25), deadline=None)
@example(before=3, count=100, sign="#", has_clock=True)
@example(before=1, count=450, sign="// a", has_clock=False)
@given(
    before=st.integers(1, 30), count=st.integers(1, 450), sign=st.sampled_from(["#", "# 10:00, began", "// a", "%"]),
    has_clock=st.booleans(),
)  # fmt: skip
def test_rows_before_many_remarks_are_rows(
    before: int, count: int, sign: str, has_clock: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "remarks.csv"
    rows = [f"{k / 250:.3f},{v:.4f}\n" if has_clock else f"{v:.4f}\n" for k, v in enumerate(MV)]
    lines = ["t,ECG (mV)\n" if has_clock else "ECG (mV)\n", *rows[:before], *[f"{sign}\n"] * count, *rows[before:]]
    path.write_text("".join(lines))
    recording = read_recording(path, fs=250)
    assert recording.leads == ("ECG",)
    assert np.abs(recording.samples[0] * recording.uv_per_unit / 1000 - MV).max() < 0.001


@pytest.mark.parametrize("packed", [False, True])
def test_a_line_of_nothing_but_tabs_is_a_row_without_values_where_they_part_columns(
    tmp_path: Path, packed: bool
) -> None:
    rows = [f"{-v:.4f}\t{v:.4f}\n" for v in MV]
    text = "".join(["V1\tII\n", *rows[:300], "\t\n", *rows[300:]]).encode()
    (tmp_path / "x.tsv").write_bytes(gzip.compress(text) if packed else text)
    recording = read_recording(tmp_path / "x.tsv", fs=250)
    assert recording.samples.shape == (2, 601)
    assert not [one for one in recording.notes if "blank" in one]


def test_the_notes_name_the_first_line(tmp_path: Path) -> None:
    rows = [f"{k / 250:.3f},{v:.4f}" for k, v in enumerate(MV)]
    rows[100:100] = ["# one"]
    rows[200:200] = ["# two", "time,ecg"]
    (tmp_path / "x.csv").write_text("\n".join(["time,ecg", *rows, "END", "600 rows"]) + "\n")
    assert read_recording(tmp_path / "x.csv").notes[:3] == (
        "2 lines are remarks, first line 102 ('# one'): left out",
        "the names come again in line 203 ('time,ecg'): left out",
        "2 lines after the last row are none, from line 605 ('END'): left out",
    )


def test_a_table_with_many_lines_of_text_after_its_rows_is_refused(tmp_path: Path) -> None:
    rows = [f"{k / 250:.3f},{v:.4f}" for k, v in enumerate(MV)]
    (tmp_path / "x.csv").write_text("\n".join(["time,ecg", *rows, *["a word"] * 60]) + "\n")
    with pytest.raises(Exception, match=r"x.csv: expected 2 columns in every line; line 602 has 1"):
        read_recording(tmp_path / "x.csv")
