"""Parts of the graph, which can be used alone: detection and alerting.

``Detection`` takes placements and emits, for each bank and pass, beats with the terms of their scores. ``Alerting``
takes the scored beats of a tick and emits transitions of alerts. ``pipeline.graph.Graph`` composes both and adds the
other stages: decode and align before, gather and score between, publish after. ``offline`` uses each part alone.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from beatwire.alerts.settings import Settings as AlertSettings
from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.model.checkpoint import Model, load_model
from beatwire.model.classes import load_classes
from beatwire.model.rhythm import load_rhythm_judges
from beatwire.model.scorer import load_scorer
from beatwire.model.trees import load_trees
from beatwire.model.ventricular import load_ventricular_judges
from beatwire.model.waveform import load_waveform
from beatwire.pipeline.nodes import Stream
from beatwire.pipeline.settings import Settings
from beatwire.records.classification import Judges
from beatwire.records.waveform import WaveNetwork
from beatwire.stages.detection import beats, classify, doubt, history, leads, nms, ricker, ring, windows
from beatwire.stages.judging import alert, beat_class, drift, rhythm, ventricular
from beatwire.stages.support.alerts.limits import Limits
from beatwire.stages.support.alerts.unseen import Unseen
from beatwire.stages.support.ensemble import Ensemble


class Models(NamedTuple):
    """The scoring model, trees and judges.

    trees        of the detector; None: the rule
    waveform     the network of doubtful peaks; None: the trees alone
    rhythm       the judges of fibrillation and of atrial fibrillation
    classes      the trees of beat classes; None: no classes
    ventricular  the judges of ventricular tachycardia and of runs; None: none
    """

    scoring: Model
    trees: Ensemble | None
    rhythm: Judges
    classes: beat_class.Settings | None
    ventricular: Judges | None
    waveform: WaveNetwork | None = None

    @staticmethod
    def of(settings: Settings) -> Models:
        """Load the models of settings.

        Raises
        ------
        UserError
            A model cannot be used.
        """
        trees = None if settings.detector == "rule" else load_trees(settings.trees)
        waveform = load_waveform(settings.network).network if settings.detector == "network" else None
        classes = load_classes(settings.classes) if settings.with_classes else None
        with_runs = settings.with_classes and settings.with_ventricular
        of_runs = load_ventricular_judges(settings.ventricular) if with_runs else None
        return Models(_scoring(settings), trees, load_rhythm_judges(settings.rhythm), classes, of_runs, waveform)

    def alert(self, settings: Settings) -> AlertSettings:
        """Return the settings of the alert stage: the limit of drift is the model's."""
        return settings.alert.with_limits({"drift": self.scoring.reference.limit})


def _scoring(settings: Settings) -> Model:
    """Return the scoring model, with the scorer of the user if there is one."""
    model = load_model(settings.model)
    if settings.scorer is None:
        return model
    scorer = load_scorer(settings.scorer, model.calibration)
    return replace(model, name=f"{model.name} {scorer.name}", network=replace(model.network, scorer=scorer))


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

    def wrap_steps(self, wrap: Callable[[str, Callable[..., Any]], Callable[..., Any]]) -> None:
        """Replace the step of every stage by what ``wrap`` returns for the name of the stage and its step."""
        for node in self.stages:
            node.func = wrap(node.func.__module__.rpartition(".")[2], node.func)

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
        s, trees, network, waveform = settings, models.trees, models.scoring.network, models.waveform
        stage = self.stage

        # fmt: off
        self.passes = Stream() if passes is None else passes                                           # Placement
        self.ringed = stage(self.passes, ring.step, lambda: ring.State(s.ring(), backend))             # Ringed
        self.responses = stage(self.ringed, ricker.step, lambda: ricker.State(s.ricker(), backend))    # Response
        self.peaks = stage(self.responses, nms.step, lambda: nms.State(s.nms, backend))                # Peaks
        self.classified = stage(
            self.peaks, classify.step, lambda: classify.State(s.classify(trees), backend))             # Peaks
        self.chosen = stage(
            self.classified, leads.step, lambda: leads.State(s.leads(trees), backend))                 # Peaks
        self.judged = stage(
            self.chosen, doubt.step, lambda: doubt.State(s.doubt(trees, waveform), backend))       # Peaks
        self.beats = stage(self.judged, beats.step, lambda: beats.State(s.beats(trees), backend))  # Beats
        self.windows = stage(self.beats, windows.step, lambda: windows.State(backend))                 # Windows
        self.history_features = stage(
            self.windows, history.step, lambda: history.State(network, backend))                       # HistoryFeatures
        # fmt: on


class Alerting(Part):
    """From the scored beats of a tick to their classes and to transitions of alerts.

    Parameters
    ----------
    settings, models
        What it does.
    limits
        Returns the limits of each stream, which change with a reset, and with them the streams by slot.
    scored
        The node that emits scored beats; None: ``scored`` is a source, to which they are emitted.
    """

    def __init__(
        self, settings: Settings, models: Models, limits: Callable[[], Limits], scored: Stream | None = None
    ) -> None:
        super().__init__()
        reference = models.scoring.reference
        self.settings = models.alert(settings)

        # fmt: off
        self.scored = Stream() if scored is None else scored                                      # TickBeats, scored
        self.labelled = self.stage(
            self.scored, beat_class.step, lambda: beat_class.State(models.classes))               # TickBeats, classes
        self.compared = self.stage(self.labelled, drift.step, lambda: drift.State(reference))     # TickBeats, compared
        self.of_runs = self.stage(
            self.compared, ventricular.step, lambda: ventricular.State(models.ventricular))       # TickBeats, runs
        self.judged = self.stage(self.of_runs, rhythm.step, lambda: rhythm.State(models.rhythm))  # TickBeats, judged
        self.alerts = self.stage(
            self.judged, alert.step,
            lambda: alert.State(self.settings, limits(), unseen=Unseen(settings.evict_s)))          # Alerts
        # fmt: on

    @property
    def drift(self) -> drift.State:
        """Return what is compared with the reference."""
        state: drift.State = self.compared.state
        return state

    def adopt(self, alerts: list[dict[str, Any]], held: AbstractSet[str]) -> set[str]:
        """Take over the alerts that are not off according to the log; return those whose rule does not hold."""
        over = alert.adopt(self.alerts.state, alerts, held)
        drift.adopt(self.drift, alert.drifting(self.alerts.state))
        return over
