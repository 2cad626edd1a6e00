"""Annotation files: clocks of their own, samples in frames, other endings; in evaluate, train and report."""

import json
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import wfdb
from beatwire.cli.main import app
from beatwire.errors import UserError
from beatwire.evaluation.records import read_annotated
from beatwire.recordings import read_recording
from beatwire.recordings.synthetic.person import synthesise
from beatwire.recordings.wfdb.annotations import checked_ending, read_annotations
from beatwire.report.annotations import annotations_of
from beatwire.training.vae.dataset import read_subjects
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

NUMBER = count()


def write_annotated(
    folder: Path, name: str, clock_hz: float | None, frame: int, ending: str, seconds: int = 60
) -> None:
    """Write a synthetic record of 250 Hz, ``frame`` samples in each frame, with annotations by a clock of their own."""
    made = synthesise(3, seconds=seconds, bpm=72, noise=0.01)
    samples = made.recording.samples[0, : 250 * seconds // frame * frame].astype(np.int64)
    wfdb.wrsamp(
        name, 250 / frame, ["mV"], ["II"], e_d_signal=[samples], samps_per_frame=[frame], fmt=["16"],
        adc_gain=[1000 / made.recording.uv_per_unit], baseline=[0], write_dir=str(folder),
    )  # fmt: skip
    at = np.rint(made.beats * (clock_hz or 250 / frame) / 250).astype(np.int64)
    own = {} if clock_hz is None else {"fs": clock_hz}
    wfdb.wrann(name, ending, at, ["N"] * len(at), write_dir=str(folder), **own)


@settings(max_examples=draws(25), deadline=None)
@given(
    clock_hz=st.sampled_from([None, 100.0, 250.0, 360.0, 1000.0, 128.5]), frame=st.sampled_from([1, 2, 4]),
    ending=st.sampled_from(["atr", "qrs", "ecg", "man"]),
)  # fmt: skip
def test_annotations_are_at_the_samples_of_the_recording_whatever_their_clock(
    clock_hz: float | None, frame: int, ending: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / f"a{next(NUMBER)}"
    folder.mkdir()
    write_annotated(folder, "r", clock_hz, frame, ending, seconds=20)
    truth = synthesise(3, seconds=20, bpm=72, noise=0.01).beats
    record = read_annotated(folder, "r", ending)
    assert record.recording.rate_hz == 250
    step = 250 / (clock_hz or 250 / frame)
    assert np.abs(record.beat - truth).max() <= 0.5 * max(step, 1) + 0.5
    notes: list[str] = []
    found = annotations_of(str(folder / "r"), read_recording(folder / "r"), notes.append, ending)
    assert found is not None
    assert (found.beat.tolist(), notes) == (record.beat.tolist(), [])
    if ending != "atr":
        assert annotations_of(str(folder / "r"), record.recording, notes.append) is None


def test_evaluate_and_train_read_clocks_and_endings(tmp_path: Path) -> None:
    for number, (clock_hz, frame) in enumerate([(1000.0, 1), (None, 2)]):
        write_annotated(tmp_path, f"r{number}", clock_hz, frame, "qrs")
    done = CliRunner().invoke(
        app, ["evaluate", str(tmp_path), "--annotations", ".qrs", "--backend", "cpu", "--json"]
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    figures = json.loads(done.stdout)
    assert figures["gross"]["f1"] == 100.0
    subjects = read_subjects([tmp_path], ending="qrs")
    assert [len(subject.label) for subject in subjects] == [72, 72]


def test_an_ending_without_files_and_one_that_cannot_be_an_ending_are_one_error(tmp_path: Path) -> None:
    write_annotated(tmp_path, "r", None, 1, "qrs", seconds=10)
    for command in (["evaluate", str(tmp_path)], ["evaluate", str(tmp_path), "--annotations", "man"]):
        done = CliRunner().invoke(app, [*command, "--backend", "cpu"])
        ending = command[-1] if "--annotations" in command else "atr"
        assert isinstance(done.exception, UserError)
        assert str(done.exception) == f"{tmp_path}: expected WFDB records with annotations (.{ending}); there are none"
    for ending in ("", "..", "a/b", "hea", ".dat"):
        with pytest.raises(UserError, match="--annotations: expected the ending of annotation files, such as atr or"):
            checked_ending(ending)
    with pytest.raises(UserError, match=r"--annotations: expected annotations of synthetic in files \.qrs"):
        annotations_of("synthetic", read_recording("synthetic:seconds=5"), print, "qrs")


def annotation_words(at: list[int]) -> bytes:
    """Return annotations, each with a text, in the words of an annotation file: its end mark is behind them."""
    written, before = b"", 0
    for now in at:
        if 0 <= now - before < 1024:
            written += (1 << 10 | now - before).to_bytes(2, "little")
        else:
            high, low = divmod((now - before) & 0xFFFFFFFF, 1 << 16)
            written += b"".join(word.to_bytes(2, "little") for word in (59 << 10, high, low, 1 << 10))
        written += (63 << 10 | 3).to_bytes(2, "little") + b"(N\0\0"
        before = now
    return written + b"\0\0"


@settings(max_examples=draws(60), deadline=None)
@given(
    steps=st.lists(st.integers(-700, 5000), min_size=1, max_size=30), cut=st.integers(0, 20),
    more=st.sampled_from([b"", b"\0\0", b"\1\4", b"\0\0\0\0\1\4\0\0"]),
)  # fmt: skip
def test_annotations_come_in_the_order_of_time_and_all_of_them_or_none(
    steps: list[int], cut: int, more: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    record = tmp_path_factory.getbasetemp() / f"n{next(NUMBER)}"
    at = np.cumsum([25_000, *steps]).tolist()
    content = annotation_words(at) + more
    record.with_suffix(".atr").write_bytes(content[: len(content) - cut])
    if cut <= len(more) and not any(more[: len(more) - cut]):
        found = read_annotations(record, 250.0)
        assert found.at.tolist() == sorted(at)
        assert [note.rstrip("\0") for note in found.note] == ["(N"] * len(at)
    else:
        with pytest.raises(UserError, match=rf"{record.name}\.atr: expected .* end mark"):
            read_annotations(record, 250.0)
