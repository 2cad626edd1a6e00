"""Law of cuts for a device that changes its rate and its leads: each session is judged by its own, in every tick."""

from pathlib import Path

import numpy as np
import pytest
import wfdb
from laws import Run, Signal, assert_equal, run_graph

SESSIONS = ((360.0, 1), (250.0, 1), (250.0, 2), (500.0, 1), (360.0, 2))  # Hz and leads, one after another
SESSION_S = 40
FEWEST_BEATS = 1_500


@pytest.fixture(scope="module")
def queues(ecg_folder: Path) -> list[list[bytes]]:
    """Return the messages of streams that change their rate with each session: chunks of a quarter of a second."""
    found = []
    for record in ("mitdb/203", "mitdb/207", "mitdb/208", "vfdb/418"):
        leads = wfdb.rdrecord(str(ecg_folder / record), channels=[0, 1], physical=False).d_signal.T
        samples = np.clip(leads - np.median(leads, axis=1, keepdims=True), -32767, 32767).astype(np.int16)
        for begin in range(0, 400_000, 80_000):
            messages, at = [], begin
            for session, (rate_hz, own) in enumerate(SESSIONS):
                n, step = int(SESSION_S * rate_hz), int(rate_hz / 4)
                signal = Signal(f"{record}-{begin}", samples[:own, at : at + n], rate_hz, session=session)
                messages += [signal.chunk(start, min(start + step, n)) for start in range(0, n, step)]
                at += n
            found.append(messages)
    return found


def run(queues: list[list[bytes]], chunks: int) -> Run:
    """Return what is published if every tick has so many chunks of each stream."""
    starts = range(0, max(map(len, queues)), chunks)
    return run_graph(([m for queue in queues for m in queue[k : k + chunks]] for k in starts), published=True)


@pytest.fixture(scope="module")
def whole(queues: list[list[bytes]]) -> Run:
    """Return what is published if all is in one tick."""
    return run(queues, len(queues[0]))


@pytest.mark.parametrize("chunks", [1, 7, 250])
def test_a_session_of_another_rate_or_with_other_leads_in_the_same_tick_changes_nothing(
    queues: list[list[bytes]], whole: Run, chunks: int
) -> None:
    assert not whole.rejects
    assert len({a["rule"] for a in whole.alerts}) >= 8
    assert_equal(run(queues, chunks), whole, FEWEST_BEATS)
