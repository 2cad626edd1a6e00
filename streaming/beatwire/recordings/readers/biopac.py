"""BIOPAC AcqKnowledge files (``.acq``), by the package ``bioread``. Each channel has its own rate."""

import logging
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.columns.kinds import uv_per_unit_of
from beatwire.recordings.signals import Signal, Signals, of_digital

_NO_MEASUREMENT = 1e30  # in any unit


def read(path: Path) -> Signals:
    """Open a file of this format.

    Raises
    ------
    UserError
        The file is damaged.
    """
    import bioread

    where = path.name
    logger = logging.getLogger("bioread")
    level = logger.level
    logger.setLevel(logging.CRITICAL)  # what it would print becomes the error below
    try:
        opened = bioread.read(str(path))
        signals = tuple(_signal(channel) for channel in opened.channels)
    except Exception:  # its messages are about its own objects
        raise UserError(f"{where}: expected a BIOPAC file; got one that is damaged or incomplete") from None
    finally:
        logger.setLevel(level)
    appended = sum(getattr(marker, "type_code", None) == "apnd" for marker in opened.event_markers or [])
    notes = [f"recorded in {appended} parts: the time between them is not in the file"] if appended > 1 else []
    # bioread mistakes where samples begin in some files of version 3.8: bytes of one channel are read as another's.
    odd = [str(c.name) for c in opened.channels if c.dtype.kind == "f" and _largest(c.raw_data) > _NO_MEASUREMENT]
    if odd:
        notes.append(f"damaged, or of a version that is not read well: numbers in {odd[0]!r} are no measurement")
    return Signals(where, path.stem, signals, tuple(notes), many=True)


def _largest(values: Any) -> float:
    """Return the largest magnitude of finite values."""
    finite = values[np.isfinite(values)]
    return float(np.abs(finite).max()) if len(finite) else 0.0


def _signal(channel: Any) -> Signal:
    """Return the signal of a channel."""
    return of_digital(
        channel.raw_data, str(channel.name).strip("\0 "), float(channel.samples_per_second),
        float(channel.raw_scale_factor), float(channel.raw_offset), uv_per_unit_of(str(channel.units).strip("\0 ")),
    )  # fmt: skip
