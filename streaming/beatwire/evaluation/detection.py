"""What is classified: a *detect* callable, what it is given and what it has to give back.

``detect(samples, rate_hz, uv_per_unit, cuts) -> Detected`` runs a whole recording, cut into
chunks and ticks as ``cuts`` says. The streamed pipeline, a rival package and a test's hand-made
detector all have this shape.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from beatwire.records import F64, I16, I64


@dataclass(frozen=True)
class Cuts:
    """Where a recording is cut.

    chunk  int64 [k + 1], chunk k is samples ``[chunk[k], chunk[k + 1])``
    tick   int64 [t + 1], tick t is chunks ``[tick[t], tick[t + 1])``
    """

    chunk: I64
    tick: I64

    @staticmethod
    def random(samples: int, rate_hz: float, seed: int) -> Cuts:
        """Cut into chunks of 20-400 ms and ticks of 1-60 chunks, seeded."""
        rng = np.random.default_rng(seed)
        low, high = max(1, int(0.02 * rate_hz)), max(2, int(0.4 * rate_hz))
        lengths = rng.integers(low, high + 1, samples // low + 1)
        edges = np.concatenate([[0], np.cumsum(lengths)])
        chunk = np.append(edges[edges < samples], samples).astype(np.int64)
        chunks = len(chunk) - 1
        ticks = np.concatenate([[0], np.cumsum(rng.integers(1, 61, chunks))])
        return Cuts(chunk, np.append(ticks[ticks < chunks], chunks).astype(np.int64))


@dataclass(frozen=True)
class Alarm:
    """An alarm of one rule, on from its onset until ``ended``; sample indices."""

    rule: str
    onset: int
    decided: int
    ended: int


@dataclass(frozen=True)
class Detected:
    """Beats of one recording, in order, and its alarms.

    sample    int64 [m]    sample index of the R peak
    decided   int64 [m]    the newest sample that the decision about the beat needed; the delay is
              counted to it. Empty: not known, no delay is reported
    quality   float64 [m]  0-1, confidence that it is a beat. Empty: none is given
    score     float64 [m]  higher is more abnormal, NaN where not scored. Empty: none is given
    place     float64 [m, 2] where each lies on the model's map. Empty: none is given
    expected_errors  float64 [w]  of each 10 s from the first sample on, beats that are expected to
              be false or missed. Empty: the sum of 1 - quality is taken
    rr_ms     float64 [m]  interval before each beat, NaN where there is none. Empty: none is given
    """

    sample: I64
    decided: I64 = field(default_factory=lambda: np.empty(0, np.int64))
    quality: F64 = field(default_factory=lambda: np.empty(0))
    score: F64 = field(default_factory=lambda: np.empty(0))
    expected_errors: F64 = field(default_factory=lambda: np.empty(0))
    place: F64 = field(default_factory=lambda: np.empty((0, 2)))
    rr_ms: F64 = field(default_factory=lambda: np.empty(0))
    alarms: tuple[Alarm, ...] = ()

    def __post_init__(self) -> None:
        m = len(self.sample)
        if m and np.any(np.diff(self.sample) < 0):
            raise ValueError("detected: expected sample indices in order; got some that go backwards")
        for name in ("decided", "quality", "score", "place", "rr_ms"):
            n = len(getattr(self, name))
            if n not in (0, m):
                raise ValueError(f"detected: expected {m} values of {name}, one a beat, or none; got {n}")


class Detect(Protocol):
    """Run a detector over a recording."""

    def __call__(self, samples: I16, rate_hz: float, uv_per_unit: float, cuts: Cuts) -> Detected:
        """Run over int16 [leads, n], -32768 where there is no value; ``uv_per_unit`` 0 when not calibrated."""
        ...
