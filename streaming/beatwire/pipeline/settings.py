"""Settings of the whole graph: frozen, in seconds and hertz, validated once.

``HORIZON_S`` is the published constant: what the monitor emits for time t depends on the samples in
[t - HORIZON_S, t + lookahead] alone. It is the longest of these sums of windows that look back through one another,
and 4.4 s more: all of them are of samples without mains hum, which is measured in eight spans of at most 0.55 s:

- a peak is classified by the peaks of ten seconds, each over a level of 12 s: 22.4 s (of several leads each is bounded
  by its own level); the disturbance is the risks of the peaks of ten seconds: 32.4 s; so are the peaks that the network
  judges, by 12.75 s; a beat of a fast rhythm by the responses of 15.4 s, and by levels of their 12 s. With the network
  a sum below that counts 22.4 s for a beat is ten seconds longer;
- a score looks back 75 s over such beats (``stages.score``);
- an alert of anomalous beats looks back 16 beats of at most 1.4 s each over such scores: 119.8 s;
- a rate looks back 40 s over beats and the errors expected there, and its alert 24 beats more: 106 s; with the errors
  of the network, which ten seconds of judged peaks change, 116 s;
- drift looks back a minute, once in 20 s, over features of beats that look back 15 s: 117.4 s;
- asystole looks back 10 s to a beat, from there 84 s for a row of certain ones, by their disturbance: 126.4 s;
- an irregular rhythm is judged by a minute of beats with their disturbance and three judgements before: 124.4 s;
- ventricular tachycardia looks back 12 s over a judge of eight beats and two more, all of them with classes: 119.2 s;
- an alert of supraventricular tachycardia looks back 12.8 s over classes, which look back two such judgements: 129.2 s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from beatwire.alerts.settings import Lifecycle
from beatwire.alerts.settings import Settings as AlertSettings
from beatwire.errors import UserError
from beatwire.kernels.detection.fast_rhythm import REACH_S
from beatwire.kernels.peaks.doubt import HIDDEN_S
from beatwire.kernels.peaks.doubt import REACH_S as NETWORK_REACH_S
from beatwire.kernels.peaks.past_samples import BLOCK_BYTES, LONGEST_BLOCK_S, RECENT_S
from beatwire.kernels.peaks.peak_features import MS230, SPAN_S
from beatwire.records import Bank
from beatwire.records.waveform import WaveNetwork
from beatwire.settings import Streams
from beatwire.stages import align, decode
from beatwire.stages.detection import beats, classify, doubt, leads, nms, ricker, ring
from beatwire.stages.support.ensemble import Ensemble
from beatwire.stages.support.filters import Design
from beatwire.stages.support.streams.admission import Admission
from beatwire.stages.support.streams.waiting import WaitingRoom

Detector = Literal["trees", "rule", "network"]
DETECTOR: Detector = "network"  # unless another one is chosen
LANE_BYTES = 9_000  # of a lane: memory of the detector, intervals, the beats of the last minute
MOST_ALONE = 4  # leads of several that are detected alone, too
ALONE_BYTES = 6_000  # of each of them, of both kinds
HUM_BYTES = 400  # of each lead at most: its hum, and what was filled in
TICK_BYTES = 8_000  # of a lane in a tick: peaks, beats, windows, scratch of the network
NETWORK_BYTES = 240 << 20  # of the teams of a card that judge doubtful peaks
HELD_BACK_S = 0.06  # samples that are not final yet: a longest hole, and what its slope is taken over
GROWING = 1.5  # arrays are larger than needed, and exist twice while they grow


@dataclass(frozen=True, slots=True)
class Settings(Streams):
    """Settings of a monitor; durations in seconds. Those of streams: `beatwire.settings.Streams`.

    cloud_events which messages have headers of CloudEvents: "alerts", or "all", beats too
    model        the scoring model; None: the one in the package
    scorer       a network of the user that scores windows in place of the model's reconstruction error; None: none
    detector     what classifies peaks: "trees", the "rule" alone, or "network": trees, and a network where they doubt
    trees        the detector's trees; None: the ones in the package
    network      the network of doubtful peaks; None: the one in the package
    with_classes  False: beats have no class
    classes      the trees of beat classes; None: the ones in the package
    rhythm       the judges of the rhythm; None: those in the package
    with_ventricular  False: ventricular runs are not judged
    ventricular  the judge of ventricular runs; None: the one in the package
    design, nms, alert, lifecycle  of the filter, the search for peaks, the rules, and what becomes of alerts
    """

    cloud_events: Literal["alerts", "all"] = "alerts"
    model: Path | None = None
    scorer: Path | None = None
    detector: Detector = DETECTOR
    trees: Path | None = None
    network: Path | None = None
    with_classes: bool = True
    classes: Path | None = None
    rhythm: Path | None = None
    with_ventricular: bool = True
    ventricular: Path | None = None
    design: Design = field(default_factory=Design)
    nms: nms.Settings = field(default_factory=nms.Settings)
    alert: AlertSettings = field(default_factory=AlertSettings)
    lifecycle: Lifecycle = field(default_factory=Lifecycle)

    def __post_init__(self) -> None:
        """Check the settings.

        Raises
        ------
        UserError
            They cannot work.
        """
        Streams.__post_init__(self)
        if self.detector not in get_args(Detector):
            raise UserError(f"settings: expected detector trees, rule or network; got {self.detector!r}")
        left_s, right_s = self.nms.left_s, self.nms.right_s
        if left_s < right_s:
            raise UserError(f"settings: expected nms.left_s of at least nms.right_s; got {left_s:g} and {right_s:g}")

    @property
    def decide_s(self) -> float:
        """Return the seconds after a sample that a decision about it depends on."""
        return self.design.delay_s + self.nms.right_s

    @property
    def longest_pass_s(self) -> float:
        """Return the longest stretch of a stream that becomes final in one pass, see ``kernels.intake.align``."""
        return max(self.pass_s, self.reorder_s, self.bridge_s) + HELD_BACK_S

    @property
    def response_ring_s(self) -> float:
        """Return the seconds of responses to keep: in a pass, and behind the oldest peak that it decides."""
        behind_s = max(self.nms.left_s + self.design.delay_s, REACH_S)
        return self.longest_pass_s + self.nms.right_s + behind_s

    @property
    def most_alone(self) -> int:
        """Return of how many leads of several peaks are found in each alone, too."""
        return 0 if self.detector == "rule" else MOST_ALONE

    @property
    def alone_ring_s(self) -> float:
        """Return the seconds of responses of a lead alone to keep: what the search for peaks and features read."""
        behind_s = self.nms.left_s + 2 * self.design.delay_s + SPAN_S[MS230]
        return self.longest_pass_s + self.nms.right_s + behind_s

    @property
    def ring_s(self) -> float:
        """Return the seconds of samples to keep: behind a pass for windows and blocks, in it, and ahead of it."""
        behind_s = self.nms.block_s + self.design.delay_s
        if self.detector == "network":
            behind_s = max(behind_s, RECENT_S + HIDDEN_S[0] + self.decide_s + LONGEST_BLOCK_S)
        return behind_s + self.longest_pass_s + self.reorder_s

    @property
    def past_s(self) -> float:
        """Return the seconds before the last sample of a pass that the network reads."""
        return NETWORK_REACH_S + self.decide_s + self.longest_pass_s

    def lane_bytes(self, bank: Bank) -> int:
        """Return the memory that a stream needs at most, with growing arrays and the work of a tick."""
        alone = bank.leads if bank.leads > 1 and self.most_alone > 0 else 0  # there is room for all of them
        responses_s = self.response_ring_s + alone * self.alone_ring_s
        kept = 2 * bank.leads * self.ring_s * bank.rate_hz + 4 * responses_s * bank.rate_hz + alone * ALONE_BYTES
        kept += bank.leads * HUM_BYTES
        if self.detector == "network":
            kept += bank.leads * doubt.blocks_of(self.past_s, bank.rate_hz) * BLOCK_BYTES
        return round(GROWING * (kept + LANE_BYTES + TICK_BYTES))

    @property
    def fixed_bytes(self) -> int:
        """Return the memory that a card needs for any number of streams."""
        return NETWORK_BYTES if self.detector == "network" else 0

    def decode(self) -> decode.Settings:
        """Return the settings of the decode stage."""
        return decode.Settings(self.schema_id)

    def align(self) -> align.Settings:
        """Return the settings of the align stage."""
        return align.Settings(
            self.pass_s, self.reorder_s, self.bridge_s, self.silence_s, self.duplicate_s, self.evict_s
        )

    def admission(self, admits: Callable[[list[Bank], list[int]], bool] | None = None) -> Admission:
        """Return the admission of streams; ``admits`` says if there is memory for so many lanes of each bank."""
        admission = Admission(self.most_banks, WaitingRoom(self.admit_s, self.silence_s))
        if admits is not None:
            admission.admits = admits
        return admission

    def ring(self) -> ring.Settings:
        """Return the settings of the ring stage."""
        return ring.Settings(self.ring_s, self.bridge_s)

    def ricker(self) -> ricker.Settings:
        """Return the settings of the ricker stage."""
        return ricker.Settings(
            self.response_ring_s, self.design, self.nms.block_s, most_alone=self.most_alone,
            alone_ring_s=self.alone_ring_s,
        )  # fmt: skip

    def classify(self, trees: Ensemble | None) -> classify.Settings:
        """Return the settings of the classify stage."""
        return classify.Settings(trees, self.design)

    def leads(self, trees: Ensemble | None) -> leads.Settings:
        """Return the settings of the leads stage."""
        return leads.Settings(np.zeros(1) if trees is None else trees.probability)

    def doubt(self, trees: Ensemble | None, network: WaveNetwork | None) -> doubt.Settings:
        """Return the settings of the doubt stage."""
        probability = np.zeros(1) if trees is None else trees.probability
        return doubt.Settings(network, probability, self.past_s, self.design, self.nms.right_s)

    def beats(self, trees: Ensemble | None = None) -> beats.Settings:
        """Return the settings of the beats stage."""
        probability = np.zeros(1) if trees is None else trees.probability
        return beats.Settings(self.design, probability, block_s=self.nms.block_s, right_s=self.nms.right_s)
