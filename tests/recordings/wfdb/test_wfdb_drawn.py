"""WFDB records in every layout: formats, gains, frames, skews and segments are drawn, and the truth is known."""

import re
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import wfdb
from beatwire.recordings import NO_VALUE, Recording, as_recording, read_blocks, read_recording
from draws import draws
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sources import UV_PER

BITS = {
    "80": 8, "508": 8, "310": 10, "311": 10, "212": 12, "16": 16, "61": 16, "160": 16, "516": 16, "24": 24, "524": 24,
    "32": 24, "8": 12,
}  # fmt: skip
FLAC = ("508", "516", "524")
NUMBER = count()


@dataclass
class Lead:
    """A lead as it is drawn: how it is written, and its digital values (None: the mark of a missing one)."""

    name: str
    fmt: str
    frame: int
    gain: float
    baseline: int
    unit: str
    digital: np.ndarray
    missing: np.ndarray

    @property
    def uv(self) -> np.ndarray:
        out = (self.digital - self.baseline) / self.gain * UV_PER[self.unit]
        return np.where(self.missing, np.nan, out)


@st.composite
def leads(
    draw: st.DrawFn, names: list[str], frames: int, fmt: str | None = None, frame: int | None = None
) -> list[Lead]:
    """Draw the leads of one segment; values span about a millivolt, so that no offset is subtracted."""
    fmt = fmt or draw(st.sampled_from(sorted(BITS)))
    common = frame or draw(st.sampled_from([1, 1, 2, 4]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    found = []
    for name in names:
        own = common if frame or fmt in FLAC else draw(st.sampled_from([1, 2, 4]))
        half = 2 ** (min(BITS[fmt], 12) - 1) - 8
        baseline = draw(st.integers(-half // 4, half // 4))
        unit = draw(st.sampled_from(sorted(UV_PER)))
        gain = float(half) / draw(st.sampled_from([2.0, 3.0, 5.0])) * UV_PER[unit] / 1000
        digital = rng.integers(-half // 2, half // 2, frames * own)
        if fmt == "8":  # differences of at most seven bits
            digital = np.cumsum(rng.integers(-20, 20, frames * own))
        missing = rng.random(frames * own) < (0.0 if fmt == "8" else draw(st.sampled_from([0.0, 0.1])))
        found.append(Lead(name, fmt, own, gain, baseline, unit, digital, missing))
    return found


def encoded(fmt: str, flat: np.ndarray) -> bytes:
    """Return samples in a format that the ``wfdb`` package reads and does not write."""
    if fmt in ("61", "160"):
        return (flat.astype(">i2") if fmt == "61" else (flat + 2**15).astype("<u2")).tobytes()
    a, b, c = np.append(flat, np.zeros(-len(flat) % 3, int)).reshape(-1, 3).T & 0x3FF
    if fmt == "310":
        bytes_ = [(a & 127) << 1, (c & 31) << 3 | a >> 7, (b & 127) << 1, (c >> 5) << 3 | b >> 7]
    else:
        bytes_ = [a & 255, a >> 8 | (b & 63) << 2, b >> 6 | (c & 15) << 4, c >> 4]
    return np.stack(bytes_, axis=1).astype(np.uint8).tobytes()


def write(folder: Path, name: str, drawn: list[Lead], rate_hz: float) -> None:
    """Write one segment by the ``wfdb`` package; formats that it does not write, over its file of format 32."""
    marks = {"24": -(2**23), "524": -(2**23), "32": -(2**31)}
    fmt = drawn[0].fmt
    own = fmt in ("8", "61", "160", "310", "311")
    digital = [
        np.where(x.missing, marks.get(x.fmt, -(2 ** (BITS[x.fmt] - 1))), x.digital).astype(np.int64) for x in drawn
    ]
    wfdb.wrsamp(
        name, rate_hz, [x.unit for x in drawn], [x.name for x in drawn], e_d_signal=digital,
        samps_per_frame=[x.frame for x in drawn], fmt=["32" if own else fmt] * len(drawn),
        adc_gain=[x.gain for x in drawn], baseline=[x.baseline for x in drawn], write_dir=str(folder),
    )  # fmt: skip
    if own:
        frames = [d.reshape(-1, x.frame) for d, x in zip(digital, drawn, strict=True)]
        flat = np.concatenate(frames, axis=1).reshape(-1)
        if fmt == "8":
            steps = [np.diff(d, prepend=0).reshape(-1, x.frame) for d, x in zip(digital, drawn, strict=True)]
        dat = np.concatenate(steps, axis=1).astype(np.int8).tobytes() if fmt == "8" else encoded(fmt, flat)
        (folder / f"{name}.dat").write_bytes(dat)
        first, *lines = (folder / f"{name}.hea").read_text().splitlines()
        lines = [re.sub(r"^(\S+ )32", rf"\g<1>{fmt}", line) for line in lines]
        if fmt == "8":
            lines = [re.sub(r"^((\S+ ){5})\S+", r"\g<1>0", line) for line in lines]  # the value before the first
        (folder / f"{name}.hea").write_text("\n".join([first, *lines]) + "\n")


def same(recording: Recording, lead: int, uv: np.ndarray) -> None:
    """Compare a lead with its truth: to half a unit of the recording, and where there is no value."""
    samples = recording.samples[lead]
    assert len(samples) == len(uv)
    assert np.array_equal(samples == NO_VALUE, np.isnan(uv))
    if (samples != NO_VALUE).any():
        assert recording.uv_per_unit > 0
        difference = samples * recording.uv_per_unit - uv
        assert np.nanmax(np.abs(difference)) <= 0.51 * recording.uv_per_unit + 1e-6 * np.nanmax(np.abs(uv))


@settings(max_examples=draws(60), deadline=None)
@given(drawn=st.data(), frames=st.integers(1, 300), n=st.integers(1, 3))
def test_a_record_of_one_segment_is_read_as_it_was_written(
    drawn: st.DataObject, frames: int, n: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, name = tmp_path_factory.getbasetemp(), f"one{next(NUMBER)}"
    written = drawn.draw(leads(["II", "V5", "V1"][:n], frames))
    write(folder, name, written, 250.0)
    for k, lead in enumerate(written):
        if lead.missing.all():
            continue
        recording = read_recording(folder / name, lead=lead.name)
        assert recording.rate_hz == 250 * lead.frame
        same(recording, 0, lead.uv)
        cut = drawn.draw(st.integers(1, frames * lead.frame + 1))
        if not lead.missing[:cut].all():
            blocks = list(read_blocks(folder / name, column=str(k), samples=cut))
            joined = np.concatenate([b.samples[0] * b.uv_per_unit for b in blocks])
            valid = ~lead.missing
            assert np.allclose(joined[valid], lead.uv[valid], atol=0.51 * blocks[0].uv_per_unit)
    if written[0].fmt != "61" and not written[0].missing.all():  # wfdb fails on 61
        in_memory = as_recording(wfdb.rdrecord(str(folder / name), physical=False, smooth_frames=False), lead="first")
        same(in_memory, 0, written[0].uv)


@settings(max_examples=draws(40), deadline=None)
@given(drawn=st.data(), frames=st.integers(20, 300), n=st.integers(1, 3), in_segments=st.booleans())
def test_samples_that_differ_from_the_checksum_of_the_header_are_said(
    drawn: st.DataObject, frames: int, n: int, in_segments: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, name = tmp_path_factory.getbasetemp(), f"sum{next(NUMBER)}"
    written = drawn.draw(leads(["II", "V5", "V1"][:n], frames))
    assume(not any(lead.missing.all() for lead in written))
    write(folder, name, written, 250.0)
    record = folder / name
    if in_segments:
        record = folder / f"{name}m"
        record.with_suffix(".hea").write_text(f"{record.name}/2 {n} 250 {2 * frames}\n" + f"{name} {frames}\n" * 2)
    cut = drawn.draw(st.integers(1, frames * max(lead.frame for lead in written) + 1))

    def said() -> list[bool]:
        notes = [read_recording(record, lead="first").notes, read_recording(record).notes]
        if not any(lead.missing[:cut].all() for lead in written):
            notes.append(tuple(note for block in read_blocks(record, samples=cut) for note in block.notes))
        return [f"the checksums of {name}.dat differ" in " ".join(some) for some in notes]

    assert not any(said())
    written[0].digital[drawn.draw(st.integers(0, len(written[0].digital) - 1))] += 1
    written[0].missing[:] = False
    damaged = folder / f"{name}damaged"
    write(folder, damaged.name, written, 250.0)
    (folder / f"{name}.dat").write_bytes(damaged.with_suffix(".dat").read_bytes())
    stated = [
        re.search(r"(\S+ ){6}(\S+)", path.read_text().splitlines()[1])
        for path in (folder / f"{name}.hea", damaged.with_suffix(".hea"))
    ]
    checksums = [int(found[2]) % 2**16 for found in stated if found]
    assert all(said()) == (checksums[0] not in (0, checksums[1]))
    header = folder / f"{name}.hea"
    header.write_text(re.sub(r"^((\S+ ){6})\S+", r"\g<1>0", header.read_text(), flags=re.MULTILINE))
    assert not any(said())


@settings(max_examples=draws(40), deadline=None)
@given(drawn=st.data(), layout=st.booleans(), n=st.integers(1, 4))
def test_each_segment_is_read_by_its_own_header(
    drawn: st.DataObject, layout: bool, n: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, name = tmp_path_factory.getbasetemp(), f"many{next(NUMBER)}"
    names = ["II", "V5", "ABP"]
    frame = drawn.draw(st.sampled_from([1, 2]))
    truth: dict[str, list[np.ndarray]] = {lead: [] for lead in names}
    lines = [f"{name}l 0"] if layout else []
    first: list[str] = []
    for k in range(n):
        frames = drawn.draw(st.integers(1, 80))
        if layout and drawn.draw(st.booleans()):
            lines.append(f"~ {frames}")
            for lead in names:
                truth[lead].append(np.full(frames * frame, np.nan))
            continue
        present = drawn.draw(st.permutations(names)) if layout or k == 0 else drawn.draw(st.permutations(first))
        present = list(present[: drawn.draw(st.integers(1, 3))] if layout else present)
        first = first or present
        segment = drawn.draw(leads(present, frames, frame=frame))
        lower = drawn.draw(st.booleans()) and (layout or k > 0)
        spelled = [replace(x, name=x.name.lower()) for x in segment] if lower else segment
        write(folder, f"{name}s{k}", spelled, 250.0)
        lines.append(f"{name}s{k} {frames}")
        for lead in names:
            own = [x.uv for x in segment if x.name == lead]
            truth[lead].append(own[0] if own else np.full(frames * frame, np.nan))
    total = sum(int(line.split()[1]) for line in lines)
    (folder / f"{name}.hea").write_text("\n".join([f"{name}/{len(lines)} 3 250 {total}", *lines]) + "\n")
    (folder / f"{name}l.hea").write_text(f"{name}l 3 250 0\n" + "".join(f"~ 0 200/mV 16 0 0 0 0 {x}\n" for x in names))
    for lead in names:
        uv = np.concatenate(truth[lead])
        if not np.isfinite(uv).any() or lead == "ABP":
            continue
        recording = read_recording(folder / name, lead=lead)
        assert recording.rate_hz == 250 * frame
        same(recording, 0, uv)


@settings(max_examples=draws(25), deadline=None)
@given(skews=st.lists(st.integers(0, 9), min_size=2, max_size=3), offset=st.integers(0, 700), seed=st.integers(0, 99))
def test_skew_and_the_bytes_before_the_first_sample_are_followed(
    skews: list[int], offset: int, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, name = tmp_path_factory.getbasetemp(), f"skew{next(NUMBER)}"
    rng = np.random.default_rng(seed)
    digital = rng.integers(-900, 900, (40, len(skews)))
    (folder / f"{name}.dat").write_bytes(bytes(offset) + digital.astype("<i2").tobytes())
    lines = [f"{name}.dat 16:{skew}+{offset} 200 16 0 0 0 0 lead {k}" for k, skew in enumerate(skews)]
    (folder / f"{name}.hea").write_text("\n".join([f"{name} {len(skews)} 250 40", *lines]) + "\n")
    recording = read_recording(folder / name)
    for k, skew in enumerate(skews):
        assert np.array_equal(recording.samples[k][: 40 - skew], digital[skew:, k])
        assert (recording.samples[k][40 - skew :] == NO_VALUE).all()


@settings(max_examples=draws(25), deadline=None)
@given(rates=st.lists(st.sampled_from([1, 2, 3, 4]), min_size=2, max_size=3), frames=st.integers(20, 80))
def test_leads_of_different_rates_meet_at_the_highest_one_and_it_is_said(
    rates: list[int], frames: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, name = tmp_path_factory.getbasetemp(), f"rates{next(NUMBER)}"
    written = [
        Lead(f"lead {k}", "16", r, 200.0, 0, "mV", np.arange(frames * r) * 12 // r, np.zeros(frames * r, bool))
        for k, r in enumerate(rates)
    ]
    write(folder, name, written, 100.0)
    recording = read_recording(folder / name, lead="all")
    highest = max(rates)
    assert recording.rate_hz == 100 * highest
    assert recording.samples.shape == (len(rates), frames * highest)
    times = np.arange(frames * highest) / (100 * highest)
    for k, r in enumerate(rates):
        known = times <= (frames * r - 1) / (100 * r)
        mv = recording.samples[k][known] * recording.uv_per_unit / 1000
        assert np.allclose(mv, 12 * 100 * times[known] / 200, atol=0.0026)
    assert ("interpolation" in " ".join(recording.notes)) == (len(set(rates)) > 1)
    cut = [b.samples for b in read_blocks(folder / name, samples=37)]
    assert np.array_equal(np.concatenate(cut, axis=1), recording.samples)
