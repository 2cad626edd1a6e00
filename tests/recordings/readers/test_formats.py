"""Files of other formats: what a library wrote is read as it was, by content whatever the ending, or is one error."""

import importlib.util
import json
from contextlib import suppress
from itertools import count
from pathlib import Path

import beatwire
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pytest
import scipy.io
from acq_files import write_acq
from beatwire.recordings import NO_VALUE, formats, read_recording
from dicom_files import write_dicom
from draws import draws
from edf_files import write_edf
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from ishne_files import write_ishne
from sources import UV_PER, heart, message_of

edfio = pytest.importorskip("edfio", reason="needs edfio (pip install 'beatwire[formats]')")
pydicom = pytest.importorskip("pydicom", reason="needs pydicom (pip install 'beatwire[formats]')")
pytest.importorskip("bioread", reason="needs bioread (pip install 'beatwire[formats]')")
openpyxl = pytest.importorskip("openpyxl", reason="needs openpyxl (pip install 'beatwire[formats]')")
h5py = pytest.importorskip("h5py", reason="needs h5py (pip install 'beatwire[formats]')")

NUMBER = count()


@settings(max_examples=draws(25), deadline=None)
@given(
    sensitivity=st.sampled_from([0.001, 0.005, 2.5, 1.25]), unit=st.sampled_from(["uV", "mV"]),
    baseline=st.integers(-100, 100), rates=st.sampled_from([(250, 250), (500, 250)]), gap=st.integers(0, 3000),
)  # fmt: skip
def test_groups_of_a_dicom_waveform_are_one_recording_by_their_own_units_and_times(
    sensitivity: float, unit: str, baseline: int, rates: tuple[int, int], gap: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    path = tmp_path_factory.getbasetemp() / f"w{next(NUMBER)}.dat"
    assume(gap * max(rates) % 1000 != 500)  # between two samples
    raw = np.random.default_rng(gap).integers(-900, 900, (2, 2, 1000))
    baseline_in_unit = baseline * sensitivity
    write_dicom(path, [
        {"rate_hz": rates[0], "channels": [("Lead II (Einthoven)", sensitivity, unit, baseline_in_unit, raw[0, 0]),
                                           ("Lead V1", sensitivity, unit, 0, raw[0, 1])]},
        {"rate_hz": rates[0], "originality": "DERIVED",
         "channels": [("Lead II (Einthoven)", 1, "uV", 0, raw[0, 0][:300])]},
        {"rate_hz": rates[1], "offset_ms": 1000 * 1000 / rates[0] + gap,
         "channels": [("Lead II (Einthoven)", 2 * sensitivity, unit, 0, raw[1, 0])]},
    ])  # fmt: skip
    recording = read_recording(path, lead="II")
    assert recording.rate_hz == max(rates)
    uv = recording.samples[0] * recording.uv_per_unit
    step = UV_PER[unit] * sensitivity
    assert np.allclose(uv[:1000], (raw[0, 0] + baseline) * step, atol=0.51 * recording.uv_per_unit)
    start, stride = 1000 + round(gap * max(rates) / 1000), max(rates) // rates[1]
    assert np.allclose(uv[start::stride][:1000], raw[1, 0] * 2 * step, atol=0.51 * recording.uv_per_unit)
    assert (recording.samples[0, 1000:start] == NO_VALUE).all()
    assert "left out, derived: group 1" in recording.notes


def test_a_dicom_channel_without_sensitivity_is_not_calibrated_and_an_image_is_refused(tmp_path: Path) -> None:
    write_dicom(
        tmp_path / "u.dcm", [{"rate_hz": 250, "channels": [("Lead II (Einthoven)", None, "", 0, np.arange(500))]}]
    )
    assert read_recording(tmp_path / "u.dcm").uv_per_unit == 0
    image = pydicom.data.get_testdata_file("CT_small.dcm")
    assert message_of(image) == "CT_small.dcm: expected a DICOM waveform; got CT Image Storage"
    made = pydicom.dcmread(tmp_path / "u.dcm")
    del made.WaveformSequence[0].ChannelDefinitionSequence
    made.save_as(tmp_path / "v.dcm")
    expected = "v.dcm: expected a DICOM waveform; got: a file without ChannelDefinitionSequence"
    assert message_of(tmp_path / "v.dcm") == expected


def test_the_waveform_that_pydicom_ships_is_read_as_pydicom_reads_it() -> None:
    path = pydicom.data.get_testdata_file("waveform_ecg.dcm")
    recording = read_recording(path)
    assert recording.leads == ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")
    assert recording.rate_hz == 1000
    assert recording.notes == ("left out, derived: MEDIAN BEAT",)
    uv = pydicom.dcmread(path).waveform_array(0)
    assert np.allclose(recording.samples.T * recording.uv_per_unit, uv, atol=0.01)
    assert 8 <= len(beatwire.analyze(path).beats) <= 14


@settings(max_examples=draws(25), deadline=None)
@given(
    scale=st.sampled_from([0.001, -0.002, 0.0005]), offset=st.floats(-0.5, 0.5), divider=st.sampled_from([1, 2, 4]),
    floats=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_each_channel_of_a_biopac_file_has_its_own_rate_scale_and_offset(
    scale: float, offset: float, divider: int, floats: bool, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"b{next(NUMBER)}.bin"
    digital = np.random.default_rng(seed).integers(-900, 900, 400).astype("<i2")
    mv = digital * scale + offset
    ecg = ("ECG - ECG100C", "mV", divider, scale, offset, mv.astype("<f8") if floats else digital)
    other = ("RESP - RSP100C", "Volts", 1, 1.0, 0.0, np.zeros(400 * divider, "<i2"))
    write_acq(path, 1000, [other, ecg])
    recording = read_recording(path)
    assert (recording.leads, recording.rate_hz) == (("ECG - ECG100C",), 1000 / divider)
    assert recording.notes[0] == "left out: RESP - RSP100C"
    got = recording.samples[0] * recording.uv_per_unit / 1000
    assert np.abs(got - mv).max() <= 0.51 * max(abs(scale), recording.uv_per_unit / 1000) + 1e-6


def test_numbers_that_are_no_measurement_are_said(tmp_path: Path) -> None:
    ecg = ("ECG", "mV", 1, 0.001, 0.0, np.rint(heart(250) * 1000).astype("<i2"))
    other = ("EDA", "microsiemens", 1, 1.0, 0.0, np.full(len(ecg[-1]), 1e300, "<f8"))
    write_acq(tmp_path / "x.acq", 250, [other, ecg])
    recording = read_recording(tmp_path / "x.acq")
    assert recording.notes[1].endswith("numbers in 'EDA' are no measurement")


def of_samples(path: Path, kind: str, mv: np.ndarray, rate_hz: float) -> None:
    """Write samples in a format; its ending is that of ``path``."""
    if kind == "edf":
        write_edf(path, mv, rate_hz)
    elif kind == "bdf":
        signal = edfio.BdfSignal(mv, rate_hz, label="ECG", physical_dimension="mV", physical_range=(-10, 10))
        edfio.Bdf([signal]).write(path)
    elif kind == "dcm":
        channel = ("II", 1.0, "uV", 0, np.rint(mv * 1000))
        write_dicom(path, [{"rate_hz": rate_hz, "channels": [channel]}])
    elif kind == "acq":
        write_acq(path, rate_hz, [("ECG", "mV", 1, 0.001, 0.0, np.rint(mv * 1000).astype("<i2"))])
    elif kind == "ishne":
        write_ishne(path, np.rint(mv[None] * 200).astype(np.int16), round(rate_hz), [6], [5000])
    elif kind == "parquet":
        pd.DataFrame({"II": mv}).to_parquet(path)
    elif kind == "feather":
        pa.feather.write_feather(pd.DataFrame({"II": mv}), path)
    elif kind == "xlsx":
        book = openpyxl.Workbook()
        for row in [["time (s)", "II (mV)"], *([k / rate_hz, float(v)] for k, v in enumerate(mv))]:
            book.active.append(row)
        book.save(path)
    elif kind == "h5":
        with h5py.File(path, "w") as file:
            file["ecg"], file["fs"] = mv, rate_hz
    elif kind == "json":
        path.write_text(json.dumps({"fs": rate_hz, "II": mv.tolist()}))
    else:
        with path.open("wb") as file:
            if kind == "npy":
                np.save(file, mv)
            elif kind == "npz":
                np.savez(file, ecg=mv, fs=rate_hz)
            else:
                scipy.io.savemat(file, {"val": mv}, format="4" if kind == "mat4" else "5", appendmat=False)


KINDS = ("edf", "bdf", "dcm", "acq", "ishne", "parquet", "feather", "json", "npy", "npz", "mat4", "mat5", "h5", "xlsx")


@pytest.mark.parametrize("kind", KINDS)
def test_the_content_decides_and_every_way_gives_the_beats(kind: str, tmp_path: Path) -> None:
    mv = heart(250)
    states_none = kind in ("parquet", "feather", "npy", "mat4", "mat5")
    expected = beatwire.analyze(mv, 250).beats["sample"].to_numpy()
    assert len(expected) > 20
    for ending in (".edf", ".csv", ".dat2", ""):
        path = tmp_path / f"{kind}{ending}"
        of_samples(path, kind, mv, 250)
        fs = 250 if states_none else None
        result = beatwire.analyze(path, fs, lead="first")
        assert result.recording.uv_per_unit > 0
        assert np.abs(result.beats["sample"].to_numpy() - expected).max() <= 1
        if states_none:
            assert message_of(path).startswith(f"{path.name}: expected a sampling rate; the")
        else:
            assert message_of(path, fs=300).startswith(f"{path.name}: expected --fs 250, the rate of its ")
    parts = [part.beats for part in beatwire.iterate(path, fs, block_samples=777)]
    assert np.abs(pd.concat(parts)["sample"].to_numpy() - expected).max() <= 1


@pytest.mark.parametrize(
    ("kind", "package", "name"),
    [
        ("edf", "edfio", "EDF, EDF+"),
        ("bdf", "edfio", "BDF"),
        ("dcm", "pydicom", "DICOM"),
        ("acq", "bioread", "BIOPAC"),
        ("xlsx", "openpyxl", "Excel"),
        ("h5", "h5py", "HDF5, MATLAB 7.3"),
    ],
)
def test_without_its_package_a_format_names_what_to_install(
    kind: str, package: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_samples(tmp_path / "x", kind, heart(250), 250)
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(formats, "find_spec", lambda one: None if one == package else find_spec(one))
    assert message_of(tmp_path / "x") == (
        f"x: expected {package} to read {name}; it is not installed (pip install 'beatwire[formats]')"
    )


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (b"ISHNE1.0" + bytes(600), "x: expected 1-12 leads; its header states 0"),
        (b"ANN  1.0" + bytes(600), "x: expected an ECG recording; got annotations of an ISHNE Holter file"),
        (
            bytes(16) + b"SCPECG" + bytes(300),
            "x: expected an ECG recording; got an SCP-ECG file, which beatwire does not",
        ),
        (b"\x89HDF\r\n\x1a\n" + bytes(300), "x: expected an HDF5 file; got: "),
        (b"PK\x03\x04" + bytes(300), "x: expected a ZIP archive; got: "),
        (
            b"RIFF\x10\0\0\0WAVEfmt " + bytes(300),
            "x: expected an ECG recording; got a WAV file, which beatwire does not",
        ),
        (
            b"\x40\x20MFR Standard" + bytes(300),
            "x: expected an ECG recording; got an MFER file, which beatwire does not",
        ),
        (b"\x80\x04\x95" + bytes(300), "x: expected an ECG recording; got a pickle of Python, which beatwire does not"),
        *(
            (
                begin + b"MSH|^~\\&|A\rOBX|1|NA|II||1^2^3\r",
                "x: expected an ECG recording; got a message of HL7 v2, which",
            )
            for begin in (b"", b"\x0b", b"\r\n", b"\xef\xbb\xbf", b"FHS|^~\\&|A\rBHS|^~\\&\r")
        ),
        (b"MATLAB 7.3 MAT-file" + bytes(300), "x: expected an HDF5 file; got: "),
        (
            b'<?xml version="1.0"?>\n<AnnotatedECG>\n<digits>1 2 3</digits>\n</AnnotatedECG>\n',
            "x: expected an ECG recording; got an HL7 aECG document, which beatwire does not read",
        ),
        (b"<!DOCTYPE html><html><body>404</body></html>", "x: expected an ECG recording; got an XML or HTML document"),
        (b"PAR1" + bytes(300), "x: expected a Parquet table; got: "),
        (b"\x93NUMPY" + bytes(300), "x: expected arrays of numbers; got: "),
        (b"MATLAB 5.0 MAT-file" + bytes(300), "x: expected a MATLAB file; got: "),
        (bytes(128) + b"DICM" + bytes(300), "x: expected a DICOM waveform; got"),
        (b"\xffBIOSEMI" + b" " * 300, "x: expected an EDF or BDF file; got: "),
    ],
)
def test_a_damaged_file_and_one_of_a_format_that_is_not_read_are_one_error(
    head: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / "x").write_bytes(head)
    found = message_of(tmp_path / "x")
    assert found.startswith(message)
    assert "\n" not in found


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_cut_anywhere_or_with_bytes_changed_is_read_or_is_a_user_error(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    of_samples(tmp_path / "x", kind, heart(100, 3), 100)
    content = (tmp_path / "x").read_bytes()
    for number in range(25):
        changed = bytearray(content if number % 2 else content[: rng.integers(1, len(content))])
        for _ in range(number // 5):
            changed[rng.integers(min(400, len(changed)))] = rng.integers(256)
        (tmp_path / "x").write_bytes(changed)
        with suppress(beatwire.UserError):
            read_recording(tmp_path / "x", fs=100)


@pytest.mark.parametrize("ending", [".edf", ".bdf", ".dcm", ".acq", ".parquet", ".npy", ".npz", ".mat", ".xyz"])
def test_a_text_table_with_the_ending_of_another_format_is_a_text_table(ending: str, tmp_path: Path) -> None:
    rows = "\n".join(f"{k / 250:.3f},{v:.4f}" for k, v in enumerate(heart(250, 4)))
    (tmp_path / f"x{ending}").write_text(f"time,II (mV)\n{rows}\n")
    recording = read_recording(tmp_path / f"x{ending}")
    assert (recording.leads, recording.rate_hz, recording.samples.shape) == (("II",), 250, (1, 1000))
