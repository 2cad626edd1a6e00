"""A disk that is full while a feed keeps or spools: one line, and what was complete stays complete."""

import os
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pytest
from beatwire.errors import FatalError
from beatwire_producers.devices.chunks import Chunk, Message
from beatwire_producers.devices.packets import Description
from beatwire_producers.devices.spool import Spool
from beatwire_producers.devices.wfdb_files import WfdbFolder


class Full:
    """A file whose last bytes have no room: as Python's, it says so again when it is closed."""

    def __getattr__(self, name: str) -> Any:
        raise OSError(28, os.strerror(28))


def chunk(stream: str) -> Chunk:
    described = Description(stream, ("II",), 250.0, 1.0)
    return Chunk(described, 250.0, 1.0, 1, 0, 1_700_000_000_000_000, np.zeros((1, 50), np.int16))


def test_records_that_cannot_be_ended_are_one_error_and_the_others_are_ended(tmp_path: Path) -> None:
    folder = WfdbFolder(tmp_path)
    for stream in ("a", "b"):
        folder.keep(chunk(stream))
    full = folder._records["a"]
    full.file.close()
    full.file = cast(BinaryIO, Full())
    with pytest.raises(FatalError, match=r"^--record .*: cannot be written: No space left on device$"):
        folder.close()
    assert sorted(path.read_text().split()[3] for path in tmp_path.glob("*.hea")) == ["0", "50"]


def test_a_header_that_has_no_room_leaves_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = WfdbFolder(tmp_path)
    folder.keep(chunk("a"))

    def write_text(path: Path, *_: object, **__: object) -> None:
        path.write_bytes(b"")
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Path, "write_text", write_text)
    with pytest.raises(FatalError, match="No space left on device"):
        folder.close()
    (header,) = tmp_path.glob("*.hea*")
    assert header.read_text().split()[3] == "0"


def test_a_spool_that_cannot_be_closed_is_one_error(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.put([Message(b"a", b"value", None)])
    assert spool._written is not None
    spool._written.close()
    spool._written = cast(BinaryIO, Full())
    with pytest.raises(FatalError, match=r"^--spool .*: cannot be written: No space left on device$"):
        spool.close()
    Spool(tmp_path).close()
