"""Formats that are not read are refused by name, however they come: never read as text, nor as a WFDB record."""

import gzip
import struct
import zipfile
from itertools import count

import numpy as np
import pytest
from beatwire.recordings import read_recording
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import message_of

NUMBER = count()
SAMPLES = [round(900 * (k % 200 == 100) + k % 7) for k in range(600)]
INT16 = struct.pack(f"<{len(SAMPLES)}h", *SAMPLES)
DIGITS = "\n".join(map(str, SAMPLES))


def _scp(name: bytes) -> bytes:
    pointers = struct.pack("<HII", 0, 136, 7).ljust(120, b"\0")
    sections = struct.pack("<HHIBB", 0x4321, 0, 136, 13, 13) + name + pointers + INT16
    return struct.pack("<HI", 0x1234, len(sections) + 6) + sections


def _mfer(preamble: bool, is_little: bool) -> bytes:
    order = "<" if is_little else ">"
    tags = [(0x40, b"MFR Standard 12 leads ECG".ljust(32))] if preamble else []
    tags += [(0x01, bytes([is_little])), (0x02, b"\1\0\0"), (0x0B, b"\1\xfd" + struct.pack(f"{order}H", 4)),
             (0x0C, b"\0\xfa" + struct.pack(f"{order}H", 1000)), (0x04, struct.pack(f"{order}I", len(SAMPLES))),
             (0x05, struct.pack(f"{order}I", 1)), (0x06, struct.pack(f"{order}I", 1))]  # fmt: skip
    long = b"\x1e\x84" + struct.pack(">I", len(INT16))
    return b"".join(bytes([tag, len(value)]) + value for tag, value in tags) + long + INT16


def _xml(root: str, before: str) -> str:
    return f'{before}<{root} xmlns="urn:hl7-org:v3">\n<digits>\n{DIGITS}\n</digits>\n</{root}>\n'


@st.composite
def documents(draw: st.DrawFn) -> tuple[bytes, str]:
    """A file of a format that is not read, and what it is."""
    kind = draw(st.sampled_from(["SCP-ECG", "MFER", "aECG", "Muse", "Philips"]))
    if kind == "SCP-ECG":
        return _scp(draw(st.sampled_from([b"SCPECG", bytes(6)]))), kind
    if kind == "MFER":
        return _mfer(draw(st.booleans()), draw(st.booleans())), kind
    root = {"aECG": "AnnotatedECG", "Muse": "RestingECG", "Philips": "restingecgdata"}[kind]
    prefix = draw(st.sampled_from(["", "hl7:", "n1:"])) if kind == "aECG" else ""
    before = draw(st.sampled_from(["", "\n", '<?xml version="1.0"?>\n', "<!-- made by a tool -->\n"]))
    text = _xml(prefix + root, before)
    text = text[: draw(st.sampled_from([len(text), len(text) // 2]))]  # whole, or cut off among its digits
    written = text.encode(draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])))
    return written + draw(st.sampled_from([b"", b"\0\0", b"\x1a"])), kind


@settings(max_examples=draws(60), deadline=None)
@given(
    document=documents(), ending=st.sampled_from(["ecg", "dat", "csv", "xml", "txt", "mat"]),
    packing=st.sampled_from(["", "gz", "zip"]),
)  # fmt: skip
def test_a_format_that_is_not_read_is_refused_by_its_name(
    document: tuple[bytes, str], ending: str, packing: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content, kind = document
    path = tmp_path_factory.getbasetemp() / f"u{next(NUMBER)}.{ending}"
    if packing == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"u.{ending}", content)
    else:
        path.write_bytes(gzip.compress(content) if packing else content)
    message = message_of(path, fs=500)
    assert "expected an ECG recording; got a" in message
    assert f" {kind} " in message.replace(",", " ")
    assert "which beatwire does not read: convert it to" in message


@pytest.mark.parametrize("name", ["<I>", "<ECG (mV)>"])
def test_a_table_whose_first_name_stands_in_angle_brackets_is_read(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"u{next(NUMBER)}.csv"
    path.write_text(f"{name},<II>\n" + "".join(f"{v / 1000},{v / 500}\n" for v in SAMPLES))
    assert read_recording(path, fs=250).samples.shape == (2, len(SAMPLES))


@settings(max_examples=draws(20), deadline=None)
@given(
    kind=st.sampled_from(["<i2", ">i2", "<i4", "<f4", "<f8"]), ending=st.sampled_from(["bin", "csv", "ecg", "dat"]),
    leads=st.integers(1, 3), scale=st.sampled_from([0.001, 1.0]),
)  # fmt: skip
def test_raw_samples_are_never_read_and_the_error_says_what_to_do(
    kind: str, ending: str, leads: int, scale: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"u{next(NUMBER)}.{ending}"
    values = np.array(SAMPLES * leads) * 1.0
    values = values * scale + np.random.default_rng(leads).normal(0, scale, len(values)) if kind[1] == "f" else values
    path.write_bytes(values.astype(kind).tobytes())
    message = message_of(path, fs=500)
    assert "raw samples" in message
    assert ".npy" in message
