"""Detection only, on one core: int16 samples in, beats out, rings and laws included.

Ours runs ring, ricker, nms, accept and beats over eight recordings as eight streams, a minute of each a tick;
SleepECG's C detector runs over the same recordings one by one. The two run in turn, so that
both see the machine as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from beatwire.bench.row import Row, in_turn_s
from beatwire.model.trees import load_trees
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import I16, Bank, Fresh, Placement
from beatwire.records.columns import (
    PLACE_AT,
    PLACE_COLUMNS,
    PLACE_COUNT,
    PLACE_FIRST,
    PLACE_LANE,
    PLACE_STRIDE,
    PLACEMENT_COLUMNS,
)
from beatwire.stages import beats, classify, nms, ricker, ring

RATE_HZ = 360.0
SECONDS = 600
STREAMS = 8
PASS_S = 60.0


def signals() -> I16:
    """Return int16 [streams, n], 5 microvolts a unit."""
    people = [synthesise(k, rate_hz=RATE_HZ, seconds=SECONDS).recording.samples[0] for k in range(STREAMS)]
    return np.stack(people)


def passes_of(samples: I16) -> list[Placement]:
    """Return the signals as messages that have been put in their place, a minute each."""
    streams, n = samples.shape
    lanes, step = np.arange(streams), round(PASS_S * RATE_HZ)
    made = []
    for start in range(0, n, step):
        count = min(step, n - start)
        payload = np.ascontiguousarray(samples[:, start : start + count]).view(np.uint8).ravel()
        place = np.zeros((streams, PLACE_COLUMNS), np.int64)
        place[:, PLACE_LANE], place[:, PLACE_FIRST], place[:, PLACE_COUNT] = lanes, start, count
        place[:, PLACE_AT], place[:, PLACE_STRIDE] = lanes * 2 * count, 2 * count
        begin = np.full(streams, start)
        fresh = Fresh(
            0, Bank(0, RATE_HZ, 1), lanes, lanes, begin, begin + count, np.zeros(streams, np.int64),
            np.ones(streams, np.int64), np.full(streams, 5.0), np.zeros((0, 3), np.int64),
        )  # fmt: skip
        made.append(Placement(payload, place[:, :PLACEMENT_COLUMNS], streams, fresh))
    return made


def detect(passes: Sequence[Placement], trees: classify.Ensemble) -> list[int]:
    """Run the five stages over the signals; returns how many beats each pass had."""
    settings = Settings(pass_s=PASS_S)
    ring_state, ricker_state = ring.State(settings.ring()), ricker.State(settings.ricker())
    nms_state, beats_state = nms.State(settings.nms), beats.State(settings.beats(trees))
    accept_state = classify.State(settings.classify(trees))
    found = []
    for one in passes:
        _, ringed = ring.step(ring_state, one)
        _, response = ricker.step(ricker_state, ringed)
        _, peaks = nms.step(nms_state, response)
        _, classified = classify.step(accept_state, peaks)
        _, some = beats.step(beats_state, classified)
        found.append(len(some.slot))
    return found


def measure(say: Callable[[str], None]) -> Iterator[Row]:
    """Compare with SleepECG."""
    from sleepecg.heartbeats import detect_heartbeats

    samples, trees = signals(), load_trees()
    passes, as_float = passes_of(samples), samples.astype(np.float64)  # either in the form it takes

    def rival() -> list[int]:
        return [len(detect_heartbeats(row, RATE_HZ, backend="c")) for row in as_float]

    ours, theirs = in_turn_s(lambda: detect(passes, trees), rival)
    beats_found = sum(detect(passes, trees)), sum(rival())
    say(f"detection: {beats_found[0]} beats, SleepECG {beats_found[1]}")
    million = samples.size / 1e6
    yield Row("detection", million / ours, "Msamples/s", "SleepECG, C", million / theirs, ">= 2")
