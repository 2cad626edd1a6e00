"""BIOPAC AcqKnowledge files (``.acq``), by the package ``bioread``. Each channel has its own rate."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from beatwire.errors import UserError
from beatwire.recordings.kinds import uv_per_unit_of
from beatwire.recordings.signals import Signal, Signals, of_digital


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
    notes = (f"recorded in {appended} parts: the time between them is not in the file",) if appended > 1 else ()
    return Signals(where, path.stem, signals, notes, many=True)


def _signal(channel: Any) -> Signal:
    """Return the signal of a channel."""
    return of_digital(
        channel.raw_data, str(channel.name).strip("\0 "), float(channel.samples_per_second),
        float(channel.raw_scale_factor), float(channel.raw_offset), uv_per_unit_of(str(channel.units).strip("\0 ")),
    )  # fmt: skip
