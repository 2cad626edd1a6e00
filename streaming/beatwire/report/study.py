"""A study: a recording, its analysis and its annotations, and what the sections of the report read from them.

In:  Recording, Analysis, AnnotatedRecord or None, Model
Out: :class:`Study`: groups of beats, episodes of alerts, hours, extremes

Counts are those of the analysis and its summary: the hours sum to its beats, the groups together are its beats.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from beatwire.alerts.settings import Settings
from beatwire.evaluation.records import AnnotatedRecord
from beatwire.model.checkpoint import Model
from beatwire.offline.analyze import Analysis
from beatwire.offline.results.episodes import Episode, episodes_of
from beatwire.recordings import Recording
from beatwire.recordings.stated_size import changes
from beatwire.records import F64, I64
from beatwire.stages.score import ANOMALOUS

PAUSE_S = Settings().limit("pause")
MATCH_S = 0.150  # within which a beat and an annotated beat are the same one
CLASSES = {"N": "normal", "S": "supraventricular", "V": "ventricular", "Q": "cannot tell"}
COLOURS = {"N": "#7f8a97", "S": "#1f6fb5", "V": "#c8321f", "Q": "#a87400"}
INK = "#16202b"


@dataclass(frozen=True, slots=True)
class Group:
    """Beats of one class, which are drawn in one colour.

    name     of the class: N, S, V or Q
    colour   of its marks
    rows     int64 [k], its rows of the table of beats, ascending
    """

    name: str
    colour: str
    rows: I64

    @property
    def label(self) -> str:
        """The name as a legend shows it."""
        return f"{self.name} {CLASSES[self.name]}"


@dataclass(frozen=True, slots=True)
class Study:
    """What a report is about; ``recording.samples`` is on the host.

    groups     of all beats by class, the normal ones first
    episodes   by onset
    lead       number of the lead whose beats are drawn: the first one that changes, for electrodes may be off
    """

    recording: Recording
    analysis: Analysis
    model: Model
    annotations: AnnotatedRecord | None
    groups: tuple[Group, ...]
    episodes: tuple[Episode, ...]
    lead: int

    @property
    def beats(self) -> dict[str, Any]:
        """The columns of the beats."""
        return self.analysis.beats

    @property
    def sample(self) -> I64:
        """R of every beat, int64 [b]."""
        return np.asarray(self.beats["sample"], np.int64)

    @property
    def time_s(self) -> F64:
        """Time of every beat from the start of the recording, float64 [b]."""
        return np.asarray(self.sample / self.recording.rate_hz, np.float64)

    @property
    def rr_ms(self) -> F64:
        """The interval before each beat in milliseconds, float64 [b]; NaN: none."""
        return np.asarray(self.beats["rr_ms"], np.float64)

    @property
    def anomalous(self) -> Any:
        """Whether the score of each beat is that of an anomalous one, bool [b]."""
        return np.asarray(self.beats["score"], np.float64) >= ANOMALOUS

    @property
    def annotated(self) -> bool:
        """Whether the record has annotated beats."""
        return self.annotations is not None and len(self.annotations.beat) > 0

    @property
    def calibrated(self) -> bool:
        """Whether samples have a unit."""
        return self.recording.uv_per_unit > 0

    @property
    def per_sample(self) -> float:
        """Millivolts of one unit of a sample; 1 if the recording is not calibrated."""
        return self.recording.uv_per_unit / 1000 if self.calibrated else 1.0

    @property
    def unit(self) -> str:
        """The unit that ``per_sample`` leads to."""
        return "mV" if self.calibrated else "units"


def study_of(recording: Recording, analysis: Analysis, model: Model, annotations: AnnotatedRecord | None) -> Study:
    """Return a study."""
    names = np.asarray(analysis.beats["beat_class"]).astype(str)
    found = ((name, np.flatnonzero(names == name)) for name in CLASSES)
    groups = tuple(Group(name, COLOURS[name], rows) for name, rows in found if len(rows))
    lead = next((k for k, samples in enumerate(recording.samples) if changes(samples)), 0)
    return Study(recording, analysis, model, annotations, groups, episodes_of(analysis.alerts, recording.samples), lead)
