"""What a tick costs where streams restart with each chunk: as much a message as in small ticks.

Two senders with the same id take turns, so each of their chunks begins a session, and each is a part of the tick. A
monitor that is behind takes large ticks; with a cost a message that grows with them it would never catch up.
"""

import time
from dataclasses import replace

import numpy as np
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import RawTick
from oracles import SentChunk

BEDS, CONTESTED, SAMPLES = 40, 15, 20
BEFORE, SMALL, LARGE = 300, 30, 900  # chunks of each bed: before what is measured, and in a tick


def chunk(bed: int, k: int, ecg: np.ndarray) -> bytes:
    """Return chunk ``k`` of a bed; two senders take turns at the first ones."""
    sender, own = (k % 2, k // 2) if bed < CONTESTED else (0, k)
    first = own * SAMPLES
    return SentChunk(f"bed-{bed}", 1 + sender, first, ecg[:, first : first + SAMPLES]).message()


def test_a_message_costs_as_much_in_a_large_tick_as_in_small_ones() -> None:
    ecg = synthesise(1, rate_hz=100.0, seconds=300.0).recording.samples[:1]
    sent = [[chunk(bed, k, ecg) for k in range(BEFORE + LARGE)] for bed in range(BEDS)]

    def tick(first: int, stop: int) -> RawTick:
        made = RawTick.of([one for of_bed in sent for one in of_bed[first:stop]])
        arrival_us = np.tile(np.arange(first, stop) * 200_000, BEDS) + 1_700_000_000_000_000
        return replace(made, arrival_us=arrival_us, now_us=int(arrival_us.max()))

    def took_s(size: int) -> float:
        pipeline = Pipeline(Settings())
        for k in range(0, BEFORE, SMALL):
            pipeline.emit(tick(k, k + SMALL))
        ticks = [tick(k, k + size) for k in range(BEFORE, BEFORE + LARGE, size)]
        assert len(pipeline.lifecycle.state.alerts.by_id) == CONTESTED, "conflicting senders"
        begin_s = time.process_time()
        for one in ticks:
            pipeline.emit(one)
        return time.process_time() - begin_s

    assert took_s(LARGE) < 1.7 * took_s(SMALL)
