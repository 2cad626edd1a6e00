"""The streamed pipeline in the shape of :class:`Detect`: what evaluation judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from streaming.backend import CPU, Backend
from streaming.evaluation.detection import Alarm, Cuts, Detect, Detected
from streaming.model.checkpoint import left_out, load_model
from streaming.model.trees import SHIPPED as SHIPPED_TREES
from streaming.offline import LONG_PASS_S, analyze
from streaming.recordings import Recording
from streaming.records import I16
from streaming.settings import Settings


@dataclass(frozen=True, slots=True)
class Streamed:
    """The graph with a model and the detector's trees, as a detector."""

    model: Path | None = None
    trees: Path | None = None
    backend: Backend = CPU

    @property
    def name(self) -> str:
        """Version and hash of the model."""
        return load_model(self.model).name

    def instead(self) -> Mapping[tuple[str, int], Detect]:
        """Return who judges the records that were learned from: companions of the two that have not seen them."""
        models, trees = left_out(self.model), left_out(self.trees or SHIPPED_TREES)
        return {r: Streamed(models.get(r, self.model), trees.get(r, self.trees), self.backend) for r in models | trees}

    def __call__(self, samples: I16, rate_hz: float, uv_per_unit: float, cuts: Cuts) -> Detected:
        """Run the graph over a recording, cut as ``cuts`` says."""
        leads = tuple(f"L{k}" for k in range(len(samples)))
        recording = Recording("evaluate", rate_hz, leads, uv_per_unit, samples)
        settings = replace(Settings(), pass_s=LONG_PASS_S, model=self.model, trees=self.trees)
        chunks, ticks = np.diff(cuts.chunk).tolist(), np.diff(cuts.tick).tolist()
        result = analyze(recording, settings=settings, chunks=chunks, ticks=ticks, backend=self.backend)
        beats = result.beats
        order = np.argsort(beats["sample"], kind="stable")
        return Detected(
            sample=beats["sample"].astype(np.int64)[order],
            decided=beats["decided"].astype(np.int64)[order],
            quality=beats["quality"].astype(np.float64)[order],
            score=beats["score"].astype(np.float64)[order],
            place=np.stack([beats["map_x"], beats["map_y"]], axis=1).astype(np.float64)[order],
            alarms=_alarms(result.alerts, samples.shape[1]),
        )


def _alarms(alerts: list[dict[str, Any]], end: int) -> tuple[Alarm, ...]:
    ended = {alert["id"]: alert["decided"] for alert in alerts if alert["state"] != "on"}
    return tuple(
        Alarm(alert["rule"], alert["onset"], alert["decided"], ended.get(alert["id"], end))
        for alert in alerts
        if alert["state"] == "on"
    )
