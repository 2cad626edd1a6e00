"""What is measured of the graph while metrics are served: seconds of each stage, alerts by rule, rejects by kind.

In: the stages' steps, which are timed, and the transitions and rejects of each tick. Out: sums and histograms over the
published ticks. State: the seconds of the present tick. A monitor without metrics has no instruments, and its graph
runs the steps themselves.
"""

import functools
import time
from collections import Counter
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from beatwire.alerts.rules import RULES, SAMPLES_LOST
from beatwire.pipeline import Pipeline
from beatwire.records import REJECT_KINDS, Alerts, Rejects
from beatwire.service.observing.counters import STAGE_BOUNDS_S, Durations

P = ParamSpec("P")
T = TypeVar("T")


class Instruments:
    """The instruments of one graph.

    Parameters
    ----------
    pipeline
        Its steps are replaced by timed ones.
    clock_s
        Returns seconds, never decreasing.

    Attributes
    ----------
    stages : dict of str to Durations
        Seconds of each published tick, by stage; a stage that runs once per bank and pass is added up.
    transitions : Counter of (rule, state, priority)
        Published transitions of alerts.
    rejects : Counter of str
        Published dead letters by kind.
    """

    def __init__(self, pipeline: Pipeline, clock_s: Callable[[], float] = time.perf_counter) -> None:
        self.stages: dict[str, Durations] = {}
        self.transitions: Counter[tuple[str, str, str]] = Counter(
            {
                (rule.name, state, rule.priority): 0
                for rule in RULES
                for state in ("on", "ack", *(("latched",) if rule.latches else ()), "off")
            }
            | {(SAMPLES_LOST.name, state, SAMPLES_LOST.priority): 0 for state in ("on", "ack", "off")}
        )
        self.rejects: Counter[str] = Counter(dict.fromkeys(REJECT_KINDS, 0))
        self._clock_s = clock_s
        self._spent_s: dict[str, float] = {}
        self._alerts: Alerts | None = None
        self._rejects = Rejects()
        pipeline.wrap_steps(self.timed)
        pipeline.subscribe(pipeline.lifecycle, self._note_alerts)
        pipeline.subscribe(pipeline.rejects, self._note_rejects)

    def timed(self, name: str, step: Callable[P, T]) -> Callable[P, T]:
        """Return `step` with its seconds added to those of stage `name` in the present tick."""
        self.stages[name] = Durations(STAGE_BOUNDS_S)
        self._spent_s[name] = 0.0
        spent_s, clock_s = self._spent_s, self._clock_s

        @functools.wraps(step)
        def run(*args: P.args, **kwargs: P.kwargs) -> T:
            begin_s = clock_s()
            result = step(*args, **kwargs)
            spent_s[name] += clock_s() - begin_s
            return result

        return run

    def end_tick(self, *, published: bool) -> None:
        """Count the present tick if it was published, and begin the next one."""
        if published:
            for name, seconds in self._spent_s.items():
                self.stages[name].add(seconds)
            if self._alerts is not None:
                self.transitions.update((a["rule"], a["state"], a["priority"]) for a in self._alerts.transitions)
            for fault, count in self._rejects.counts():
                self.rejects[fault.kind] += count
        for name in self._spent_s:
            self._spent_s[name] = 0.0

    def _note_alerts(self, alerts: Alerts) -> None:
        self._alerts = alerts

    def _note_rejects(self, rejects: Rejects) -> None:
        self._rejects = rejects
