"""The streamed pipeline in the shape of :class:`Detect`: what evaluation judges."""

from __future__ import annotations

from typing import Any

import numpy as np

from streaming.evaluation.detection import Alarm, Cuts, Detected
from streaming.offline import analyze
from streaming.recordings import Recording
from streaming.records import I16


def detect_streamed(samples: I16, rate_hz: float, uv_per_unit: float, cuts: Cuts) -> Detected:
    """Run the graph over a recording, cut as ``cuts`` says."""
    leads = tuple(f"L{k}" for k in range(len(samples)))
    recording = Recording("evaluate", rate_hz, leads, uv_per_unit, samples)
    result = analyze(recording, chunks=np.diff(cuts.chunk).tolist(), ticks=np.diff(cuts.tick).tolist())
    beats = result.beats
    order = np.argsort(beats["sample"], kind="stable")
    return Detected(
        sample=beats["sample"].astype(np.int64)[order],
        decided=beats["decided"].astype(np.int64)[order],
        quality=beats["quality"].astype(np.float64)[order],
        score=beats["score"].astype(np.float64)[order],
        alarms=_alarms(result.alerts, samples.shape[1]),
    )


def _alarms(alerts: list[dict[str, Any]], end: int) -> tuple[Alarm, ...]:
    ended = {alert["id"]: alert["decided"] for alert in alerts if alert["state"] != "on"}
    return tuple(
        Alarm(alert["rule"], alert["onset"], alert["decided"], ended.get(alert["id"], end))
        for alert in alerts
        if alert["state"] == "on"
    )
