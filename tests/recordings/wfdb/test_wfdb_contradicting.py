"""WFDB records whose header and signal files contradict each other: nothing is lost or misread in silence."""

from itertools import count
from pathlib import Path

import numpy as np
import pytest
import soundfile
from beatwire.recordings import NO_VALUE, read_blocks, read_recording
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import message_of

NUMBER = count()


def write(folder: Path, lines: list[str], files: dict[str, bytes], length: int | None = None) -> Path:
    """Write a record of 250 Hz with these signal lines and files."""
    record = folder / f"c{next(NUMBER)}"
    record.mkdir()
    for name, content in files.items():
        (record / name).write_bytes(content)
    first = f"r {len(lines)} 250" + ("" if length is None else f" {length}")
    (record / "r.hea").write_text("\n".join([first, *lines]) + "\n")
    return record / "r"


@settings(max_examples=draws(40), deadline=None)
@given(
    offsets=st.lists(st.sampled_from([0, 0, 6, 24]), min_size=2, max_size=3), form=st.sampled_from(["16", "24", "212"])
)
def test_the_first_signal_of_a_file_states_its_offset_and_another_offset_is_an_error(
    offsets: list[int], form: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lines = [f"r.dat {form}+{offset} 200 12 0 0 0 0 lead {k}" for k, offset in enumerate(offsets)]
    size = {"16": 2, "24": 3, "212": 1.5}[form]
    content = bytes([1] * offsets[0]) + bytes(round(40 * len(offsets) * size))
    record = write(tmp_path_factory.getbasetemp(), lines, {"r.dat": content}, 40)
    if {*offsets} <= {0, offsets[0]}:
        assert not read_recording(record).samples.any()
    else:
        got = ", ".join(map(str, dict.fromkeys(offsets)))
        expected = "expected one offset of the first sample for all its signals"
        assert message_of(record) == f"r.dat: {expected}; got {got}"


@settings(max_examples=draws(40), deadline=None)
@given(
    lengths=st.lists(st.integers(1, 60), min_size=2, max_size=3), frame=st.sampled_from([1, 2]),
    block=st.integers(1, 70), seed=st.integers(0, 99),
)  # fmt: skip
def test_files_of_several_lengths_are_read_to_the_end_of_the_longest_and_it_is_said(
    lengths: list[int], frame: int, block: int, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rng = np.random.default_rng(seed)
    values = [rng.integers(-900, 900, n * frame) for n in lengths]
    lines = [f"{k}.dat 16x{frame} 200 12 0 0 0 0 lead {k}" for k in range(len(lengths))]
    files = {f"{k}.dat": v.astype("<i2").tobytes() for k, v in enumerate(values)}
    record = write(tmp_path_factory.getbasetemp(), lines, files)
    recording = read_recording(record)
    truth = np.full((len(lengths), max(lengths) * frame), NO_VALUE)
    for k, v in enumerate(values):
        truth[k, : len(v)] = v
    assert np.array_equal(recording.samples, truth)
    blocks = [part.samples for part in read_blocks(record, samples=block)]
    assert np.array_equal(np.concatenate(blocks, axis=1), truth)
    held = ", ".join(f"{k}.dat {n}" for k, n in enumerate(lengths))
    said = f"its header states no length, and its files hold several, in samples: {held}"
    assert (said in recording.notes) == (len({*lengths}) > 1)


@settings(max_examples=draws(40), deadline=None)
@given(
    form=st.sampled_from(["508", "516", "524"]), share=st.floats(0.0, 1.0) | st.just(1.0), first=st.integers(0, 20_000)
)
def test_flac_that_is_cut_off_is_an_error(
    form: str, share: float, first: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, bits = tmp_path_factory.getbasetemp(), int(form) % 500
    kind = {8: "PCM_S8", 16: "PCM_16", 24: "PCM_24"}[bits]
    values = np.random.default_rng(first).integers(-100, 100, (20_001, 2))
    path = folder / f"{next(NUMBER)}.flac"
    soundfile.write(path, (values << (32 - bits)).astype(np.int32), 250, subtype=kind, format="FLAC")
    content = path.read_bytes()
    kept = round(share * len(content))
    lines = [f"r.dat {form} 200 12 0 0 0 0 lead {k}" for k in range(2)]
    record = write(folder, lines, {"r.dat": content[:kept]}, 20_001)
    if kept < len(content):
        assert message_of(record).startswith("r.dat: expected ")
    else:
        assert np.array_equal(read_recording(record).samples, values.T)
