"""One stream that is pushed into a graph of its own, chunk by chunk, without a broker.

In:  int16 [leads, n], -32768 where there is no value
Out: the beats and alerts that are decided; the same as for the stream in one piece (law 1)

The clock of the graph is that of the signal: it stands at the end of the last chunk, and moves on by :meth:`Feed.wait`.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.errors import UserError
from beatwire.offline.results.collect import Collector, joined
from beatwire.offline.results.coverage import KEPT_S, hold_last
from beatwire.offline.results.merge import START_US
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings.record import NO_VALUE
from beatwire.records import I16, RawTick
from beatwire.stages.support.hum import Sign, newest_hum
from beatwire.wire.avro import encode_chunk

MAX_CHUNK_VALUES = 32_000  # samples times leads of a message, below the 64 kB of the wire format
TICK_S = 20.0  # of signal in a tick: the clock must not jump, or the stream would seem to have been silent
Decided = tuple[dict[str, Any], list[dict[str, Any]]]  # columns of beats, by `BEAT_FIELDS`; alert transitions


def together(decided: Sequence[Decided]) -> Decided:
    """Return what several pushes decided."""
    return joined([beats for beats, _ in decided]), [alert for _, alerts in decided for alert in alerts]


class Encoder:
    """Encodes the chunks of one stream as messages.

    Parameters
    ----------
    stream, rate_hz, leads, uv_per_unit
        As in the messages.
    start_us
        Device time of sample 0, microseconds since 1970.
    """

    def __init__(
        self, stream: str, rate_hz: float, leads: Sequence[str], uv_per_unit: float, start_us: int = START_US
    ) -> None:
        self.stream, self.rate_hz, self.leads, self.uv_per_unit = stream, rate_hz, leads, uv_per_unit
        self.start_us = start_us
        self.position = 0  # index of the next sample
        self.session = 1

    @property
    def now_us(self) -> int:
        """Device time of the next sample, microseconds since 1970."""
        return self.start_us + round(self.position * 1e6 / self.rate_hz)

    def messages(self, samples: I16) -> Iterator[bytes]:
        """Yield a chunk, int16 [leads, n], as one message, or as several if it is too long for one."""
        most = MAX_CHUNK_VALUES // len(self.leads)
        for start in range(0, samples.shape[1], most):
            part = samples[:, start : start + most]
            message = encode_chunk(
                self.stream, self.session, self.position, self.now_us, self.rate_hz, self.leads, part,
                uv_per_unit=self.uv_per_unit,
            )  # fmt: skip
            self.position += part.shape[1]
            yield message


class Feed:
    """A stream and its graph.

    Parameters
    ----------
    settings, backend
        Of the graph.
    stream, rate_hz, leads, uv_per_unit, start_us
        See :class:`Encoder`.
    timed
        False: it is a recording. Where it has no samples, there is no alert of silence.

    Raises
    ------
    UserError
        The model of the settings cannot be used.
    """

    def __init__(
        self,
        settings: Settings,
        stream: str,
        rate_hz: float,
        leads: Sequence[str],
        uv_per_unit: float,
        *,
        start_us: int = START_US,
        timed: bool = True,
        backend: Backend = CPU,
    ) -> None:
        self._timed = timed
        self.pipeline = Pipeline(settings, backend)
        self.encoder = Encoder(stream, rate_hz, leads, uv_per_unit, start_us)
        self._collector = Collector(self.pipeline.model)
        self.pipeline.subscribe(self.pipeline.alerts, self._collector.add)
        self._kept = math.ceil(KEPT_S * rate_hz)
        self._tail: I16 = np.zeros((len(leads), 0), np.int16)  # the last samples, which are held at the end
        self._waited_us = 0  # since the last chunk

    def push(self, samples: I16, first: int | None = None) -> Decided:
        """Take a chunk; return what is decided with it.

        Parameters
        ----------
        samples : int16 [leads, n]
            Not empty.
        first
            Index of its first sample; None: it follows the chunk before it. A greater index leaves a gap.

        Raises
        ------
        UserError
            ``first`` is before the end of the chunk before it.
        """
        if first is not None:
            if first < self.encoder.position:
                raise UserError(f"push: expected a first sample of {self.encoder.position} or greater; got {first}")
            missing = min(first - self.encoder.position, self._kept)
            self._tail = np.pad(self._tail, ((0, 0), (0, missing)), constant_values=NO_VALUE)
            self.encoder.position = first
        most = max(1, round(TICK_S * self.encoder.rate_hz))
        self._tail = np.concatenate([self._tail, samples[:, -self._kept :]], axis=1)[:, -self._kept :]
        self._waited_us = 0
        for start in range(0, samples.shape[1], most):
            self._tick(list(self.encoder.messages(samples[:, start : start + most])))
        return self._collector.take()

    def wait(self, seconds: float) -> Decided:
        """Advance the clock without a chunk; return what is decided by that (``no data``)."""
        self._waited_us += round(seconds * 1e6)
        self._tick([])
        return self._collector.take()

    def hum(self) -> list[Sign | None]:
        """Return the mains hum of each lead in the newest window of the stream; empty without any."""
        one, first = self.encoder, self.encoder.position - self._tail.shape[1]
        return newest_hum(self._tail, first, one.rate_hz, one.uv_per_unit, 1)

    def finish(self) -> Decided:
        """Hold the last value for a second, so that the last beats are decided; return them."""
        end = self.encoder.position
        if self._tail.shape[1]:
            one, first = self.encoder, end - self._tail.shape[1]
            self._tick(list(one.messages(hold_last(self._tail, one.rate_hz, one.uv_per_unit, first))))
        return self._collector.take(end)

    def _tick(self, messages: list[bytes]) -> None:
        now_us = self.encoder.now_us + self._waited_us if self._timed else 0
        self.pipeline.emit(RawTick.of(messages, now_us=now_us))
        if len(self.pipeline.rejected):
            raise UserError(f"{self.encoder.stream}: {self.pipeline.rejected.reason[0]}")
