"""Text tables with several samples of one lead in a row: rate, order, gaps; leads beside each other stay leads."""

from pathlib import Path

import numpy as np
import pytest
from beatwire.recordings import read_blocks, read_recording
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import heart, message_of

RATE_HZ = 250.0
MV = heart(RATE_HZ, seconds=20)
UV = np.round(MV * 1000).astype(int)
NAMES = {"repeated": "sample", "numbered": "s{}", "bracketed": "ecg[{}]", "unit": "e {} [uV]"}


def write(path: Path, size: int, names: str, delimiter: str = ",", lost: int = -1) -> int:
    """Write rows of so many samples behind their time in milliseconds; return the number of samples."""
    length = len(UV) // size * size
    head = [delimiter.join(["time [ms]", *(NAMES[names].format(k) for k in range(size))])] if names in NAMES else []
    rows = [delimiter.join(map(str, [4 * k, *UV[k : k + size]])) for k in range(0, length, size) if k != lost * size]
    path.write_text("\n".join([*head, *rows]) + "\n")
    return length


@settings(max_examples=draws(30), deadline=None)
@given(
    size=st.integers(5, 40), names=st.sampled_from([*NAMES, "none"]), delimiter=st.sampled_from(",;\t"),
    lost=st.sampled_from([-1, 7]),
)  # fmt: skip
def test_a_row_holds_several_samples_of_a_lead(
    size: int, names: str, delimiter: str, lost: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "packed.csv"
    length = write(path, size, names, delimiter, lost)
    recording = read_recording(path)
    expected = np.where(np.arange(length) // size == lost, -32768, UV[:length])
    assert (recording.rate_hz, recording.uv_per_unit) == (RATE_HZ, 1.0 if names == "unit" else 0.0)
    assert f"each row is read as {size} samples of one lead" in recording.notes
    assert np.array_equal(recording.samples, expected[None])
    assert sum(block.samples.shape[1] for block in read_blocks(path, samples=1000)) == length


@settings(max_examples=draws(30), deadline=None)
@given(
    leads=st.integers(5, 12), rate_hz=st.sampled_from([50, 100, 250]), spread=st.sampled_from([0.0, 0.02, 1.0]),
    header=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_leads_beside_each_other_are_leads_however_alike(
    leads: int, rate_hz: int, spread: float, header: bool, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "leads.csv"
    rng, mv = np.random.default_rng(seed), heart(rate_hz, seconds=8)
    values = mv * (1 + spread * rng.normal(size=(leads, 1))) + rng.normal(0, 0.1 * spread, (leads, len(mv)))
    head = [",".join(f"ecg{k}" for k in range(leads))] if header else []
    path.write_text("\n".join([*head, *(",".join(f"{v:.4f}" for v in row) for row in values.T)]) + "\n")
    recording = read_recording(path, fs=rate_hz)
    assert recording.samples.shape == values.shape
    assert np.abs(recording.samples * recording.uv_per_unit / 1000 - values).max() < 0.01


@settings(max_examples=draws(8), deadline=None)
@given(size=st.integers(6, 60), delimiter=st.sampled_from(",;\t "))
def test_rows_of_samples_need_neither_names_nor_a_clock(
    size: int, delimiter: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, length = tmp_path_factory.getbasetemp() / "bare.csv", len(UV) // size * size
    path.write_text("".join(delimiter.join(map(str, UV[k : k + size])) + "\n" for k in range(0, length, size)))
    assert np.array_equal(read_recording(path, fs=RATE_HZ).samples, UV[None, :length])


def test_a_row_that_is_cut_off_is_said_and_one_of_another_length_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    length = write(path, 16, "numbered")
    content = path.read_text()
    path.write_text(content[:-12])
    recording = read_recording(path)
    assert recording.samples.shape == (1, length - 16)
    assert "the last line is cut off: left out" in recording.notes
    path.write_text(content.replace(f"\n{64 * 30},", f"\n{64 * 30},5,"))
    assert message_of(path) == "x.csv: expected 17 cells in a row; line 32 has 18"
