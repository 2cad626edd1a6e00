"""Keeps what devices sent as WFDB records: a record a session, in a folder.

In:  chunks in their order. Out: ``STREAM-SESSION.hea`` and ``.dat``, format 16; -32768 where there is no value. The
header is written when a record begins and when it ends, so a record can be read while it grows. What is not calibrated
has a gain of 0. A comment has the id of the stream.
"""

import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import numpy as np
from beatwire.errors import FatalError, UserError, printable
from beatwire.recordings.record import NO_VALUE

from beatwire_producers.devices.chunks import Chunk
from beatwire_producers.feeds import pseudonym

_LONGEST_HOLE_S = 3600.0  # that is written; after a longer one another record begins


@dataclass
class _Record:
    """A record that grows."""

    path: Path
    file: BinaryIO
    begin: Chunk
    length: int = 0  # samples a lead

    @property
    def next(self) -> int:
        return self.begin.first + self.length


class WfdbFolder:
    """Records in a folder, which is created if necessary.

    Raises
    ------
    UserError
        The folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._records: dict[str, _Record] = {}
        self._lock = threading.Lock()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"--record {folder}: expected a folder that can be written; got {error.strerror}"
            ) from error

    def keep(self, chunk: Chunk) -> None:
        """Write a chunk.

        Raises
        ------
        FatalError
            It cannot be written.
        """
        with self._lock:
            try:
                self._keep(chunk)
            except OSError as error:
                raise FatalError(f"--record {self._folder}: cannot be written: {error.strerror}") from error

    def close(self) -> None:
        """End all records.

        Raises
        ------
        FatalError
            One cannot be written; the others are ended.
        """
        failed: OSError | None = None
        with self._lock:
            for record in self._records.values():
                try:
                    self._end(record)
                except OSError as error:
                    failed = error
            self._records.clear()
        if failed is not None:
            raise FatalError(f"--record {self._folder}: cannot be written: {failed.strerror}") from failed

    def _keep(self, chunk: Chunk) -> None:
        stream = chunk.described.stream
        record = self._records.get(stream)
        if record is None or not _continues(record, chunk):
            if record is not None:
                self._end(record)
            record = self._records[stream] = self._begin(chunk)
        offset, count = chunk.first - record.begin.first, chunk.samples.shape[1]
        leads = chunk.samples.shape[0]
        if offset > record.length:
            record.file.seek(2 * leads * record.length)
            record.file.write(np.full(leads * (offset - record.length), NO_VALUE, "<i2").tobytes())
        record.file.seek(2 * leads * offset)  # a packet that was late fills its hole
        record.file.write(chunk.samples.T.astype("<i2").tobytes())
        record.length = max(record.length, offset + count)

    def _begin(self, chunk: Chunk) -> _Record:
        began = datetime.fromtimestamp(chunk.time_us / 1e6, UTC)
        name = f"{pseudonym(chunk.described.stream)}-{began:%Y%m%dT%H%M%S}"
        path, number = self._folder / name, 1
        while path.with_name(f"{path.name}.dat").exists():
            number += 1
            path = self._folder / f"{name}-{number}"
        record = _Record(path, path.with_name(f"{path.name}.dat").open("wb"), chunk)
        self._write_header(record)
        return record

    def _end(self, record: _Record) -> None:
        record.file.close()
        self._write_header(record)

    def _write_header(self, record: _Record) -> None:
        """Write the header: rate, start, units of each lead, and the length once it is known."""
        chunk, name = record.begin, record.path.name
        began = datetime.fromtimestamp(chunk.time_us / 1e6, UTC)
        gain = f"{1000 / chunk.uv_per_unit:.10g}" if chunk.uv_per_unit else "0"  # not calibrated
        length = f" {record.length}" if record.length else " 0"
        at = f"{began:%H:%M:%S}.{began.microsecond // 1000:03} {began:%d/%m/%Y}"
        lines = [f"{name} {len(chunk.described.leads)} {chunk.rate_hz:.10g}{length} {at}"]
        leads = map(printable, chunk.described.leads)
        lines += [f"{name}.dat 16 {gain}(0)/mV 16 0 0 0 0 {lead}" for lead in leads]
        lines.append(f"# stream {printable(chunk.described.stream)}")  # the names of two may differ in other signs
        part = record.path.with_name(f"{name}.hea.part")  # a full disk leaves the header of before
        try:
            part.write_text("\n".join(lines) + "\n", encoding="utf-8")
            part.replace(record.path.with_name(f"{name}.hea"))
        finally:
            part.unlink(missing_ok=True)


def _continues(record: _Record, chunk: Chunk) -> bool:
    """Return True if a chunk belongs to a record."""
    begin = record.begin
    return (
        chunk.session == begin.session
        and chunk.described == begin.described
        and chunk.uv_per_unit == begin.uv_per_unit
        and chunk.first >= begin.first
        and chunk.first - record.next <= _LONGEST_HOLE_S * chunk.rate_hz
    )
