"""EDF and BDF files of the tests, byte by byte: ``edfio`` writes right headers only."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass
class Raw:
    """A signal as a header describes it; ``digital`` int [records * samples in a record]."""

    label: str
    unit: str
    digital: np.ndarray
    physical: tuple[str, str] = ("-5", "5")
    range: tuple[int, int] = (-32768, 32767)


def write_raw_edf(
    path: Path, signals: list[Raw], records: int, *, bdf: bool = False, fill: bytes = b" ", **header: object
) -> None:
    """Write a file whose header may have another length, ``stated`` number of records, ``seconds``, date, ``kind``."""

    def field(value: object, width: int) -> bytes:
        return str(value).encode("latin-1")[:width].ljust(width, fill)

    size = [len(s.digital) // records for s in signals]
    head = b"\xffBIOSEMI" if bdf else b"0       "
    head += field("X", 80) + field("X", 80) + field(header.get("date", "01.01.20"), 8) + field("00.00.00", 8)
    head += field(header.get("length", 256 * (1 + len(signals))), 8)
    head += field(header.get("kind", ""), 44)
    head += field(header.get("stated", records), 8) + field(header.get("seconds", 1), 8) + field(len(signals), 4)
    for values, width in (
        ([s.label for s in signals], 16), ([""] * len(signals), 80), ([s.unit for s in signals], 8),
        ([s.physical[0] for s in signals], 8), ([s.physical[1] for s in signals], 8),
        ([s.range[0] for s in signals], 8), ([s.range[1] for s in signals], 8), ([""] * len(signals), 80), (size, 8),
        ([""] * len(signals), 32),
    ):  # fmt: skip
        head += b"".join(field(value, width) for value in values)
    rows = [s.digital.astype("<i4").reshape(records, -1, 1).view(np.uint8)[:, :, : 3 if bdf else 2] for s in signals]
    path.write_bytes(head + np.concatenate([r.reshape(records, -1) for r in rows], axis=1).tobytes())


def record_times(onsets: list[float], size: int = 16) -> Raw:
    """Return the signal of annotations that has the times of the data records of an EDF+D file."""
    texts = b"".join(f"+{onset:.9g}\x14\x14\0".encode().ljust(2 * size, b"\0") for onset in onsets)
    return Raw("EDF Annotations", "", np.frombuffer(texts, "<i2"))


def write_edf(path: Path, mv: np.ndarray, rate_hz: float, seconds: int = 20, **kwargs: object) -> None:
    """Write a file of one lead by ``edfio``."""
    import edfio

    signal = edfio.EdfSignal(mv, rate_hz, label="ECG II", physical_dimension="mV", physical_range=(-10, 10))
    edfio.Edf([signal], data_record_duration=1, **kwargs).write(path)
