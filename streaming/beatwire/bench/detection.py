"""Detection alone on one core: from int16 samples to beats, rings included.

Ours runs the stages ring, ricker, nms, classify, doubt and beats over eight recordings as eight streams, a minute of
each per tick. The rival, SleepECG's C detector, runs over the same recordings one after the other. The two run
alternately, so that a slow spell of the machine affects both.
"""

import importlib.util
from collections.abc import Iterator, Sequence

import numpy as np

from beatwire.bench.result import Log, Result, alternating_median_s
from beatwire.pipeline.parts import Models
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import I16, Bank, Fresh, Placement
from beatwire.records.columns import PLACE_AT, PLACE_COUNT, PLACE_FIRST, PLACE_LANE, PLACE_STRIDE, PLACEMENT_COLUMNS
from beatwire.stages.detection import beats, classify, doubt, nms, ricker, ring

RATE_HZ = 360.0
SECONDS = 600
STREAMS = 8
PASS_S = 60.0


def signals() -> I16:
    """Return synthetic signals, int16 [streams, n], 5 uV per unit."""
    people = [synthesise(k, rate_hz=RATE_HZ, seconds=SECONDS).recording.samples[0] for k in range(STREAMS)]
    return np.stack(people)


def passes_of(samples: I16) -> list[Placement]:
    """Return the signals as aligned messages of a minute each."""
    streams, n = samples.shape
    lanes, step = np.arange(streams), round(PASS_S * RATE_HZ)
    passes = []
    for start in range(0, n, step):
        count = min(step, n - start)
        payload = np.ascontiguousarray(samples[:, start : start + count]).view(np.uint8).ravel()
        place = np.zeros((streams, PLACEMENT_COLUMNS), np.int64)
        place[:, PLACE_LANE], place[:, PLACE_FIRST], place[:, PLACE_COUNT] = lanes, start, count
        place[:, PLACE_AT], place[:, PLACE_STRIDE] = lanes * 2 * count, 2 * count
        begin = np.full(streams, start)
        fresh = Fresh(
            0, Bank(0, RATE_HZ, 1), lanes, lanes, begin, begin + count, np.zeros(streams, np.int64),
            np.ones(streams, np.int64), np.full(streams, 5.0), np.zeros((0, 3), np.int64),
        )  # fmt: skip
        passes.append(Placement(payload, place, streams, fresh))
    return passes


def detect(passes: Sequence[Placement], models: Models) -> list[int]:
    """Run the six stages over the signals; return the number of beats of each pass."""
    settings, trees = Settings(pass_s=PASS_S), models.trees
    ring_state, ricker_state = ring.State(settings.ring()), ricker.State(settings.ricker())
    nms_state, beats_state = nms.State(settings.nms), beats.State(settings.beats(trees))
    classify_state = classify.State(settings.classify(trees))
    doubt_state = doubt.State(settings.doubt(trees, models.waveform))
    counts = []
    for placement in passes:
        _, ringed = ring.step(ring_state, placement)
        _, response = ricker.step(ricker_state, ringed)
        _, peaks = nms.step(nms_state, response)
        _, classified = classify.step(classify_state, peaks)
        _, judged = doubt.step(doubt_state, classified)
        _, detected = beats.step(beats_state, judged)
        counts.append(len(detected.slot))
    return counts


def measure(log: Log) -> Iterator[Result]:
    """Compare with SleepECG."""
    if importlib.util.find_spec("sleepecg") is None:
        log("detection: skipped, SleepECG is not installed (pip install 'beatwire[bench]')")
        return
    from sleepecg.heartbeats import detect_heartbeats

    samples, models = signals(), Models.of(Settings())
    passes, as_float = passes_of(samples), samples.astype(np.float64)  # each in its own format

    def rival() -> list[int]:
        return [len(detect_heartbeats(row, RATE_HZ, backend="c")) for row in as_float]

    ours_s, theirs_s = alternating_median_s(lambda: detect(passes, models), rival)
    log(f"detection: {sum(detect(passes, models))} beats, SleepECG {sum(rival())}")
    million = samples.size / 1e6
    yield Result("detection", million / ours_s, "Msamples/s", "SleepECG, C", million / theirs_s, ">= 2")
