"""The interface between the evaluation and a detector: a *detect* callable, its arguments and its result.

``detect(samples, rate_hz, uv_per_unit, cuts) -> Detected`` runs a whole recording, cut into chunks and ticks at
``cuts``. The streamed graph, rival packages and detectors written in tests have this signature.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from beatwire.records import F64, I16, I64

ERROR_WINDOW_S = 10.0  # length of the windows of ``Detected.expected_errors``
CHUNK_S = (0.02, 0.4)  # shortest and longest chunk of random cuts
TICK_CHUNKS = 60  # most chunks of a tick of random cuts


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
        """Cut at random into chunks of 20-400 ms and ticks of 1-60 chunks; the same seed gives the same cuts."""
        rng = np.random.default_rng(seed)
        low, high = max(1, int(CHUNK_S[0] * rate_hz)), max(2, int(CHUNK_S[1] * rate_hz))
        lengths = rng.integers(low, high + 1, samples // low + 1)
        edges = np.concatenate([[0], np.cumsum(lengths)])
        chunk = np.append(edges[edges < samples], samples).astype(np.int64)
        chunks = len(chunk) - 1
        ticks = np.concatenate([[0], np.cumsum(rng.integers(1, TICK_CHUNKS + 1, chunks))])
        return Cuts(chunk, np.append(ticks[ticks < chunks], chunks).astype(np.int64))


@dataclass(frozen=True)
class Alarm:
    """An alarm of one rule, on from ``onset`` to ``ended``, decided at ``decided``; sample indices."""

    rule: str
    onset: int
    decided: int
    ended: int


@dataclass(frozen=True)
class Detected:
    """Beats of one recording, in order, and its alarms. An array that a detector does not provide is empty.

    sample           int64 [m]       sample index of the R peak
    decided          int64 [m]       index of the newest sample that the decision about the beat used
    quality          float64 [m]     confidence that it is a beat, 0-1
    score            float64 [m]     higher is more abnormal, NaN where not scored
    expected_errors  float64 [w]     of each 10 s from the first sample on, expected number of false or missed beats;
                                     when empty, the sum of 1 - quality is used
    map_xy           float64 [m, 2]  position in the 2-D projection of the model's latents
    rr_ms            float64 [m]     RR interval before each beat, NaN where there is none
    beat_class       str [m]         class of each beat: N, S, V or Q
    """

    sample: I64
    decided: I64 = field(default_factory=lambda: np.empty(0, np.int64))
    quality: F64 = field(default_factory=lambda: np.empty(0))
    score: F64 = field(default_factory=lambda: np.empty(0))
    expected_errors: F64 = field(default_factory=lambda: np.empty(0))
    map_xy: F64 = field(default_factory=lambda: np.empty((0, 2)))
    rr_ms: F64 = field(default_factory=lambda: np.empty(0))
    beat_class: NDArray[np.str_] = field(default_factory=lambda: np.empty(0, np.str_))
    alarms: tuple[Alarm, ...] = ()

    def __post_init__(self) -> None:
        m = len(self.sample)
        if m and np.any(np.diff(self.sample) < 0):
            raise ValueError("detected: expected sample indices in ascending order; got a descending pair")
        for name in ("decided", "quality", "score", "map_xy", "rr_ms", "beat_class"):
            n = len(getattr(self, name))
            if n not in (0, m):
                raise ValueError(f"detected: expected {m} values of {name}, one per beat, or none; got {n}")


class Detect(Protocol):
    """A detector that runs over a whole recording."""

    def __call__(self, samples: I16, rate_hz: float, uv_per_unit: float, cuts: Cuts) -> Detected:
        """Detect beats in int16 [leads, n], -32768 where there is no value; ``uv_per_unit`` 0 without calibration."""
        ...
