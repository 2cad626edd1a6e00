"""Stretches of leads, of several rates or at one time, in DICOM groups and LabChart blocks: a value is its time."""

from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from beatwire.recordings import NO_VALUE, read_recording
from dicom_files import write_dicom
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import message_of

pytest.importorskip("pydicom", reason="needs pydicom (pip install 'beatwire[formats]')")

NUMBER = count()
FAST = st.sampled_from([500, 1000])
LAST = 12  # samples of a fast lead in one of a slow lead, or more
SLOW = st.sampled_from([100, 125, 128, 200, 240])


def times_ms(rate_hz: int, begin_s: float, seconds: float) -> np.ndarray:
    return 1000 * (begin_s + np.arange(round(seconds * rate_hz)) / rate_hz)


def write_groups(path: Path, fast: int, slow: int, begins_s: list[float], seconds: float) -> None:
    groups = [
        {"rate_hz": rate, "offset_ms": 1000 * begin_s, "stored": "SL", "bits": 32,
         "channels": [(name, 1, "uV", 0, np.rint(times_ms(rate, begin_s, seconds)))]}
        for begin_s in begins_s for rate, name in ((fast, "II"), (slow, "V1"))
    ]  # fmt: skip
    write_dicom(path, groups)


def write_blocks(path: Path, fast: int, slow: int, begins_s: list[float], seconds: float) -> None:
    pieces = [[times_ms(rate, begin_s, seconds) / 1000 for begin_s in begins_s] for rate in (fast, slow)]
    edges = np.cumsum([0, *(len(piece) for row in pieces for piece in row)])
    shape = 2, len(begins_s)
    scipy.io.savemat(path, {
        "data": np.concatenate([piece for row in pieces for piece in row])[None],
        "datastart": edges[:-1].reshape(shape) + 1.0, "dataend": edges[1:].reshape(shape) + 0.0,
        "samplerate": np.repeat([[float(fast)], [float(slow)]], len(begins_s), axis=1),
        "titles": np.array(["II", "V1"]), "unittext": np.array(["mV"]), "unittextmap": np.ones(shape),
        "blocktimes": 738000 + np.array(begins_s)[None] / 86400,
    })  # fmt: skip


@pytest.mark.parametrize("write", [write_groups, write_blocks])
@settings(max_examples=draws(15), deadline=None)
@given(fast=FAST, slow=SLOW, gaps_ms=st.lists(st.integers(20, 1500), min_size=1, max_size=3))
def test_a_slower_lead_is_at_its_time_to_the_sample_of_the_faster_one(
    write: Any, fast: int, slow: int, gaps_ms: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"stretches{next(NUMBER)}.x"
    begins_s = [0.0]
    for gap_ms in gaps_ms:
        begins_s.append(round(begins_s[-1] + 2 + gap_ms / 1000, 3))
    write(path, fast, slow, begins_s, 2.0)
    recording = read_recording(path)
    assert (recording.leads, recording.rate_hz) == (("II", "V1"), fast)
    got = np.where(recording.samples == NO_VALUE, np.nan, recording.samples * recording.uv_per_unit)
    known = np.isfinite(got).all(axis=0)
    inner = np.convolve(~known, np.ones(2 * LAST + 1), "same") == 0  # the last sample lasts until the end
    inner[-LAST:] = False
    assert inner.sum() > 0.8 * fast * 2 * len(begins_s)
    assert np.abs(np.diff(got[:, inner], axis=0)).max() <= 1.6 + 0.5 * 1000 / fast


@pytest.mark.parametrize("kind", ["group", "block"])
@settings(max_examples=draws(30), deadline=None)
@given(
    stretches=st.lists(st.tuples(st.integers(0, 3000), st.integers(100, 1500)), min_size=2, max_size=5),
    rate_hz=st.sampled_from([250, 500, 1000]),
)
def test_of_stretches_at_one_time_what_is_before_and_behind_the_longer_one_is_kept(
    kind: str, stretches: list[tuple[int, int]], rate_hz: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"overlap{next(NUMBER)}.x"
    first = min(begin for begin, _ in stretches)
    stretches = [(begin - first, length) for begin, length in stretches]
    if kind == "block":  # are in order
        stretches = sorted(dict(stretches).items())
    spans = [(begin, np.arange(begin, begin + length) * 1.0) for begin, length in stretches]
    if kind == "group":
        write_dicom(path, [
            {"rate_hz": rate_hz, "offset_ms": 1000 * begin / rate_hz, "stored": "SL", "bits": 32,
             "channels": [("II", 1, "uV", 0, values)]} for begin, values in spans
        ])  # fmt: skip
    else:
        edges = np.cumsum([0, *(len(values) for _, values in spans)])
        scipy.io.savemat(path, {
            "data": np.concatenate([values for _, values in spans])[None], "datastart": edges[None, :-1] + 1.0,
            "dataend": edges[None, 1:] + 0.0, "samplerate": np.full((1, len(spans)), float(rate_hz)),
            "titles": np.array(["II"]), "unittext": np.array(["uV"]), "unittextmap": np.ones((1, len(spans))),
            "blocktimes": 738000 + np.array([[begin / rate_hz / 86400 for begin, _ in spans]]),
        })  # fmt: skip
    recording = read_recording(path)
    samples = recording.samples[0]
    held = np.zeros(max(begin + len(values) for begin, values in spans), bool)
    for begin, values in spans:
        held[begin : begin + len(values)] = True
    slack = int((0.0011 + 0.001 * 6) * rate_hz) + 2  # samples of a piece that clocks alone may have made
    assert len(held) - slack <= len(samples) <= len(held)
    got = samples != NO_VALUE
    assert (held[: len(got)] | ~got).all()
    assert (held.sum() - got.sum()) <= slack * len(spans)
    at = np.flatnonzero(got)
    assert np.abs(samples[got] * recording.uv_per_unit - at).max() <= slack
    overlap = sum(len(values) for _, values in spans) - held.sum()
    lost = sum("at the time of another one" in note for note in recording.notes)
    assert lost > 0 if overlap > slack * len(spans) else lost <= len(spans)


@settings(max_examples=draws(15), deadline=None)
@given(gap_s=st.floats(86_402.1, 1e9), kind=st.sampled_from(["group", "block", "lead"]))
def test_stretches_more_than_a_day_apart_are_one_error(
    gap_s: float, kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"apart{next(NUMBER)}.x"
    if kind == "block":
        write_blocks(path, 500, 250, [0.0, gap_s], 2.0)
    else:
        leads = [("II", 0.0), ("V1" if kind == "lead" else "II", gap_s)]
        write_dicom(path, [
            {"rate_hz": 250, "offset_ms": 1000 * at, "channels": [(lead, 1, "uV", 0, np.arange(500))]}
            for lead, at in leads
        ])  # fmt: skip
    assert ": expected gaps shorter than a day; got " in message_of(path)
