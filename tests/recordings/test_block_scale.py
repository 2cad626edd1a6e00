"""The scale of a recording in blocks is that of the first: what follows fits, or how much is clipped is said."""

import re

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
