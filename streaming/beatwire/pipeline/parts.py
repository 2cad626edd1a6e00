"""Parts of the graph, which can be used alone: detection and alerting.

``Detection`` takes placements and emits, for each bank and pass, beats with the terms of their scores. ``Alerting``
takes the scored beats of a tick and emits transitions of alerts. ``pipeline.graph.Pipeline`` composes both with what
stands between messages and placements, between passes and ticks, and between alerts and messages. ``offline`` uses each
alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from streamz import Stream

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.model.checkpoint import Model, load_model
from beatwire.model.trees import load_trees
from beatwire.pipeline.settings import Settings
from beatwire.stages import alert, beats, classify, drift, history, nms, ricker, ring, windows
from beatwire.stages.classify import Ensemble
from beatwire.stages.support.directory import Directory


class Models(NamedTuple):
    """The scoring model and the detector's trees (None: the rule decides)."""

    scoring: Model
    trees: Ensemble | None

    @staticmethod
    def of(settings: Settings) -> Models:
        """Load the models of settings.

        Raises
        ------
        UserError
            A model cannot be used.
        """
        return Models(load_model(settings.model), load_trees(settings.trees) if settings.detector == "trees" else None)


PartT = TypeVar("PartT", bound="Part")


class Part:
    """Stages connected by streamz, and their states.

    stages   the nodes, in the order of the journey; the state of a stage is ``node.state``
    """

    def __init__(self) -> None:
        self.stages: list[Stream] = []
        self.new_states: list[Callable[[], Any]] = []
        self._subscriptions: list[Stream] = []

    def stage(self, upstream: Stream, step: Callable[..., Any], new_state: Callable[[], Any]) -> Stream:
        """Connect a stage to a node and return the node of its output."""
        node = upstream.accumulate(step, start=new_state(), returns_state=True)
        self.stages.append(node)
        self.new_states.append(new_state)
        return node

    def include(self, part: PartT) -> PartT:
        """Take over the stages of another part: they are reset with these. Return the part."""
        self.stages += part.stages
        self.new_states += part.new_states
        return part

    def subscribe(self, node: Stream, listener: Callable[[Any], object]) -> None:
        """Call ``listener`` with each record that a node emits, as long as this part of the graph lives.

        The subscription is kept here: streamz keeps a sink until the process ends, and drops other nodes at once.
        """
        self._subscriptions.append(node.map(listener))

    def reset(self) -> None:
        """Give every stage a new state; subscriptions stay."""
        for node, new_state in zip(self.stages, self.new_states, strict=True):
            node.state = new_state()

    @property
    def states(self) -> list[Any]:
        """Return the state of every stage, in the order of the journey."""
        return [node.state for node in self.stages]


class Detection(Part):
    """From placements to beats and the terms of their scores; each bank and pass is one record.

    Parameters
    ----------
    settings, models
        What it does.
    backend
        Where the rings are.
    passes
        The node that emits placements; None: ``passes`` is a source, to which placements are emitted.
    """

    def __init__(
        self, settings: Settings, models: Models, backend: Backend = CPU, passes: Stream | None = None
    ) -> None:
        super().__init__()
        s, trees, network = settings, models.trees, models.scoring.network
        stage = self.stage

        # fmt: off
        self.passes = Stream() if passes is None else passes                                           # Placement
        self.ringed = stage(self.passes, ring.step, lambda: ring.State(s.ring(), backend))             # Ringed
        self.responses = stage(self.ringed, ricker.step, lambda: ricker.State(s.ricker(), backend))    # Response
        self.peaks = stage(self.responses, nms.step, lambda: nms.State(s.nms, backend))                # Peaks
        self.classified = stage(
            self.peaks, classify.step, lambda: classify.State(s.classify(trees), backend))             # Peaks
        self.beats = stage(self.classified, beats.step, lambda: beats.State(s.beats(trees), backend))  # Beats
        self.windows = stage(self.beats, windows.step, lambda: windows.State(backend))                 # Windows
        self.history_features = stage(
            self.windows, history.step, lambda: history.State(network, backend))                       # HistoryFeatures
        # fmt: on


class Alerting(Part):
    """From the scored beats of a tick to transitions of alerts.

    Parameters
    ----------
    settings, models
        What it does.
    directory
        Returns the streams by slot: the directory changes with a reset.
    scored
        The node that emits scored beats; None: ``scored`` is a source, to which they are emitted.
    """

    def __init__(
        self, settings: Settings, models: Models, directory: Callable[[], Directory], scored: Stream | None = None
    ) -> None:
        super().__init__()
        reference = models.scoring.reference
        self.settings = replace(settings.alert, drift=reference.limit)

        # fmt: off
        self.scored = Stream() if scored is None else scored                                      # TickBeats, scored
        self.compared = self.stage(self.scored, drift.step, lambda: drift.State(reference))       # TickBeats, compared
        self.alerts = self.stage(
            self.compared, alert.step, lambda: alert.State(self.settings, directory()))           # Alerts
        # fmt: on

    @property
    def drift(self) -> drift.State:
        """Return what is compared with the reference."""
        state: drift.State = self.compared.state
        return state

    def adopt(self, alerts: list[dict[str, Any]]) -> None:
        """Take over the alerts that are not off according to the log."""
        alert.adopt(self.alerts.state, alerts)
