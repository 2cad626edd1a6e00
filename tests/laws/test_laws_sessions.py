"""Law of cuts where one session follows another, or a chunk is far ahead: what is published depends on no tick."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wfdb
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import Alerts, RawTick
from laws import Signal

RATE_HZ = 360
SESSION = 20 * RATE_HZ
CHUNK = 90


@pytest.fixture(scope="module")
def parts(ecg_folder: Path) -> dict[str, np.ndarray]:
    """Return parts of a record with many ventricular beats: the samples of a session of each stream, int16 [1, n]."""
    lead = wfdb.rdrecord(str(ecg_folder / "mitdb" / "208"), channels=[0], physical=False).d_signal[:, 0]
    samples = (lead - int(np.median(lead))).astype(np.int16)[None]
    ends = range(580_000, samples.shape[1] + 1, 2 * RATE_HZ)
    return {f"bed-{end}": samples[:, end - SESSION : end] for end in ends}


def chunks_of(stream: str, samples: np.ndarray, session: int = 1, first: int = 0) -> list[bytes]:
    """Return the messages of a session whose first sample has the number ``first``."""
    signal = Signal(stream, samples, RATE_HZ, session=session, first=first)
    return [signal.chunk(start, min(start + CHUNK, SESSION)) for start in range(0, SESSION, CHUNK)]


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
    parts: dict[str, np.ndarray], chunks: int
) -> None:
    queues = [[*chunks_of(stream, part), *chunks_of(stream, part, session=2)] for stream, part in parts.items()]
    whole = published(queues, 2 * SESSION // CHUNK)
    assert len(whole) > 500
    assert published(queues, chunks) == whole


@pytest.mark.parametrize("chunks", [1, 7])
def test_a_stream_goes_on_after_chunks_far_ahead_and_no_cut_changes_its_alerts(
    parts: dict[str, np.ndarray], chunks: int
) -> None:
    rng, queues = np.random.default_rng(5), []
    for stream, part in parts.items():
        queue = chunks_of(stream, part)
        for at in sorted(rng.choice(range(20, len(queue), 2), 3, replace=False).tolist(), reverse=True):
            ahead = chunks_of(stream, part, first=int(rng.integers(61 * RATE_HZ, 1 << 40)))
            queue.insert(at, ahead[at])
        queues.append(queue)
    whole = published(queues, len(queues[0]))
    assert len(whole) > 300
    assert published(queues, chunks) == whole
    pipeline = Pipeline(Settings())
    pipeline.emit(RawTick.of([message for queue in queues for message in queue]))
    assert pipeline.rejected.reason == []
