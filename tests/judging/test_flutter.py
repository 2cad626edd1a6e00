"""Flutter: the leakage against a slow version, signals with and without waves, the alert of the whole graph."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from beatwire.jit import cpu
from beatwire.kernels.detection.beats import list_blocks
from beatwire.kernels.rhythms import flutter
from beatwire.kernels.rhythms.wave_shape import KIND_MASK
from beatwire.offline.analyze import analyze
from beatwire.recordings import read_recording
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records.columns import BLOCK_COLUMNS, BLOCK_END, BLOCK_MAXIMUM, NO_BLOCK, PEAK_COLUMNS, RESIZED
from beatwire.records.detection import FreshLanes, PeakTable
from beatwire.records.selection import FlatLimits, LaneBeats, ListedBlocks
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import Signal, assert_equal, run_graph, ticks_of


def found(samples: np.ndarray, rate_hz: float, shift: int = 0, base: int = 0, flat: int = 0) -> int:
    """Return the result of the kernel for two seconds of samples at position ``shift`` of a ring."""
    length = round(2 * rate_hz)
    ring = np.zeros(length + 77, np.int16)
    ring[(shift + np.arange(length)) % len(ring)] = samples[:length]
    zero, value = np.zeros(1, np.int64), np.full(1, flat, np.int64)
    work = np.zeros((1, flutter.POINTS), np.int32)
    blocks = ListedBlocks(row=zero, end=zero + shift + length, kind=value)
    fresh = FreshLanes(lane=zero, slot=zero, start=zero, stop=zero, base=zero + base)
    flutter.find_waves(0, blocks, fresh, length, ring[None, None], work)
    return int(value[0]) & KIND_MASK


def leakage(samples: np.ndarray) -> float:
    """Return the leakage of Kuo and Dillman (1978) on the means of 128 parts, without mean and slope."""
    y = np.array([part.mean() for part in np.array_split(samples.astype(float), flutter.POINTS)])
    t = np.arange(flutter.POINTS)
    y -= np.polyval(np.polyfit(t, y, 1), t)
    half = int(np.pi * np.abs(y).sum() / np.abs(np.diff(y)).sum() + 0.5)
    if not flutter.SHORTEST <= half <= flutter.LONGEST:
        return 1.0
    return float(np.abs(y[half:] + y[:-half]).sum() / (np.abs(y[half:]) + np.abs(y[:-half])).sum())


def wave(hz: float, rate_hz: float, seconds: float = 2.0, height: float = 200.0) -> np.ndarray:
    t = np.arange(round(seconds * rate_hz)) / rate_hz
    return np.rint(height * (np.sin(2 * np.pi * hz * t) + 0.25 * np.sin(4 * np.pi * hz * t))).astype(np.int16)


@pytest.mark.parametrize("rate_hz", [64.0, 128.0, 250.0, 360.0, 1000.0])
@pytest.mark.parametrize("hz", [2.5, 3.3, 5.0, 7.0])
def test_waves_are_found_at_any_rate_and_any_position_in_the_ring(rate_hz: float, hz: float) -> None:
    for shift in (0, 100_000, 100_333):
        assert found(wave(hz, rate_hz), rate_hz, shift) == flutter.WAVES
        assert found(-3 * wave(hz, rate_hz) + 900, rate_hz, shift) == flutter.WAVES


@pytest.mark.parametrize("hz", [0.5, 1.2, 12.0, 50.0])
def test_waves_too_slow_or_too_fast_for_a_heart_are_not_found(hz: float) -> None:
    assert found(wave(hz, 360.0), 360.0) == 0


def test_beats_noise_and_a_flat_line_are_not_waves() -> None:
    for seed in range(6):
        person = synthesise(seed, rate_hz=250.0, seconds=40, ectopy=0.2).recording.samples[0]
        assert not any(found(person[a : a + 500], 250.0) for a in range(0, len(person) - 500, 250))
    rng = np.random.default_rng(0)
    for _ in range(50):
        assert found(rng.normal(0, 100, 500).astype(np.int16), 250.0) == 0
    assert found(np.full(500, 7, np.int16), 250.0) == 0
    assert found(wave(4.0, 250.0), 250.0, flat=flutter.FLAT) == flutter.FLAT
    assert found(wave(4.0, 250.0), 250.0, base=1) == 0


def test_the_kernel_equals_the_leakage_of_kuo_and_dillman() -> None:
    rng = np.random.default_rng(1)
    both = [0, 0]
    for _ in range(300):
        mixed = wave(rng.uniform(2.2, 7), 256.0) + rng.normal(0, rng.uniform(1, 400), 512)
        expected = leakage(mixed.astype(np.int16))
        if abs(expected - 0.5) > 0.01:
            got = found(mixed.astype(np.int16), 256.0)
            assert got == (flutter.WAVES if expected < 0.5 else 0)
            both[got // 2] += 1
    assert min(both) > 20


def test_the_graph_raises_flutter_within_six_seconds_and_latches_it() -> None:
    recording = read_recording("synthetic:seconds=80,rate=250,seed=2,ectopy=0")
    samples = recording.samples.copy()
    samples[:, 5000:9000] = wave(4.5, 250.0, 16.0)
    alerts = [a for a in analyze(replace(recording, samples=samples)).alerts if a["rule"] == "ventricular fibrillation"]
    assert [a["state"] for a in alerts] == ["on", "latched"]
    assert 5000 + 4 * 250 <= alerts[0]["onset"] <= 5000 + 6 * 250
    assert 9000 <= alerts[1]["decided"] <= 9000 + 24 * 250
    assert not [a for a in analyze(recording).alerts if a["rule"] == "ventricular fibrillation"]


@pytest.mark.parametrize("rate_hz", [128.0, 250.0, 360.0])
def test_any_cut_gives_the_same_flutter_alerts(rate_hz: float) -> None:
    made = synthesise(3, rate_hz=rate_hz, leads=2, seconds=40).recording
    samples = made.samples.copy()
    samples[:, round(12 * rate_hz) : round(25 * rate_hz)] = wave(3.7, rate_hz, 13.0)
    signal = Signal("bed", samples, rate_hz, made.uv_per_unit)
    whole = run_graph([[signal.chunk(a, min(a + 8000, samples.shape[1])) for a in range(0, samples.shape[1], 8000)]])
    assert "ventricular fibrillation" in {a["rule"] for a in whole.alerts}
    for seed, longest in enumerate((15, 90, 700)):
        assert_equal(run_graph(ticks_of([signal], np.random.default_rng(seed), longest)), whole)


def test_the_flutter_of_an_annotated_record_raises_an_alert(ecg_folder: Path) -> None:
    recording = read_recording(ecg_folder / "mitdb" / "207.hea", lead="first")
    at = np.array(
        [
            a["onset"]
            for a in analyze(recording).alerts
            if a["rule"] == "ventricular fibrillation" and a["state"] == "on"
        ]
    )
    seconds = at / recording.rate_hz
    assert ((seconds > 40.7) & (seconds < 51 + 4)).any()
    assert ((seconds > 1540.8) & (seconds < 1638.7)).any()
    assert len(at) < 40


@settings(max_examples=draws(30), deadline=None)
@given(ends=st.sets(st.integers(1, 20)), denied=st.sets(st.integers(1, 20)), large=st.sets(st.integers(1, 20)))
def test_denied_peaks_are_listed_among_the_blocks_by_sample(ends: set[int], denied: set[int], large: set[int]) -> None:
    blocks, peaks, n = sorted(ends), sorted(denied), len(ends) + len(denied)
    one, table = np.zeros(1, np.int64), np.zeros((1, 20, BLOCK_COLUMNS), np.int64)
    table[0, : len(blocks), BLOCK_END], table[0, :, BLOCK_MAXIMUM] = blocks, 9
    of_lane = np.array([[*(~at if at in large else at for at in peaks), *[0] * (20 - len(peaks))]])
    found = LaneBeats(one, np.array([n]), of_lane, one, one)
    expected = sorted(
        [(end, 0) for end in blocks] + [(at, RESIZED if at in large else NO_BLOCK) for at in peaks],
        key=lambda row: (row[0], -row[1]),
    )
    for body in (list_blocks, cpu.compiled(list_blocks)):
        listed = ListedBlocks(*np.full((3, n + 2), 7, np.int64))
        lanes = PeakTable(one, np.zeros((1, 1, PEAK_COLUMNS), np.int64), table, np.array([len(blocks)]), table)
        body(0, np.array([1]), lanes, found, np.zeros(1), FlatLimits(1.0, 4.0, 1.0), listed)
        assert list(zip(listed.end[1:-1].tolist(), listed.kind[1:-1].tolist(), strict=True)) == expected
        assert (listed.row[1:-1] == 0).all()
        nowhere = FreshLanes(*(np.full(1, -1),) * 5)  # a denied peak is not described: no ring is read
        for k in np.flatnonzero(listed.kind <= NO_BLOCK):
            flutter.find_waves(k, listed, nowhere, 10, np.zeros((0, 1, 1), np.int16), np.zeros((1, 1), np.int32))
        assert [column[[0, -1]].tolist() for column in listed] == [[7, 7]] * 3
