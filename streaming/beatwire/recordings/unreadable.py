"""Formats that are not read, told by the first bytes of a file; and what their users can do.

In:  the first bytes, :data:`HEAD_BYTES` or fewer, and the last byte that is no blank
Out: one text that says what the file is and what to do; empty if it may be read
"""

import re
import struct

HEAD_BYTES = 4096
_NOT_READ = "which beatwire does not read"
PACKED = "a compressed file: unpack it"
_TO_EDF, _TO_DICOM = (f"{_NOT_READ}: convert it to {to}" for to in ("EDF or WFDB", "DICOM or WFDB"))
_SCP, _MFER = f"an SCP-ECG file, {_TO_DICOM}", f"an MFER file, {_TO_EDF}"
_MAGIC = (
    (0, b"ANN  1.0", "annotations of an ISHNE Holter file, without its samples"),
    (16, b"SCPECG", _SCP),
    (2, b"MFR", _MFER),
    *((0, begin, "a header of BrainVision, " + _TO_EDF) for begin in (b"Brain Vision Data Ex", b"BrainVision Data Ex")),
    (0, b"XDF:", f"an XDF file, {_TO_EDF}"),
    (0, b"GDF ", f"a GDF file, {_NOT_READ}: convert it to EDF"),
    (0, b"fLaC", "a FLAC file without its WFDB header"),
    (8, b"WAVE", f"a WAV file, {_NOT_READ}: convert it to WFDB or CSV"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1", f"an old document of Office, {_NOT_READ}: save its sheet as CSV"),
    (0, b"FEA1", f"a Feather file of version 1, {_NOT_READ}: save it as Parquet"),
    *(
        (0, begin, f"a pickle of Python, {_NOT_READ}, as it may hold any program: save it as .npz or Parquet")
        for begin in (b"\x80\x02", b"\x80\x03", b"\x80\x04\x95", b"\x80\x05\x95")
    ),
    (0, b"SQLite format 3", f"an SQLite database, {_NOT_READ}: save its table as CSV"),
    (0, b"%PDF", "a PDF: the numbers of its curves are not in it"),
    *((0, begin, "a picture") for begin in (b"\x89PNG", b"\xff\xd8\xff")),
    *((0, begin, PACKED) for begin in (b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"\x28\xb5\x2f\xfd", b"Rar!")),
)

_HL7 = re.compile(rb"\s*(MSH|FHS|BHS)\|")  # a message, a file or a batch of them, as it is stored or sent (MLLP)
_TAG = re.compile(rb"<[?!A-Za-z]")
_DECLARED = re.compile(rb"<(\?xml|!doctype|!--|html)\b|<!--", re.IGNORECASE)  # no table begins so
_ECG_XML = re.compile(rb"<(?:[\w.-]+:)?(AnnotatedECG|RestingECG|restingecgdata|CardiologyXML)\b", re.IGNORECASE)
_OF_XML = {
    b"annotatedecg": "an HL7 aECG document", b"restingecg": "an XML document of GE Muse",
    b"restingecgdata": "an XML document of Philips", b"cardiologyxml": "an XML document of GE",
}  # fmt: skip
_ANY_XML = "an XML or HTML document"
_MFER_TAGS = (*range(0x01, 0x20), 0x3F, 0x40, 0x41, 0x42, *range(0x64, 0x68), *range(0x80, 0x8A))
_FEWEST_TAGS = 6


def plain(head: bytes) -> bytes:
    """Return the first bytes of a text without what UTF-16 and UTF-8 put between and before its letters."""
    return head.replace(b"\0", b"").lstrip(b"\xff\xfe" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else b"\xef\xbb\xbf")


def unreadable(head: bytes) -> str:
    """Return what a file is that is not read, by its first bytes, and what to do; empty if none of these.

    >>> unreadable(b"XDF: ...")
    'an XDF file, which beatwire does not read: convert it to EDF or WFDB'
    """
    found = next((what for at, magic, what in _MAGIC if head[at : at + len(magic)] == magic), "")
    if found:
        return found
    if _HL7.match(plain(head)):
        return f"a message of HL7 v2, {_NOT_READ}: save its samples as CSV"
    if _is_scp(head):
        return _SCP
    return _MFER if _is_mfer(head) else ""


def markup(head: bytes, last: bytes) -> str:
    """Return what a document of XML or HTML is, as :func:`unreadable`; empty if it is none, or the head of a table.

    A table may begin with a word in angle brackets; it does not end with one. A document that was cut off ends anyhow.
    """
    text = plain(head).lstrip()
    if not _TAG.match(text):
        return ""
    found = _ECG_XML.search(text)
    if found is None and last != b">" and not _DECLARED.match(text):
        return ""
    return f"{_OF_XML[found[1].lower()] if found else _ANY_XML}, {_NOT_READ}: convert it to WFDB or CSV"


def _is_scp(head: bytes) -> bool:
    """Return True if a file begins as SCP-ECG of an early version, without its name: section 0 points to itself."""
    if len(head) < 32:
        return False
    section, length = struct.unpack("<HI", head[8:14])
    pointer = struct.unpack("<HII", head[22:32])
    return length >= 36 and (length - 16) % 10 == 0 and section == 0 and pointer == (0, length, 7)


def _is_mfer(head: bytes) -> bool:
    """Return True if a file is a row of MFER's tags, each with its length, and begins with the order of its bytes."""
    if head[:3] not in (b"\x01\x01\x00", b"\x01\x01\x01"):
        return False
    at, tags = 0, set()
    while at + 2 <= len(head) and head[at] in _MFER_TAGS and head[at + 1] < 0x80:
        tags.add(head[at])
        at += 2 + head[at + 1]
    return len(tags) >= _FEWEST_TAGS
