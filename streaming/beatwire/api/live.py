"""``beatwire.Live``: push the chunks of a device, get beats and alerts as they are decided. No Kafka."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd

from beatwire.api.analyze import on_stderr
from beatwire.backends.choose import choose
from beatwire.errors import UserError
from beatwire.offline.collect import COLUMNS, no_beats
from beatwire.offline.exports import beats_table
from beatwire.offline.feed import Decided, Feed
from beatwire.pipeline.settings import Settings
from beatwire.recordings.arrays import UV_PER_UNIT, uv_per_value
from beatwire.recordings.record import MAX_LEADS, NO_VALUE, check_rate, unique_names
from beatwire.records import I16
from beatwire.service.warmup import compile_kernels
from beatwire.tables import host_array

_LARGEST = 32767


class Beat(NamedTuple):
    """A heartbeat, decided 0.3 s after its R peak.

    sample            index of R in the stream
    time_s            time of R, in seconds from sample 0
    rr_ms             interval to the beat before it in milliseconds, NaN if there is none
    quality           probability that it is a heartbeat, 0-1
    score             2: 1 in 100 normal beats looks as strange; NaN if it is not scored
    rate_bpm          60 s over the median of the last RR intervals, NaN if there is none
    response          of the detection filter
    prematurity       0: on time; 0.3: 30 % early, relative to the stream's own past
    scored_by         what determined the score, or why there is none
    decided           index of the sample with which it was decided
    map_x, map_y      place on the plane of the model's latents
    expected_errors   expected number of false and missed beats in the ten seconds up to it
    beat_class        N normal, S supraventricular, V ventricular, Q: cannot tell
    class_probability of that class
    """

    sample: int
    time_s: float
    rr_ms: float
    quality: float
    score: float
    rate_bpm: float
    response: float
    prematurity: float
    scored_by: str
    decided: int
    map_x: float
    map_y: float
    expected_errors: float
    beat_class: str
    class_probability: float


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
        return beats_table(dict(zip(COLUMNS, zip(*self.beats, strict=True), strict=False)) or no_beats(), self.fs)

    @staticmethod
    def of(decided: Decided, fs: float) -> Events:
        """Return what a feed decided."""
        columns, alerts = decided
        rows = zip(*(columns[name].tolist() for name in COLUMNS), strict=True)
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
        Of the chunks: ``mV``, ``uV`` or ``adc``. None: ``adc``.
    gain
        ADC units per millivolt; None with ``adc``: not calibrated.
    resolution_uv
        With ``mV`` and ``uV``: the step to which samples are rounded, in microvolts. They must lie within 32767 steps.
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
        self.fs = check_rate("fs", float(fs))
        self.leads = unique_names([str(name) for name in leads])
        if isinstance(leads, str) or not 1 <= len(self.leads) <= MAX_LEADS:
            raise UserError(f"leads: expected a list of 1-{MAX_LEADS} names; got {leads!r}")
        self._steps_per_unit, uv_per_unit = _scale(units, gain, resolution_uv)
        self._units = units or "adc"
        chosen = choose(backend)
        compile_kernels(notes, chosen)
        settings = Settings(model=Path(model)) if model is not None else Settings()
        start_us = round(1e6 * (time.time() if start_s is None else start_s))
        self._feed: Feed | None = Feed(
            replace(settings), stream, self.fs, self.leads, uv_per_unit, start_us=start_us, backend=chosen
        )

    @property
    def position(self) -> int:
        """Index of the next sample."""
        return self._open().encoder.position

    def push(self, chunk: Any, first: int | None = None) -> Events:
        """Take the next samples; return the beats and alerts that are decided with them.

        Parameters
        ----------
        chunk : [n] or [leads, n]
            Samples in ``units``; NaN, or -32768 in int16, where there is no value. Any length, also 0.
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
        feed, samples = self._open(), self._samples(chunk)
        return feed.push(samples, first) if samples.shape[1] else (no_beats(), [])

    def wait(self, seconds: float) -> Events:
        """Advance the clock without a chunk, in seconds; return the alerts that follow (``no data`` after 2 s)."""
        return Events.of(self._open().wait(seconds), self.fs)

    def close(self) -> Events:
        """End the stream: return the beats of its last second, which were not decided yet."""
        return Events.of(self.finish(), self.fs)

    def finish(self) -> Decided:
        """Do what :meth:`close` does; return columns of beats and alert transitions."""
        if self._feed is None:
            return no_beats(), []
        feed, self._feed = self._feed, None
        return feed.finish()

    def __enter__(self) -> Self:
        """Return the monitor itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the monitor."""
        self._feed = None

    def _open(self) -> Feed:
        if self._feed is None:
            raise ValueError("Live: expected an open monitor; it is closed")
        return self._feed

    def _samples(self, chunk: Any) -> I16:
        """Return a chunk as int16 [leads, n], checked."""
        values = np.atleast_2d(host_array(chunk))
        if values.ndim != 2 or values.shape[0] != len(self.leads):
            shape = "[n] or [1, n]" if len(self.leads) == 1 else f"[{len(self.leads)}, n]"
            raise UserError(f"push: expected a chunk of shape {shape}; got {list(np.shape(chunk))}")
        if values.dtype.kind not in "iuf":
            raise UserError(f"push: expected numbers; got values of type {values.dtype}")
        if self._steps_per_unit == 1.0 and values.dtype == np.int16:
            return values
        steps = np.floor(values.astype(np.float64) * self._steps_per_unit + 0.5)
        valid = np.isfinite(steps)
        if (np.abs(steps[valid]) > _LARGEST).any():
            largest = float(np.abs(values[valid]).max())
            limit = _LARGEST / self._steps_per_unit
            raise UserError(
                f"push: expected values within {limit:.6g} {self._units}; got {largest:.6g} "
                "(subtract the offset, or give a coarser resolution_uv)"
            )
        return np.where(valid, steps, NO_VALUE).astype(np.int16)


def _scale(units: str | None, gain: float | None, resolution_uv: float) -> tuple[float, float]:
    """Return the int16 steps per unit of the chunks, and the microvolts per step, 0 if not calibrated."""
    uv = uv_per_value(units, gain) or 0.0
    if units not in UV_PER_UNIT:
        return 1.0, uv
    if not 0 < resolution_uv < float("inf"):
        raise UserError(f"resolution_uv: expected a positive number of microvolts; got {resolution_uv:g}")
    return uv / resolution_uv, resolution_uv
