"""The streamed graph as a :class:`Detect` callable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.evaluation.beats.detection import ERROR_WINDOW_S, Alarm, Cuts, Detected
from beatwire.model.checkpoint import held_out_models, load_model
from beatwire.model.classes import SHIPPED as SHIPPED_CLASSES
from beatwire.model.rhythm import SHIPPED as SHIPPED_RHYTHM
from beatwire.model.trees import SHIPPED as SHIPPED_TREES
from beatwire.model.ventricular import SHIPPED as SHIPPED_VENTRICULAR
from beatwire.model.waveform import SHIPPED as SHIPPED_NETWORK
from beatwire.offline.analyze import LONG_PASS_S, analyze
from beatwire.pipeline.settings import DETECTOR, Detector, Settings
from beatwire.recordings import Recording
from beatwire.records import F64, I16, I64


@dataclass(frozen=True, slots=True)
class Streamed:
    """The graph with a scoring model, trees and judges; the shipped ones where a path is None."""

    model: Path | None = None
    trees: Path | None = None
    rhythm: Path | None = None
    classes: Path | None = None
    ventricular: Path | None = None
    backend: Backend = CPU
    detector: Detector = DETECTOR
    network: Path | None = None

    @property
    def name(self) -> str:
        """Version and hash of the scoring model."""
        return load_model(self.model).name

    def held_out(self) -> Mapping[tuple[str, int], Streamed]:
        """Return for each record of the training data the graph with models that were not trained on it.

        Keys are the record's name and its number of samples per lead.
        """
        models, trees = held_out_models(self.model), held_out_models(self.trees or SHIPPED_TREES)
        judges = held_out_models(self.rhythm or SHIPPED_RHYTHM)
        classes = held_out_models(self.classes or SHIPPED_CLASSES)
        runs = held_out_models(self.ventricular or SHIPPED_VENTRICULAR)
        networks = held_out_models(self.network or SHIPPED_NETWORK)
        return {
            r: Streamed(
                models.get(r, self.model),
                trees.get(r, self.trees),
                judges.get(r, self.rhythm),
                classes.get(r, self.classes),
                runs.get(r, self.ventricular),
                self.backend,
                self.detector,
                networks.get(r, self.network),
            )
            for r in models | trees | judges | classes | runs | networks
        }

    def settings(self) -> Settings:
        """Return the settings of the graph, with passes as long as offline analysis has them."""
        return replace(
            Settings(), pass_s=LONG_PASS_S, model=self.model, trees=self.trees, rhythm=self.rhythm,
            classes=self.classes, ventricular=self.ventricular, detector=self.detector, network=self.network,
        )  # fmt: skip

    def __call__(self, samples: I16, rate_hz: float, uv_per_unit: float, cuts: Cuts) -> Detected:
        """Run the graph over a recording cut at ``cuts``; see :class:`Detect`."""
        leads = tuple(f"L{k}" for k in range(len(samples)))
        recording = Recording("evaluate", rate_hz, leads, uv_per_unit, samples)
        settings = self.settings()
        chunks, ticks = np.diff(cuts.chunk).tolist(), np.diff(cuts.tick).tolist()
        result = analyze(recording, settings=settings, chunks=chunks, ticks=ticks, backend=self.backend)
        beats = result.beats
        order = np.argsort(beats["sample"], kind="stable")
        return Detected(
            sample=beats["sample"].astype(np.int64)[order],
            decided=beats["decided"].astype(np.int64)[order],
            quality=beats["quality"].astype(np.float64)[order],
            score=beats["score"].astype(np.float64)[order],
            expected_errors=errors_by_window(
                beats["sample"][order], beats["expected_errors"][order], samples.shape[1], rate_hz
            ),
            map_xy=np.stack([beats["map_x"], beats["map_y"]], axis=1).astype(np.float64)[order],
            rr_ms=beats["rr_ms"].astype(np.float64)[order],
            beat_class=beats["beat_class"][order],
            alarms=alarms_of(result.alerts, samples.shape[1]),
        )


def errors_by_window(sample: I64, errors: Any, samples: int, rate_hz: float) -> F64:
    """Return the expected errors of each window of 10 s, float64 [w].

    The value is that of the last beat in the window; in a window without beats it is that of the next beat, or 1.

    Examples
    --------
    >>> errors_by_window(np.array([100, 900, 3100]), np.array([0.5, 0.25, 2.0]), 4000, 100.0).tolist()
    [0.25, 2.0, 2.0, 2.0]
    """
    length = ERROR_WINDOW_S * rate_hz
    ends = (np.arange(1, max(1, int(np.ceil(samples / length))) + 1) * length).astype(np.int64)
    if len(sample) == 0:
        return np.ones(len(ends))
    last = np.searchsorted(sample, ends) - 1
    has_beat = (last >= 0) & (sample[last] >= ends - length)
    chosen = np.where(has_beat, last, np.minimum(last + 1, len(sample) - 1))
    expected: F64 = np.nan_to_num(np.asarray(errors, np.float64)[chosen], nan=1.0)
    return expected


def alarms_of(alerts: list[dict[str, Any]], end: int) -> tuple[Alarm, ...]:
    """Return one alarm per alert that was switched on; without an end it lasts to sample ``end``."""
    began: dict[str, dict[str, Any]] = {}
    ended: dict[str, int] = {}
    for alert in alerts:
        if alert["state"] == "on":
            began.setdefault(alert["id"], alert)
        else:
            ended.setdefault(alert["id"], alert["decided"])
    return tuple(Alarm(a["rule"], a["onset"], a["decided"], ended.get(key, end)) for key, a in began.items())
