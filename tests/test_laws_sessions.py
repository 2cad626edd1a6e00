"""Law of cuts where one session follows another: what is published when a session ends depends on no tick."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wfdb
from beatwire.pipeline.graph import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import Alerts, RawTick
from laws import Signal

RATE_HZ = 360
SESSION = 20 * RATE_HZ
CHUNK = 90


@pytest.fixture(scope="module")
def queues(ecg_folder: Path) -> list[list[bytes]]:
    """Return the messages of streams that send one session twice: parts of a record with many ventricular beats."""
    lead = wfdb.rdrecord(str(ecg_folder / "mitdb" / "208"), channels=[0], physical=False).d_signal[:, 0]
    samples = (lead - int(np.median(lead))).astype(np.int16)[None]
    return [
        [
            signal.chunk(start, min(start + CHUNK, SESSION))
            for session in (1, 2)
            for signal in [Signal(f"bed-{end}", samples[:, end - SESSION : end], RATE_HZ, session=session)]
            for start in range(0, SESSION, CHUNK)
        ]
        for end in range(580_000, samples.shape[1] + 1, 2 * RATE_HZ)
    ]


def published(queues: list[list[bytes]], chunks: int) -> list[tuple[Any, ...]]:
    """Return the transitions that are published if every tick has so many chunks of each stream."""
    pipeline, found = Pipeline(Settings()), []

    def collect(alerts: Alerts) -> None:
        found.extend((a["id"], a["state"], a["reminders"], a["decided"], a["decided_us"]) for a in alerts.transitions)

    pipeline.subscribe(pipeline.lifecycle, collect)
    for start in range(0, len(queues[0]), chunks):
        pipeline.emit(RawTick.of([message for queue in queues for message in queue[start : start + chunks]]))
    return sorted(found)


@pytest.mark.parametrize("chunks", [1, SESSION // CHUNK])
def test_alerts_that_are_held_when_their_session_ends_end_at_the_same_sample(
    queues: list[list[bytes]], chunks: int
) -> None:
    whole = published(queues, 2 * SESSION // CHUNK)
    assert len(whole) > 500
    assert published(queues, chunks) == whole
