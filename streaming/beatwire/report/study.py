"""A study: a recording, its analysis and its annotations, and what the sections of the report read from them.

In:  Recording, Analysis, AnnotatedRecord or None, Model
Out: :class:`Study`: groups of beats, episodes of alerts, hours, extremes

Counts are those of the analysis: the hours sum to its beats, the groups together are its beats, and each alert that
was raised is one episode.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from beatwire.alerts.settings import Settings
from beatwire.evaluation.beats.match import pair
from beatwire.evaluation.records import AnnotatedRecord
from beatwire.model.checkpoint import Model
from beatwire.offline.analyze import Analysis
from beatwire.recordings import Recording
from beatwire.records import F64, I64
from beatwire.stages.score import ANOMALOUS

PAUSE_S = Settings().limit("pause")
CLASS_COLUMN = "beat_class"  # of the beats, where the analysis has classes
MATCH_S = 0.150  # within which a beat and an annotated beat are the same one
NOT_ANNOTATED = "not annotated"
CLASSES = {"N": "normal", "S": "supraventricular", "V": "ventricular", "F": "fusion", "Q": "paced or unknown"}
COLOURS = {"N": "#7f8a97", "S": "#1f6fb5", "V": "#c8321f", "F": "#6f42c1", "Q": "#a87400"}
INK = "#16202b"
_PALE = "#c3cbd3"


@dataclass(frozen=True, slots=True)
class Group:
    """Beats that are drawn in one colour.

    name     a class (N, S, V, F, Q), or "usual", "anomalous", "not scored", "not annotated"
    colour   of its marks
    rows     int64 [k], its rows of the table of beats, ascending
    """

    name: str
    colour: str
    rows: I64

    @property
    def label(self) -> str:
        """The name as a legend shows it."""
        return f"{self.name} {CLASSES[self.name]}" if self.name in CLASSES else self.name


@dataclass(frozen=True, slots=True)
class Episode:
    """An alert from its onset to its end.

    rule, priority, technical, text   as in the transition that raised it
    onset, decided, end               sample indices; ``end`` is None if it was still on at the end
    """

    rule: str
    priority: str
    technical: bool
    text: str
    onset: int
    decided: int
    end: int | None


@dataclass(frozen=True, slots=True)
class Study:
    """What a report is about; ``recording.samples`` is on the host.

    groups     of all beats, the usual ones first
    grouped_by what the groups are, a phrase
    episodes   by onset
    """

    recording: Recording
    analysis: Analysis
    model: Model
    annotations: AnnotatedRecord | None
    groups: tuple[Group, ...]
    grouped_by: str
    episodes: tuple[Episode, ...]

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
    groups, grouped_by = _groups(recording, analysis.beats, annotations)
    return Study(recording, analysis, model, annotations, groups, grouped_by, episodes_of(analysis.alerts))


def episodes_of(alerts: list[dict[str, Any]]) -> tuple[Episode, ...]:
    """Return the episodes of alert transitions, by onset; one ends where it is off or only latched."""
    raised = {a["id"]: a for a in reversed(alerts) if a["state"] == "on"}
    ends = {a["id"]: int(a["decided"]) for a in reversed(alerts) if a["state"] != "on"}
    found = (
        Episode(
            a["rule"],
            a["priority"],
            bool(a["technical"]),
            a["text"],
            int(a["onset"]),
            int(a["decided"]),
            ends.get(name),
        )
        for name, a in raised.items()
    )
    return tuple(sorted(found, key=lambda e: (e.onset, e.rule)))


def _groups(
    recording: Recording, beats: dict[str, Any], annotations: AnnotatedRecord | None
) -> tuple[tuple[Group, ...], str]:
    """Return the groups of beats and what they are: classes of the analysis, annotated classes, or by score."""
    if CLASS_COLUMN in beats:
        names = np.asarray(beats[CLASS_COLUMN]).astype(str)
        return _by_name(names), "class"
    if annotations is not None and len(annotations.beat):
        names = annotated_classes(recording, beats["sample"], annotations)
        return _by_name(names), "class that the record's annotations give"
    score = np.asarray(beats["score"], np.float64)
    kinds = {
        "usual": (COLOURS["N"], score < ANOMALOUS),
        "anomalous": (INK, score >= ANOMALOUS),
        "not scored": (_PALE, np.isnan(score)),
    }
    found = tuple(Group(name, colour, np.flatnonzero(mask)) for name, (colour, mask) in kinds.items() if mask.any())
    return found, f"score: anomalous from {ANOMALOUS:g} on"


def annotated_classes(recording: Recording, sample: I64, annotations: AnnotatedRecord) -> Any:
    """Return the annotated class of each beat, str [b]; ``NOT_ANNOTATED`` without one within ``MATCH_S``."""
    partner = pair(annotations.beat, np.asarray(sample, np.int64), round(MATCH_S * recording.rate_hz))
    names = np.array([*annotations.beat_class, NOT_ANNOTATED])
    return names[partner]  # the last name for -1


def _by_name(names: Any) -> tuple[Group, ...]:
    present = [n for n in CLASSES if (names == n).any()] + sorted(set(names.tolist()) - set(CLASSES))
    return tuple(Group(name, COLOURS.get(name, INK), np.flatnonzero(names == name)) for name in present)
