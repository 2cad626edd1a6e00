"""Signal files of WFDB records: the digital values of their frames.

Formats: https://physionet.org/physiotools/wag/signal-5.htm. 508, 516 and 524 are FLAC, which the package ``soundfile``
reads. A file holds frames, one after the other; a frame holds one or more samples of each of its signals. What is read
in order is summed up: the sums are compared with the checksums of the header.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.wfdb.header import SignalLine

# Samples and bytes of the smallest group of whole bytes.
_GROUP = {
    "8": (1, 1), "16": (1, 2), "24": (1, 3), "32": (1, 4), "61": (1, 2), "80": (1, 1), "160": (1, 2), "212": (2, 3),
    "310": (3, 4), "311": (3, 4),
}  # fmt: skip
_FLAC = {"508": 8, "516": 16, "524": 24}  # bits of a sample
FORMATS = (*_GROUP, *_FLAC)
_MATLAB_5, _MATLAB_5_BYTES = b"MATLAB 5.0 MAT-file", 128  # it begins with a text; a header is for version 4
_SUMMED = 256  # frames that are one row while they are summed up
_FLAC_FRAMES = 1 << 20  # libsndfile fails above 2^24 samples at once
INVALID = {
    "16": -(2**15), "24": -(2**23), "32": -(2**31), "61": -(2**15), "80": -(2**7), "160": -(2**15), "212": -(2**11),
    "310": -(2**9), "311": -(2**9), "508": -(2**7), "516": -(2**15), "524": -(2**23),
}  # fmt: skip  # the digital value that marks a sample without a value


class SignalFile:
    """One signal file, as the lines of its signals in the header describe it.

    Parameters
    ----------
    record
        Name of the record, for error messages.
    path
        The file.
    lines
        Its signals, in order.
    frames
        Frames that the header states; None: as many as the file holds.

    Raises
    ------
    UserError
        The file does not exist, is shorter than its header states, has a format that does not exist, or signals with
        several formats or offsets.
    """

    def __init__(self, record: str, path: Path, lines: Sequence[SignalLine], frames: int | None) -> None:
        self.path, self.format, self.offset = path, lines[0].format, lines[0].offset
        self.widths = [line.frame for line in lines]
        self.initial = np.array([line.initial for line in lines], np.int64)
        self._kept: tuple[int, int, Any] | None = None  # the last frames that were read
        self._sum: tuple[int, Any] = 0, self.initial  # format 8: values before that frame
        self._checksums = [line.checksum for line in lines]
        self._totals, self._totalled = np.zeros(self.width, np.int64), 0  # of the frames before that one
        if self.format not in FORMATS or any(line.format != self.format for line in lines):
            got = ", ".join(dict.fromkeys(line.format for line in lines))
            raise UserError(f"{path.name}: expected one of the formats {', '.join(FORMATS)}; got {got}")
        if any(line.offset not in (0, self.offset) for line in lines):
            got = ", ".join(str(offset) for offset in dict.fromkeys(line.offset for line in lines))
            raise UserError(f"{path.name}: expected one offset of the first sample for all its signals; got {got}")
        if not path.is_file():
            raise UserError(f"{record}: expected {path.name} beside its header; there is none")
        with path.open("rb") as file:
            if file.read(len(_MATLAB_5)) == _MATLAB_5 and self.offset < _MATLAB_5_BYTES:
                got = "a file of MATLAB 5 or later: save it with version 4"
                raise UserError(f"{path.name}: expected samples from byte {self.offset}, as its header says; got {got}")
        held = self._frames_held()
        if frames is not None and held < frames:
            self._refuse(frames)
        self.held, self.frames = held, held if frames is None else frames

    @property
    def width(self) -> int:
        """Samples in a frame."""
        return sum(self.widths)

    def read(self, first: int, last: int) -> Any:
        """Return the frames ``[first, last)``: integers [last - first, samples in a frame]."""
        if self._kept is None or self._kept[:2] != (first, last):
            frames = self._read(first, last)
            self._kept = first, last, frames
            end = min(last, self.frames)
            if first <= self._totalled < end:
                self._totals += _totals(frames[self._totalled - first : end - first])
                self._totalled = end
        return self._kept[2]

    def is_as_stated(self) -> bool:
        """Return False if all frames were read in order, and a signal has another checksum than its header states."""
        totals = np.add.reduceat(self._totals, np.cumsum([0, *self.widths[:-1]]))
        pairs = zip(self._checksums, totals.tolist(), strict=True)
        return self._totalled != self.frames or all(c is None or (t - c) % 2**16 == 0 for c, t in pairs)

    def _read(self, first: int, last: int) -> Any:
        if self.format in _FLAC:
            return self._read_flac(first, last)
        if self.format == "8":
            return self._read_differences(first, last)
        return _decoded(self.format, *self._group_bytes(first, last)).reshape(last - first, self.width)

    def _frames_held(self) -> int:
        """Return the whole frames that the file holds."""
        if self.format in _FLAC:
            with self._flac() as file:
                if file.channels != len(self.widths) or len(set(self.widths)) > 1:
                    got = f"{file.channels}, of {self.widths} samples a frame"
                    raise UserError(f"{self.path.name}: expected {len(self.widths)} signals of one rate; got {got}")
                return max(0, int(file.frames) - self.offset) // self.widths[0]
        samples, size = _GROUP[self.format]
        groups, rest = divmod(max(0, self.path.stat().st_size - self.offset), size)
        # samples in the bytes of a group that is not complete
        partial = {"212": (0, 0, 1), "310": (0, 0, 1, 1), "311": (0, 0, 1, 2)}.get(self.format, (0, 0, 0, 0))[rest]
        return (groups * samples + partial) // self.width

    def _refuse(self, frames: int) -> None:
        """Raise the error of a file that is too short."""
        name, signals = self.path.name, len(self.widths)
        content = f"{frames} samples of {signals} lead{'s'[: signals > 1]}"
        if self.format in _FLAC:
            raise UserError(f"{name}: expected {content}; got {self._frames_held()}")
        samples, size = _GROUP[self.format]
        expected = self.offset - (-frames * self.width * size // samples)
        raise UserError(f"{name}: expected {expected} bytes ({content}); got {self.path.stat().st_size}")

    def _group_bytes(self, first: int, last: int) -> tuple[Any, int, int]:
        """Return the bytes of the groups that hold frames, uint8; the samples before them there, and their number."""
        samples, size = _GROUP[self.format]
        begin, end = first * self.width, last * self.width
        group, groups = begin // samples, -(-end // samples)
        count = (groups - group) * size
        with self.path.open("rb") as file:
            file.seek(self.offset + group * size)
            data = np.frombuffer(file.read(count), np.uint8)
        if len(data) < count:  # the last group need not be complete
            data = np.concatenate([data, np.zeros(count - len(data), np.uint8)])
        return data, begin - group * samples, end - begin

    def _read_differences(self, first: int, last: int) -> Any:
        """Read format 8: each sample is the sum of all differences up to it."""
        place, before = self._sum if self._sum[0] <= first else (0, self.initial)
        while place < last:
            upto = first if place < first else last
            differences = np.frombuffer(self._group_bytes(place, upto)[0], np.int8).reshape(upto - place, self.width)
            values, begin, ends = np.empty(differences.shape, np.int64), 0, []
            for row, width in enumerate(self.widths):
                part = differences[:, begin : begin + width].reshape(-1).cumsum(dtype=np.int64) + before[row]
                values[:, begin : begin + width] = part.reshape(-1, width)
                ends.append(part[-1])
                begin += width
            place, before = upto, np.array(ends, np.int64)
        self._sum = place, before
        return values if last > first else np.empty((0, self.width), np.int64)

    def _flac(self) -> Any:
        try:
            import soundfile
        except (ImportError, OSError):
            got = "it is not installed (pip install soundfile)"
            raise UserError(f"{self.path.name}: expected soundfile to read FLAC; {got}") from None
        try:
            return soundfile.SoundFile(str(self.path))
        except soundfile.LibsndfileError as error:
            raise UserError(f"{self.path.name}: expected a FLAC file; {error.error_string}") from None

    @staticmethod
    def _flac_into(file: Any, first: int, values: Any) -> int:
        """Read samples from ``first`` on into an array; return how many could be read."""
        import soundfile

        count = 0
        with suppress(soundfile.LibsndfileError):
            file.seek(first)
            for begin in range(0, len(values), _FLAC_FRAMES):
                count += len(file.read(out=values[begin : begin + _FLAC_FRAMES]))
        return count

    def _read_flac(self, first: int, last: int) -> Any:
        width = self.widths[0]
        total = (last - first) * width
        values = np.empty((total, len(self.widths)), np.int32)
        with self._flac() as file:
            bits = {"PCM_S8": 8, "PCM_16": 16, "PCM_24": 24}.get(file.subtype, 32)
            if bits > _FLAC[self.format]:
                got = f"{bits} bits"
                raise UserError(f"{self.path.name}: expected at most {_FLAC[self.format]} bits a sample; got {got}")
            if self._flac_into(file, self.offset + first * width, values) < total:
                got = f"{self.path.stat().st_size} bytes, which are damaged or cut off"
                raise UserError(f"{self.path.name}: expected {total} FLAC samples from {first * width}; got {got}")
        values >>= 32 - bits  # soundfile puts the highest bit first
        return values.reshape(-1, width, len(self.widths)).transpose(0, 2, 1).reshape(last - first, self.width)


def _totals(frames: Any) -> Any:
    """Return the sum of each column of frames, int64."""
    width, rows = frames.shape[1], len(frames) // _SUMMED * _SUMMED
    wide = frames[:rows].reshape(-1, _SUMMED * width).sum(axis=0, dtype=np.int64)  # in rows that are long: faster
    return wide.reshape(-1, width).sum(axis=0) + frames[rows:].sum(axis=0, dtype=np.int64)


def _decoded(form: str, data: Any, skipped: int, count: int) -> Any:
    """Return samples of bytes: ``count`` of them, without the first ``skipped``."""
    if form in ("16", "61", "32", "160", "80"):
        values = data.view({"16": "<i2", "61": ">i2", "32": "<i4", "160": "<u2", "80": "u1"}[form])
        if form == "160":
            values = (values.astype(np.int32) - 2**15).astype(np.int16)
        elif form == "80":
            values = values.astype(np.int16) - 2**7
        return values[skipped : skipped + count]
    if form == "24":
        b = data.reshape(-1, 3).astype(np.int32)
        return _signed(b[:, 0] | b[:, 1] << 8 | b[:, 2] << 16, 24)[skipped : skipped + count]
    samples, size = _GROUP[form]
    b = data.reshape(-1, size)
    values = np.empty((len(b), samples), np.int16)
    if form == "212":
        middle = b[:, 1].astype(np.int16)
        values[:, 0] = b[:, 0] | (middle & 15) << 8
        values[:, 1] = b[:, 2] | (middle >> 4) << 8
        return _signed(values.reshape(-1)[skipped : skipped + count], 12)
    w = b.astype(np.int16)
    if form == "310":
        values[:, 0] = w[:, 0] >> 1 | (w[:, 1] & 7) << 7
        values[:, 1] = w[:, 2] >> 1 | (w[:, 3] & 7) << 7
        values[:, 2] = w[:, 1] >> 3 | (w[:, 3] >> 3) << 5
    else:
        values[:, 0] = w[:, 0] | (w[:, 1] & 3) << 8
        values[:, 1] = w[:, 1] >> 2 | (w[:, 2] & 15) << 6
        values[:, 2] = w[:, 2] >> 4 | (w[:, 3] & 63) << 4
    return _signed(values.reshape(-1)[skipped : skipped + count], 10)


def _signed(values: Any, bits: int) -> Any:
    """Return unsigned numbers of so many bits as signed ones."""
    return values - ((values & 1 << bits - 1) << 1)
