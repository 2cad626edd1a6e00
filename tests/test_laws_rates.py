"""Law of cuts for a device that changes its sampling rate: each session is judged at its own rate, in every tick."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import wfdb
from laws import Run, Signal, assert_equal, run_graph

RATES_HZ = (360.0, 250.0, 500.0, 360.0)  # of the sessions, one after another
SESSION_S = 40
FEWEST_BEATS = 1_500


@pytest.fixture(scope="module")
def queues(ecg_folder: Path) -> list[list[bytes]]:
    """Return the messages of streams that change their rate with each session: chunks of a quarter of a second."""
    found = []
    for record in ("mitdb/203", "mitdb/207", "mitdb/208", "vfdb/418"):
        lead = wfdb.rdrecord(str(ecg_folder / record), channels=[0], physical=False).d_signal[:, 0]
        samples = np.clip(lead - int(np.median(lead)), -32767, 32767).astype(np.int16)[None]
        for begin in range(0, 400_000, 80_000):
            messages, at = [], begin
            for session, rate_hz in enumerate(RATES_HZ):
                n, step = int(SESSION_S * rate_hz), int(rate_hz / 4)
                signal = Signal(f"{record}-{begin}", samples[:, at : at + n], rate_hz, session=session)
                messages += [signal.chunk(start, min(start + step, n)) for start in range(0, n, step)]
                at += n
            found.append(messages)
    return found


def run(queues: list[list[bytes]], chunks: int) -> Run:
    """Return the output if every tick has so many chunks of each stream."""
    longest = max(map(len, queues))
    return run_graph([m for queue in queues for m in queue[k : k + chunks]] for k in range(0, longest, chunks))


@pytest.mark.parametrize("chunks", [1, 7, 250])
def test_a_session_of_another_rate_in_the_same_tick_changes_nothing(queues: list[list[bytes]], chunks: int) -> None:
    whole = run(queues, len(queues[0]))
    assert not whole.rejects
    assert len({a["rule"] for a in whole.alerts}) >= 8
    assert_equal(run(queues, chunks), whole, FEWEST_BEATS)
