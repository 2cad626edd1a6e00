"""ISHNE Holter files: samples, leads and scale of a known recording; what contradicts itself is said or refused."""

from itertools import count
from pathlib import Path

import beatwire
import numpy as np
import pytest
from beatwire.recordings import read_blocks, read_recording
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from ishne_files import UNKNOWN, write_ishne
from sources import heart, message_of

NUMBER = count()
NAMES = {2: "X", 3: "Y", 4: "Z", 5: "I", 6: "II", 7: "III", 8: "aVR", 9: "aVL", 10: "aVF", 11: "V1", 16: "V6", 17: "ES",
         19: "AI"}  # fmt: skip
DIGITAL = np.rint(np.stack([heart(200, 8), -heart(200, 8)]) * 200).astype(np.int16)


@settings(max_examples=draws(40), deadline=None)
@given(
    codes=st.lists(st.sampled_from([UNKNOWN, 0, 1, *NAMES]), min_size=1, max_size=12),
    resolution=st.sampled_from([250, 1000, 5000, 15000]), same=st.booleans(), rate_hz=st.sampled_from([128, 200, 1000]),
    variable=st.binary(max_size=99), stated=st.sampled_from(["a lead", "all leads", "unknown"]),
    unset=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_samples_are_read_with_the_name_and_the_resolution_of_each_lead(
    codes: list[int], resolution: int, same: bool, rate_hz: int, variable: bytes, stated: str, unset: bool, seed: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    path = tmp_path_factory.getbasetemp() / f"holter{next(NUMBER)}.ecg"
    digital = np.random.default_rng(seed).integers(-900, 900, (len(codes), 700)).astype(np.int16)
    resolutions = [resolution * (1 if same else 1 + k % 2) for k in range(len(codes))]
    size = {"a lead": 700, "all leads": 700 * len(codes), "unknown": UNKNOWN}[stated]
    write_ishne(path, digital, rate_hz, codes, resolutions, size=size, variable=variable, checksum=0 if unset else None)
    recording = read_recording(path)
    known = [NAMES.get(code, f"lead {k}") for k, code in enumerate(codes)]
    assert [name.split(".")[0] for name in recording.leads] == known
    assert (recording.rate_hz, recording.notes) == (rate_hz, ())
    uv = digital * np.array(resolutions)[:, None] / 1000
    assert np.abs(recording.samples * recording.uv_per_unit - uv).max() <= 0.51 * recording.uv_per_unit
    joined = np.concatenate([block.samples for block in read_blocks(path, samples=123)], axis=1)
    assert np.array_equal(joined, recording.samples)


def test_what_is_wrong_with_a_header_is_said(tmp_path: Path) -> None:
    path = tmp_path / "x.ecg"
    write_ishne(path, DIGITAL, 200, [5, 6], [5000, UNKNOWN], checksum=1, size=1500, behind=b"\1\2\3")
    recording = read_recording(path, lead="I")
    assert recording.notes[:4] == (
        "left out: II", "its header states 1500 samples; it holds 1600 of each lead",
        "left out: 3 bytes behind its last whole sample", recording.notes[3],
    )  # fmt: skip
    assert recording.notes[3].startswith("the checksum of its header is ")
    assert recording.uv_per_unit == 5
    write_ishne(path, DIGITAL, 200, [5, 6], [0, UNKNOWN])
    assert (read_recording(path).uv_per_unit, read_recording(path).leads) == (0, ("I", "II"))


@pytest.mark.parametrize(
    ("begin", "changed", "message"),
    [
        (156, b"\x0d\0", "expected 1-12 leads; its header states 13"),
        (156, b"\xf7\xff", "expected 1-12 leads; its header states -9"),
        (22, b"\x10\0\0\0", "expected samples behind its header, in 6922 bytes; it states byte 16"),
        (22, b"\xff\xff\0\0", "expected samples behind its header, in 6922 bytes; it states byte 65535"),
        (14, b"\xff\xff\0\0", "expected 65535 samples, as its header states; got 1600 of each lead"),
        (272, b"\xf7\xff", "expected a rate of 50-4000 Hz; got -9"),
        (5, b"2.0", "expected an ISHNE Holter file of version 1.0, with a header of 522 bytes; got 'ISHNE2.0'"),
    ],
)
def test_a_damaged_header_is_one_line(begin: int, changed: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.ecg"
    write_ishne(path, DIGITAL, 200, [5, 6], [5000, 5000])
    content = path.read_bytes()
    path.write_bytes(content[:begin] + changed + content[begin + len(changed) :])
    assert message_of(path) == f"x.ecg: {message}"
    for length in (8, 300, 521, 522, 1000):
        path.write_bytes(content[:length])
        assert message_of(path).startswith("x.ecg: expected ")


def test_a_holter_file_gives_the_beats_of_its_samples(tmp_path: Path) -> None:
    write_ishne(tmp_path / "x.ecg", DIGITAL, 200, [5, 6], [5000, 5000])
    found = beatwire.analyze(tmp_path / "x.ecg").beats["sample"].to_numpy()
    assert np.array_equal(found, beatwire.analyze(DIGITAL, 200, gain=200).beats["sample"].to_numpy())
    assert len(found) >= 8
