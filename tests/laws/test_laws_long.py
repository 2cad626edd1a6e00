"""Law 2: whatever was there before the horizon: over days, and with the network."""

from dataclasses import replace

import numpy as np
from beatwire.offline.analyze import analyze
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import RawTick
from beatwire.settings import HORIZON_S
from beatwire.wire.avro import encode_chunk
from laws import START_US, Run, collect
from noisy_streams import noisy_recording

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


def test_with_the_network_output_depends_on_samples_within_the_horizon_only() -> None:
    """Two streams in electrode motion that differ before the horizon agree after it; their beats do 36.8 s later."""
    later = np.concatenate([noisy_recording(1, seed).samples for seed in range(3)], axis=1)
    one, s = noisy_recording(1, 3), replace(Settings(), detector="network")
    hum = 500 * np.sin(0.4 * np.pi * np.arange(5000))
    pasts = (one.samples[:, :5000], (0.2 * one.samples[:, 5000:10_000] + hum).astype(np.int16))
    a, b = (analyze(replace(one, samples=np.concatenate([p, later], axis=1)), settings=s).beats for p in pasts)
    of_beats = ("sample", "rr_ms", "quality", "expected_errors")
    for after_s, names in ((36.9, of_beats), (HORIZON_S, [name for name in a if a[name].dtype.kind in "fiub"])):
        last_a, last_b = (found["time_s"] >= 20 + after_s for found in (a, b))
        assert last_a.sum() > 20
        for name in names:
            np.testing.assert_array_equal(a[name][last_a], b[name][last_b], name)
