"""Settings of the whole graph: frozen, in seconds and hertz, validated once.

``HORIZON_S`` is the one published constant: what the monitor says of time t follows from the samples
in [t - HORIZON_S, t + lookahead]. The windows inside one another: what makes a peak a beat looks back 22.4 s
(the peaks of ten seconds, each over a level of 12 s, of several leads each bounded by its own), a score 75 s over such
beats, an alert of anomalous beats 16 beats of at most 1.4 s each over such scores: 119.8 s. A rate looks back 40 s, its
alert 16 beats more. Drift, once in 20 s, looks back a minute over what 15 s before a beat say of its looks: 117.4 s. An
irregular rhythm is 40 beats: 78.4 s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from beatwire.errors import UserError
from beatwire.records import Bank
from beatwire.stages import alert, align, beats, classify, decode, nms, ricker, ring
from beatwire.stages.classify import Ensemble
from beatwire.stages.support.filters import Design

HORIZON_S = 120.0
A_LANE_BYTES = 9_000  # memory of the detector, of intervals and of the last minute's beats
A_TICK_BYTES = 8_000  # peaks, beats, windows and the network's scratch
GROWING = 1.5  # arrays are larger than they need be, and stand twice while they grow


@dataclass(frozen=True, slots=True)
class Settings:
    """What a monitor does.

    pass_s       the longest stretch of a stream that goes through the rings at once
    reorder_s    how far ahead of its turn a chunk may come
    bridge_s     the longest hole that is bridged rather than restarting the lane
    silence_s    a stream that was silent for longer starts anew
    evict_s     a stream that was silent for longer was never there: its alerts end, its memory is another's
    model        the scoring model; None: the one in the package
    detector     what makes a peak a beat: "trees", or the "rule" alone
    trees        the detector's trees; None: the ones in the package
    """

    pass_s: float = 2.0
    reorder_s: float = 0.4
    bridge_s: float = 0.25
    silence_s: float = 60.0
    evict_s: float = 86_400.0
    duplicate_s: float = 60.0
    most_streams: int = 1_000_000
    schema_id: int | None = None
    model: Path | None = None
    detector: Literal["trees", "rule"] = "trees"
    trees: Path | None = None
    design: Design = field(default_factory=Design)
    nms: nms.Settings = field(default_factory=nms.Settings)
    alert: alert.Settings = field(default_factory=alert.Settings)

    def __post_init__(self) -> None:
        """Check what cannot work."""
        for name in ("pass_s", "reorder_s", "bridge_s", "silence_s", "duplicate_s"):
            value = getattr(self, name)
            if not 0 < value <= HORIZON_S:
                raise UserError(f"settings: expected 0 < {name} <= {HORIZON_S:g}; got {value:g}")
        if not 2 * HORIZON_S <= self.evict_s < math.inf:
            raise UserError(f"settings: expected evict_s of at least {2 * HORIZON_S:g}; got {self.evict_s:g}")
        if self.detector not in ("trees", "rule"):
            raise UserError(f"settings: expected detector trees or rule; got {self.detector!r}")
        left_s, right_s = self.nms.left_s, self.nms.right_s
        if left_s < right_s:
            raise UserError(f"settings: expected nms.left_s of at least nms.right_s; got {left_s:g} and {right_s:g}")

    @property
    def decide_s(self) -> float:
        """Seconds after a sample that a decision about it waits for."""
        return self.design.support_s + self.design.box_s / 2 + self.nms.right_s

    @property
    def response_ring_s(self) -> float:
        """Responses behind a pass, in it, and ahead of it."""
        return self.pass_s + self.reorder_s + self.bridge_s + self.nms.left_s + 2 * self.decide_s + 0.05

    @property
    def ring_s(self) -> float:
        """Samples behind a pass that windows and blocks need, in it, and waiting ahead of it."""
        return self.pass_s + 2 * self.reorder_s + self.bridge_s + self.decide_s + self.nms.block_s + 0.1

    def lane_bytes(self, bank: Bank) -> int:
        """Return what a stream costs in memory at most, arrays that grow and the work of a tick included."""
        kept = 2 * bank.leads * self.ring_s * bank.rate_hz + 4 * self.response_ring_s * bank.rate_hz
        return round(GROWING * (kept + A_LANE_BYTES + A_TICK_BYTES))

    def decode(self) -> decode.Settings:
        """Return the settings of the decode stage."""
        return decode.Settings(self.schema_id)

    def align(self) -> align.Settings:
        """Return the settings of the align stage."""
        return align.Settings(
            self.pass_s,
            self.reorder_s,
            self.bridge_s,
            self.silence_s,
            self.duplicate_s,
            self.evict_s,
            self.most_streams,
        )

    def ring(self) -> ring.Settings:
        """Return the settings of the ring stage."""
        return ring.Settings(self.ring_s)

    def ricker(self) -> ricker.Settings:
        """Return the settings of the ricker stage."""
        return ricker.Settings(self.response_ring_s, self.design, block_s=self.nms.block_s)

    def classify(self, trees: Ensemble | None) -> classify.Settings:
        """Return the settings of the accept stage."""
        return classify.Settings(trees, self.design)

    def beats(self, trees: Ensemble | None = None) -> beats.Settings:
        """Return the settings of the beats stage."""
        probability = np.zeros(1) if trees is None else trees.probability
        return beats.Settings(self.design, probability, block_s=self.nms.block_s)
