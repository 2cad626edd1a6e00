"""What the graph decided, collected from its last node: columns of beats, and transitions of alerts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beatwire.alerts.rules import number_of
from beatwire.kernels.classes.beat_class import LETTERS, Q
from beatwire.model.checkpoint import Model
from beatwire.offline.results.beat import BEAT_FIELDS, DTYPES
from beatwire.records import F32, Alerts, TickBeats
from beatwire.stages.score import SCORED_BY


def classes_of(beats: TickBeats) -> NDArray[np.str_]:
    """Return the class of each beat as a letter; Q where it was not determined."""
    letters = np.array(LETTERS)
    return letters[np.full(len(beats.slot), Q) if beats.beat_class is None else beats.beat_class]


def places_of(latent: F32, plane: F32) -> F32:
    """Return the places of beats, float32 [n, 2], as ``kernels.beat_message`` adds them: no cut changes a bit.

    ``latent`` is float32 [n, 8], ``plane`` float32 [8, 2].
    """
    place = np.zeros((len(latent), plane.shape[1]), np.float32)
    for k, of_latent in enumerate(plane):
        place += latent[:, k, np.newaxis] * of_latent
    return place


def _probabilities(beats: TickBeats) -> F32:
    return np.full(len(beats.slot), np.nan, np.float32) if beats.class_probability is None else beats.class_probability


def no_beats() -> dict[str, Any]:
    """Return the columns of beats without a beat."""
    return {name: np.zeros(0, DTYPES[name]) for name in BEAT_FIELDS}


def joined(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the columns of beats of several pushes, in their order."""
    some = [part for part in parts if len(part["sample"])]
    return {name: np.concatenate([part[name] for part in some]) for name in BEAT_FIELDS} if some else no_beats()


@dataclass(slots=True)
class Collector:
    """Collects the beats and the alert transitions that the graph emits.

    model    the scoring model; its name is added to each transition
    parts    columns of beats by name in ``BEAT_FIELDS``, one dict for each tick with beats
    alerts   transitions
    """

    model: Model
    parts: list[dict[str, Any]] = field(default_factory=list)
    alerts: list[dict[str, Any]] = field(default_factory=list)

    def add(self, result: Alerts) -> None:
        """Add the output of a tick."""
        beats = result.beats
        self.alerts += [transition | {"model": self.model.name} for transition in result.transitions]
        if len(beats.slot):
            assert beats.scored_by is not None
            assert beats.latent is not None
            position = places_of(beats.latent, self.model.network.map)
            self.parts.append(
                {
                    "sample": beats.sample,
                    "time_s": beats.sample / beats.rate_hz,
                    "rr_ms": 1000 * beats.rr_s,
                    "quality": beats.published_quality,
                    "score": beats.score,
                    "rate_bpm": 60 / beats.median_rr_s,
                    "response": beats.response,
                    "prematurity": beats.prematurity,
                    "scored_by": np.array(SCORED_BY)[beats.scored_by],
                    "decided": beats.decided,
                    "map_x": position[:, 0],
                    "map_y": position[:, 1],
                    "expected_errors": beats.expected_errors,
                    "beat_class": classes_of(beats),
                    "class_probability": _probabilities(beats),
                }
            )

    def take(self, end: int | None = None) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return the columns of the beats and the transitions collected so far by their time, and begin anew.

        ``end`` is the number of samples that there were. What is held after them decides beats, but it has none, and
        no alert begins or ends by it.
        """
        # Some are decided late: chunks would change the order.
        parts, alerts = self.parts, sorted(self.alerts, key=_place)
        self.parts, self.alerts = [], []
        beats = joined(parts)
        if end is not None:
            beats = {name: column[beats["sample"] < end] for name, column in beats.items()}
            alerts = [alert for alert in alerts if alert["decided"] < end + (alert["state"] == "on")]
        return beats, alerts


def _place(alert: dict[str, Any]) -> tuple[int, int]:
    """Return the place of a transition among others: its time, then the number of its rule."""
    return alert["decided"], number_of(alert["rule"], alert["priority"])
