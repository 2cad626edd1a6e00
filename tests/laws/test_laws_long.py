"""Law 2 over days: a score depends on the beats of the minute before, whatever was there days ago."""

import numpy as np
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import RawTick
from beatwire.wire.avro import encode_chunk
from laws import START_US, Run, collect

RATE_HZ, CHUNK = 50.0, 5000
FLAT_H = 74.0  # more than 2^31 ticks of the times of beats


def heart(seed: int) -> np.ndarray:
    return synthesise((1, seed), seconds=60.0).recording.samples[0][::5]


def rows_behind(flat: int, before: np.ndarray) -> list[str]:
    """Return the published beats of a heart behind so many flat samples, which are behind other samples."""
    pipeline, run = Pipeline(Settings(pass_s=120.0, silence_s=120.0)), Run()
    collect(pipeline, run, published=True)
    begin = len(before) + flat
    signal = np.zeros(begin + 3000, np.int16)
    signal[: len(before)], signal[begin:] = before, heart(2)[:3000]
    values = [
        encode_chunk("bed", 1, a, START_US + a * 20_000, RATE_HZ, ["I"], signal[None, a : a + CHUNK], uv_per_unit=5.0)
        for a in range(0, len(signal), CHUNK)
    ]
    for part in (values[:1], values[1:]):
        pipeline.emit(RawTick.of(part, now_us=START_US + len(signal) * 20_000))
    return [repr(row[3:9]) for row in run.beats["bed"] if row[1] > begin]


def test_beats_behind_three_days_without_any_are_not_compared_with_those_before() -> None:
    flat = round(FLAT_H * 3600 * RATE_HZ)
    found, without = rows_behind(flat, heart(1)), rows_behind(flat, np.zeros(3000, np.int16))
    assert len(found) > 60
    assert found == without
