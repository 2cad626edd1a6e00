"""Rings hold all that is read: on longer ones nothing else is published, whatever chunks are late, lost or repeated."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from beatwire.kernels.detection.fast_rhythm import REACH_S
from beatwire.pipeline.settings import Settings
from beatwire.recordings import NO_VALUE
from beatwire.stages import align, decode
from beatwire.stages.detection import ricker, ring
from beatwire.stages.support import room
from beatwire.stages.support.streams.admission import Admission
from beatwire.stages.support.streams.directory import Directory
from beatwire.wire.avro import encode_chunk
from drawn_streams import ECG, RATE_HZ, Sent, differences, in_ticks, undisturbed
from laws import START_US


def fast_heart(seconds: float, apart_s: float = 0.196, rate_hz: float = RATE_HZ) -> np.ndarray:
    """Return a heart of which only each fifth beat, the highest, is a peak: the links between two are a second long."""
    t = np.arange(round(seconds * rate_hz)) / rate_hz
    x = np.random.default_rng(1).normal(0.0, 2.0, len(t))
    for k in range(int(seconds / apart_s)):
        z = (t - 0.4 - k * apart_s) / 0.012
        x += (180 + 6 * (k % 5)) * np.exp(-0.5 * z * z)
    return np.rint(x).astype(np.int16)


def sent_late(rng: np.random.Generator, signal: np.ndarray, rate_hz: float = RATE_HZ) -> list[Sent]:
    """Return the chunks of a signal as they arrive: some a little late, some never, with holes of some samples."""
    at, sent, sample_us = 0, list[tuple[float, Sent]](), 1e6 / rate_hz
    while at < len(signal):
        n = max(1, int(rng.choice([1, 12, 30, 62, 125, 250]) * rate_hz / RATE_HZ))
        samples = signal[at : at + n].copy()
        if rng.random() < 0.1:
            samples[rng.integers(0, len(samples)) :][: rng.integers(1, 12)] = NO_VALUE
        value = encode_chunk("bed", 1, at, START_US + round(at * sample_us), rate_hz, ["I"], samples[None])
        late_us = int(rng.integers(0, 450_000)) if rng.random() < 0.25 else 0
        if rng.random() > 0.03:
            arrived_us = START_US + round((at + n) * sample_us) + late_us
            sent.append((arrived_us, Sent(arrived_us, value, f"{at}")))
        at += n
    return [one for _, one in sorted(sent, key=lambda pair: pair[0])]


def cuts_of(rng: np.random.Generator, sent: Sequence[Sent]) -> list[int]:
    """Return cuts into ticks of up to some seconds."""
    cuts = [0]
    while cuts[-1] < len(sent):
        cuts.append(min(len(sent), cuts[-1] + int(rng.choice([1, 2, 8, 30]))))
    assert all(a < b for a, b in pairwise(cuts))
    return cuts


@pytest.mark.parametrize("seed", range(6))
def test_longer_rings_change_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    signal = fast_heart(40.0) if seed % 2 == 0 else ECG[seed % len(ECG)]
    sent = sent_late(rng, signal)
    ticks = in_ticks(sent, cuts_of(rng, sent))
    own = undisturbed(ticks)
    assert len(own.beats["bed"]) > 40
    for name in ("ring_s", "response_ring_s", "past_s"):
        monkeypatch.setattr(Settings, name, 20.0)
    assert not differences(own, undisturbed(ticks))


@pytest.mark.parametrize("rate_hz", [50.0, 127.9, 250.0, 999.5])
@pytest.mark.parametrize("seed", range(4))
def test_the_responses_and_samples_that_a_pass_reads_are_in_the_rings(
    seed: int, rate_hz: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "LINE_BYTES", 4)  # no room that is not needed
    rng, s = np.random.default_rng(seed), Settings()
    sent = sent_late(rng, fast_heart(60.0, rate_hz=rate_hz), rate_hz)
    read, placed = decode.State(s.decode()), align.State(s.align(), Directory(9), Admission(9))
    rings = [ring.State(ring.Settings(of_s, s.bridge_s)) for of_s in (s.ring_s, 90.0)]
    filters = [ricker.State(ricker.Settings(of_s, s.design)) for of_s in (s.response_ring_s, 90.0)]
    passes = longest = 0
    for tick in in_ticks(sent, cuts_of(rng, sent)):
        for placement in align.step(placed, decode.step(read, tick)[1])[1].passes:
            fresh, passes = placement.fresh, passes + 1
            own, all_of_it = (
                ricker.step(f, ring.step(x, placement)[1])[1] for f, x in zip(filters, rings, strict=True)
            )
            if len(fresh.lane) == 0:  # nothing is final: it came before its turn
                continue
            start, stop, base = int(fresh.start[0]), int(fresh.stop[0]), int(fresh.base[0])
            peak = start - own.delay - round(s.nms.right_s * rate_hz)  # the first one that may be decided
            responses = np.arange(max(base, peak - round(REACH_S * rate_hz)), stop - own.delay)
            samples = np.arange(max(base, start - own.delay - round(s.nms.block_s * rate_hz)), stop)
            longest = max(longest, stop - start)
            for name, needed in (("f", responses), ("x", samples)):
                kept, known = getattr(own.rings, name)[0], getattr(all_of_it.rings, name)[0]
                np.testing.assert_array_equal(
                    kept[..., needed % kept.shape[-1]], known[..., needed % known.shape[-1]], name
                )
    assert passes > 40
    assert round(s.pass_s * rate_hz) <= longest <= s.longest_pass_s * rate_hz + room.ROUNDED
