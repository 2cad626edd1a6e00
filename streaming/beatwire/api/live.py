"""``beatwire.Live``: push the chunks of a device, get beats and alerts as they are decided. No Kafka."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from beatwire.api.live_chunks import ChunkColumns
from beatwire.api.live_clock import ChunkClock
from beatwire.api.notes import on_stderr
from beatwire.backends.choose import choose
from beatwire.errors import UserError
from beatwire.kernels.intake.avro import MAX_ID
from beatwire.offline.feed import Decided, Feed, together
from beatwire.offline.results.beat import BEAT_FIELDS, DTYPES, Beat
from beatwire.offline.results.collect import joined, no_beats
from beatwire.offline.results.exports import beats_table
from beatwire.pipeline.settings import Settings
from beatwire.recordings.arguments import file_path, number, positive, shown, string, whole
from beatwire.recordings.arguments import names as list_of_names
from beatwire.recordings.arrays import uv_per_value
from beatwire.recordings.columns.tables import floats
from beatwire.recordings.judged_scale import JudgedScale
from beatwire.recordings.leads import unique_names
from beatwire.recordings.record import MAX_LEADS, check_rate
from beatwire.service.warmup import compile_kernels

_MAX_INDEX = 1 << 53  # the wire format's, of samples and microseconds
_YEARS_S = 4e9  # from 1843 to 2096
_SINCE_1970 = "seconds since 1970"


@dataclass(frozen=True, slots=True)
class Events:
    """What a push decided; False if it decided nothing.

    beats    the beats, in order
    alerts   transitions of alerts, dicts with the keys of a message on ``ecg.alerts``
    """

    beats: tuple[Beat, ...]
    alerts: tuple[dict[str, Any], ...]
    fs: float

    def __bool__(self) -> bool:
        """Return True if there is a beat or an alert."""
        return bool(self.beats or self.alerts)

    def frame(self) -> pd.DataFrame:
        """Return the beats as a DataFrame with the columns of ``Result.beats``."""
        columns = dict(zip(BEAT_FIELDS, zip(*self.beats, strict=True), strict=False))
        typed = {
            name: np.array(values, None if DTYPES[name].kind == "U" else DTYPES[name])
            for name, values in columns.items()
        }
        return beats_table(typed or no_beats(), self.fs)

    @staticmethod
    def of(decided: Decided, fs: float) -> Events:
        """Return what a feed decided."""
        columns, alerts = decided
        rows = zip(*(columns[name].tolist() for name in BEAT_FIELDS), strict=True)
        return Events(tuple(Beat(*row) for row in rows), tuple(alerts), fs)


class Live:
    """A monitor of one stream, in this process.

    Parameters
    ----------
    fs
        Sampling rate in Hz, 50-4000.
    leads
        Names of the 1-12 leads.
    units
        Of the chunks: ``V``, ``mV``, ``uV``, ``nV`` or ``adc``. None: as for ``beatwire.analyze``, by the names of a
        table's columns, else by the first two seconds, which are held until then; int16 is ``adc``. What does not
        change yet is judged later, and what has outgrown int16 anew: the detection then begins anew.
    gain
        ADC units per millivolt; None with ``adc``: not calibrated.
    resolution_uv
        With a unit of voltage: the step to which samples are rounded, in microvolts. From what does not fit into int16,
        the offset of an electrode, an offset is subtracted that follows it; see ``beatwire.recordings.chunk_scale``.
    model
        The scoring model, ``NAME.safetensors``; None: the one in the package.
    backend
        ``cpu``, ``gpu`` or ``auto``.
    stream
        The stream id in the alerts.
    start_s
        Device time of sample 0, seconds since 1970; None: now.
    notes
        Called with each remark, one line; None: on standard error.

    Raises
    ------
    UserError
        An option or the model cannot be used.

    Examples
    --------
    >>> import numpy as np
    >>> import beatwire
    >>> ecg = beatwire.analyze("synthetic:seconds=20,bpm=60").signal()[0]  # millivolts
    >>> beats = []
    >>> with beatwire.Live(fs=250, leads=["II"], units="mV") as live:
    ...     for chunk in np.split(ecg, 100):  # 200 ms
    ...         beats += live.push(chunk).beats
    ...     beats += live.close().beats
    >>> len(beats)
    20
    """

    _timed = True  # silence is an alert

    def __init__(
        self,
        fs: float,
        leads: Sequence[str] = ("ECG",),
        *,
        units: str | None = None,
        gain: float | None = None,
        resolution_uv: float = 1.0,
        model: str | Path | None = None,
        backend: str = "cpu",
        stream: str = "live",
        start_s: float | None = None,
        notes: Callable[[str], None] = on_stderr,
    ) -> None:
        self.fs = check_rate("fs", fs)
        self.leads = unique_names(list_of_names("leads", leads, MAX_LEADS))
        resolution_uv = positive("resolution_uv", resolution_uv, "a positive number of microvolts")
        uv = uv_per_value(units, gain)
        self._notes = notes
        self._lock = threading.RLock()  # threads may push in turn
        is_exact = gain is not None or not (uv and uv[0])
        self._scale = JudgedScale(self.fs, self.leads, uv[0] if uv else None, is_exact, resolution_uv, self._note)
        self._clock = ChunkClock(self.fs, self._note)
        stated = f"units {units}" if gain is None else f"gain {gain:g}"
        self._columns = ChunkColumns(self.leads, (stated, uv[0]) if uv else None, self._note)
        self._unit: float | None = None  # that of the first table, in microvolts
        self._held: list[tuple[int, Any]] = []  # chunks and their first samples, until the scale is decided
        self._held_samples = 0  # in them
        if not 1 <= len(string("stream", stream, "a stream id").encode()) <= MAX_ID:
            raise UserError(f"stream: expected a stream id of 1-{MAX_ID} bytes; got {shown(stream)}")
        start_s = time.time() if start_s is None else number("start_s", start_s, _SINCE_1970, -_YEARS_S, _YEARS_S)
        self._most = min(_MAX_INDEX, int((_MAX_INDEX - 1e6 * start_s) * self.fs / 1e6)) - (1 << 32)  # room behind it
        chosen = choose(string("backend", backend, "cpu, gpu or auto"))
        compile_kernels(notes, chosen)
        settings = Settings(model=file_path("model", model)) if model is not None else Settings()
        self._feed: Feed | None = Feed(
            replace(settings), stream, self.fs, self.leads, self._scale.uv_per_unit, start_us=round(1e6 * start_s),
            timed=self._timed, backend=chosen,
        )  # fmt: skip

    @property
    def position(self) -> int:
        """Index of the next sample."""
        with self._lock:
            position = self._open().encoder.position
            return self._held[-1][0] + self._held[-1][1].shape[1] if self._held else position

    @property
    def hum(self) -> dict[str, dict[str, float | None]]:
        """Leads with mains hum in the last window of about 2.4 s: ``hz``, and ``mv`` peak (None: not calibrated)."""
        with self._lock:
            return {name: sign for name, sign in zip(self.leads, self._open().hum(), strict=False) if sign}

    def push(self, chunk: Any, first: int | None = None) -> Events:
        """Take the next samples; return the beats and alerts that are decided with them.

        Parameters
        ----------
        chunk : [n] or [leads, n]
            Samples in ``units``; NaN, or -32768 in int16, where there is no value. Any length, also 0. The columns of a
            table are the leads, by their names in any case; if none has such a name, all but clocks, in their order.
        first
            Index of its first sample; None: it follows the chunk before it. A greater index leaves a gap.

        Raises
        ------
        UserError
            The shape or a value is not possible, or ``first`` is before the end of the chunk before it.
        ValueError
            The monitor is closed.
        """
        return Events.of(self.decide(chunk, first), self.fs)

    def decide(self, chunk: Any, first: int | None = None) -> Decided:
        """Do what :meth:`push` does; return columns of beats and alert transitions."""
        with self._lock:
            feed, (values, unit), expected = self._open(), self._values(chunk), self.position
            if first is not None:
                first = whole("push: first", first, "the index of a sample, a whole number", low=-_MAX_INDEX)
                if not expected <= first <= self._most:
                    most = f"at most {self._most}" if first > self._most else f"{expected} or greater"
                    raise UserError(f"push: expected a first sample of {most}; got {first}")
            if not values.shape[1]:
                return no_beats(), []
            if unit is not None:
                self._take_unit(unit)
            at = expected if first is None else first
            self._clock.compare(chunk, at)
            self._scale.look_at(values.dtype)
            if not self._scale.begun and values.dtype == np.int16 and not self._held:
                self._scale.take_as_converter()
            if self._scale.begun:
                return self._push(feed, values, at)
            self._held.append((at, floats(values)))
            self._held_samples += values.shape[1]
            if self._held_samples < self._scale.held_samples:
                return no_beats(), []
            return self._release(feed)

    def _release(self, feed: Feed) -> Decided:
        """Decide the scale by the samples that are held, and push them."""
        if not self._held:
            return no_beats(), []
        held, self._held, self._held_samples = self._held, [], 0
        self._scale.begin(np.concatenate([chunk for _, chunk in held], axis=1)[:, : self._scale.held_samples])
        return together([self._push(feed, chunk, at) for at, chunk in held])

    def _push(self, feed: Feed, values: Any, first: int) -> Decided:
        """Push samples; another signal is another session."""
        decided = []
        for part in self._scale.parts(values, first):
            feed.encoder.session, feed.encoder.uv_per_unit = 1 + part.renewed, part.uv_per_unit
            decided.append(feed.push(part.samples, part.first))
        return together(decided)

    def wait(self, seconds: float) -> Events:
        """Advance the clock without a chunk, in seconds; return the alerts that follow (``no data`` after 2 s)."""
        with self._lock:
            feed = self._open()
            seconds = number("wait", seconds, "a number of seconds of at least 0", 0.0, _YEARS_S)
            beats, alerts = self._release(feed)
            later = feed.wait(seconds)
            return Events.of((joined([beats, later[0]]), alerts + later[1]), self.fs)

    def close(self) -> Events:
        """End the stream: return the beats of its last second, which were not decided yet."""
        return Events.of(self.finish(), self.fs)

    def finish(self) -> Decided:
        """Do what :meth:`close` does; return columns of beats and alert transitions."""
        with self._lock:
            if self._feed is None:
                return no_beats(), []
            beats, alerts = self._release(self._feed)
            feed, self._feed = self._feed, None
            last = feed.finish()
            return joined([beats, last[0]]), alerts + last[1]

    def __enter__(self) -> Self:
        """Return the monitor itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the monitor."""
        self._feed = None

    def _open(self) -> Feed:
        if self._feed is None:
            raise ValueError("Live: expected an open monitor; it is closed")
        return self._feed

    def _note(self, text: str) -> None:
        self._notes(f"Live: {text}")

    def _take_unit(self, uv: float) -> None:
        """Take the unit that a table states: the first one decides the scale, the others have the same.

        Raises
        ------
        UserError
            The chunks before it had another unit, or none.
        """
        if self._unit is None and not self._scale.begun and not self._held:
            self._unit = uv
            self._scale.take_unit(uv)
        elif self._unit != uv:
            got = f"{uv:g} uV a value" if uv else "no unit of voltage"
            raise UserError(f"push: expected the unit of the chunks before in the names of columns; got {got}")

    def _values(self, chunk: Any) -> tuple[Any, float | None]:
        """Return a chunk as float64 or int16 [leads, n], checked, and the unit that the names of its columns state."""
        array, unit = self._columns.rows_of(chunk)
        if array.shape[0] != len(self.leads):
            got = list(array.shape[1:]) if array.shape[0] == 1 and np.ndim(chunk) == 1 else list(array.shape)
            shape = "[n] or [1, n]" if len(self.leads) == 1 else f"[{len(self.leads)}, n]"
            raise UserError(f"push: expected a chunk of shape {shape}; got {got}")
        return array, unit
