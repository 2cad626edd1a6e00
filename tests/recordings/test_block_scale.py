"""The scale of a recording in blocks is that of the first: what follows fits, or how much is clipped is said."""

import re
from pathlib import Path

import numpy as np
import pytest
from beatwire.recordings import NO_VALUE, read_blocks
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import UV_PER, heart

MV = heart(250, 8)


@settings(max_examples=draws(25), deadline=None)
@given(
    quiet_mv=st.sampled_from([0.0, 0.002, 0.05, 0.3]), uv=st.sampled_from([6e-4, 0.03125, 0.0477, 0.1]),
    offset_mv=st.sampled_from([0.0, 40.0]), size=st.integers(100, 400), seed=st.integers(0, 99),
)  # fmt: skip
def test_an_ecg_of_24_bits_behind_a_quiet_block_is_whole(
    quiet_mv: float, uv: float, offset_mv: float, size: int, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "bits.csv"
    mv = np.concatenate([np.random.default_rng(seed).uniform(-quiet_mv, quiet_mv, 400), 2 * MV]) + offset_mv
    path.write_text("\n".join(["II", *(f"{v}" for v in np.rint(mv * 1000 / uv).astype(int))]) + "\n")
    blocks = [*read_blocks(path, fs=250, samples=size, gain=1000 / uv)]
    got = np.concatenate([block.samples for block in blocks], axis=1)[0] * blocks[0].uv_per_unit / 1000
    error = got - mv
    assert np.abs(error - np.median(error)).max() < 0.002


@settings(max_examples=draws(25), deadline=None)
@given(
    quiet_mv=st.sampled_from([0.002, 0.01, 0.05, 0.1]), unit=st.sampled_from([*UV_PER, ""]),
    times=st.sampled_from([1.0, 3.0, 201.7]), size=st.integers(100, 400), seed=st.integers(0, 99),
)  # fmt: skip
def test_an_ecg_behind_a_quiet_block_is_whole_and_what_is_clipped_is_said(
    quiet_mv: float, unit: str, times: float, size: int, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "quiet.csv"
    mv = np.concatenate([np.random.default_rng(seed).uniform(-quiet_mv, quiet_mv, 400), times * MV]) + 1e-7
    values = mv * 1000 / UV_PER.get(unit, 1000.0)
    path.write_text("\n".join([f"II ({unit})" if unit else "II", *(f"{v:.9f}" for v in values)]) + "\n")
    blocks = [*read_blocks(path, fs=250, samples=size)]
    samples = np.concatenate([block.samples for block in blocks], axis=1)[0]
    assert len({block.uv_per_unit for block in blocks}) == 1
    assert (samples != NO_VALUE).all()
    notes = " ".join(note for block in blocks for note in block.notes)
    clipped = sum(map(int, re.findall(r"(\d+) values beyond the scale of the first block are clipped", notes)))
    whole = np.abs(samples.astype(int)) < 32767
    assert 0 <= (~whole).sum() - clipped <= 9  # some are rounded to the limit
    if unit:
        step_mv = blocks[0].uv_per_unit / 1000
        assert np.abs(samples[whole] * step_mv - mv[whole]).max() <= 0.51 * step_mv
        assert clipped == 0 or times > 200


@settings(max_examples=draws(30), deadline=None)
@given(
    code=st.sampled_from([-999, -9999, -999999]), size=st.integers(100, 400), other=st.sampled_from(["I", "b", "V5"]),
    more=st.integers(0, 1500),
)  # fmt: skip
def test_a_lead_that_is_off_throughout_the_first_block_is_read_from_where_it_is_on(
    code: int, size: int, other: str, more: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, off = tmp_path_factory.getbasetemp() / "off.csv", min(size + more, len(MV) - 300)
    rows = [f"{v:.4f},{code if k < off else -v:.4f}" for k, v in enumerate(MV)]
    path.write_text("\n".join([f"II (mV),{other} (mV)", *rows]) + "\n")
    blocks = [*read_blocks(path, fs=250, samples=size, column=f"II,{other}")]
    samples = np.concatenate([block.samples for block in blocks], axis=1)
    assert (samples[1, :off] == NO_VALUE).all()
    assert np.abs(samples[1, off:] * blocks[0].uv_per_unit / 1000 + MV[off:]).max() < 0.002


@pytest.mark.parametrize("first", ["", "0", "3.3"])
def test_a_column_that_the_first_block_left_out_and_that_has_a_signal_later_is_said_once(
    first: str, tmp_path: Path
) -> None:
    rows = [f"{v:.4f},{first if k < 400 else f'{-v:.4f}'}" for k, v in enumerate(MV)]
    (tmp_path / "later.csv").write_text("\n".join(["a,b", *rows]) + "\n")
    notes = [note for block in read_blocks(tmp_path / "later.csv", fs=250, samples=300) for note in block.notes]
    assert sum("column 'b', left out by the first block" in note for note in notes) == 1
    whole = [note for block in read_blocks(tmp_path / "later.csv", fs=250) for note in block.notes]
    assert not any("left out" in note for note in whole)


@settings(max_examples=draws(20), deadline=None)
@given(still=st.sampled_from([0, 3]), size=st.integers(100, 300), is_ecg=st.booleans())
def test_fractions_that_are_rounded_behind_a_block_of_whole_numbers_are_said(
    still: int, size: int, is_ecg: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "still.csv"
    later = [f"{v:.4f}" for v in MV] if is_ecg else ["7"] * len(MV)
    path.write_text("\n".join(["II", *[str(still)] * 400, *later]) + "\n")
    blocks = [*read_blocks(path, fs=250, samples=size)]
    said = sum("steps of the first block" in note for block in blocks for note in block.notes)
    assert said == is_ecg
