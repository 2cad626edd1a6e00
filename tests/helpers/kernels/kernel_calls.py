"""Calls of kernels that the messages of a small ward do not reach, or not often enough."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.jit import cpu
from beatwire.kernels import copies
from beatwire.kernels.classes.beat_class import MEASURED
from beatwire.kernels.classes.normal_beat import NORMAL_MEASURES
from beatwire.kernels.intake import files
from beatwire.kernels.peaks.doubt import CHANGE_COLUMNS, PAST_CHANGES
from beatwire.kernels.peaks.past_samples import BLOCK_BYTES, VALUES
from beatwire.kernels.rhythms import rest, rhythm
from beatwire.kernels.rhythms.beat_ring import BEATS
from beatwire.kernels.rhythms.flutter import FLAT
from beatwire.kernels.rhythms.ventricular import COLUMNS, PAST, RECENT, RECENT_COLUMNS
from beatwire.kernels.rhythms.ventricular import FEATURES as RUN_FEATURES
from beatwire.kernels.scores.drift import DRIFT_BLOCKS
from beatwire.model.checkpoint import load_model
from beatwire.model.rhythm import load_rhythm_judges
from beatwire.model.trees import load_trees
from beatwire.model.ventricular import load_ventricular_judges
from beatwire.offline import analyzer
from beatwire.offline.plan import Plan
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records.alerting import Crossings, DriftState
from beatwire.records.columns import PEAK_COLUMNS
from beatwire.records.detection import FreshLanes, PeakTable, Rings
from beatwire.records.events import BEAT, BLOCK, RESTART, WATERMARK
from beatwire.records.rhythm import Judged, Rhythm, RhythmBeats, RhythmMemory
from beatwire.records.ventricular import Ventricular, VentricularBeats, VentricularMemory
from beatwire.records.waveform import LogitTables, RiskChanges, WaveNetwork
from beatwire.stages.detection.doubt import Judge, blocks_of, grid_for, judge_again, scratch_of
from beatwire.stages.score import sum_levels
from bedside import Ward, device_chunk
from small_network import small_network


def of_recordings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Call the kernels that only shards of recordings and training use."""
    monkeypatch.setattr(analyzer, "WARM_S", 2.0)
    recording = synthesise(1, rate_hz=128.0, seconds=9.0).recording
    beats = analyzer.Analyzer(Settings(detector="trees"), Plan(4.0, 5.0), rules=False).analyze(recording, "x")[0].beats
    sum_levels(load_model().calibration, beats.terms)
    start, stop = np.array([0, 5, 9]), np.array([4, 12, 11])
    cpu.kernels.take_stretch(3, recording.samples, start, stop, np.zeros((3, 1, 8), np.int16))
    with Path(__file__).open("rb") as file:
        room = np.zeros(2 * files.PIECE + 100, np.uint8)
        cpu.kernels.read_piece(3, file.fileno(), 7, room, np.zeros(3, np.int64))


def of_copies() -> None:
    """Copy bytes: whole blocks and a part of one."""
    source = np.random.default_rng(0).integers(0, 256, 2 * copies.BLOCK + 100, np.uint8)
    for size in (0, 100, copies.BLOCK, len(source)):
        target = np.zeros(size, np.uint8)
        cpu.kernels.copy_block(-(-size // copies.BLOCK), source[:size], target)
        assert target.tobytes() == source[:size].tobytes()


def of_drift() -> None:
    """Call the kernel of drift with a stream that crosses the limit, which takes a minute of beats elsewhere."""
    rows = [(RESTART, 0, 0), *[(BEAT, k, 0) for k in range(20)], (WATERMARK, 400, 400)]
    events = np.array([(0, 1, *row, 0) for row in rows], np.int64)
    state = DriftState(
        np.zeros((1, DRIFT_BLOCKS, 4), np.uint8), np.zeros(1, np.int64), np.zeros(1), np.zeros(1, np.bool_)
    )
    found = Crossings(np.zeros(1, np.int64), np.zeros(99, np.int64), np.zeros((99, 6), np.int64))
    run, upper = np.array([0, len(events)]), np.array([[1, 3]], np.uint8)
    levels, scored, length = np.array([0.5]), np.ones(1, np.bool_), np.array([100])
    cpu.kernels.track_drift(1, run, events, upper, scored, length, levels, 0.4, state, found)
    assert found.rows[: found.counts[0], 3:5].tolist() == [[100, 500], [400, 0]]


# Three peaks: logit, disturbance, expected errors.
DOUBTFUL = np.array([[0.5, 1.0, 1.0], [-2.0, 2.0, 2.0], [-99.0, np.nan, np.nan]])


def of_doubt() -> None:
    """Call the kernels of doubtful peaks, which only the detector with a network uses."""
    network = small_network(2, depth=1)
    assert (judged_again(CPU, network, 4)[0, :2, 0] != DOUBTFUL[:2, 0]).all()


def judged_again(backend: Backend, network: WaveNetwork, lanes: int) -> Any:
    """Judge three peaks a lane at 250 Hz, two of them doubtful; return all logits and expected errors.

    In some lanes a lead is off around a peak, or both are, or a lane begins shortly before it.
    """
    rng, n = np.random.default_rng(lanes), 4000
    x = np.cumsum(rng.integers(-50, 51, (lanes, 2, n)), axis=2).clip(-30_000, 30_000).astype(np.int16)
    x[::3, 1, n - 1100 : n - 900] = x[1::3, :, n - 1000] = -32768
    x[2::3, 0, : n // 2] = -32768
    peaks = np.zeros((lanes, 3, PEAK_COLUMNS), np.int64)
    peaks[:, :, 0] = [500, n - 1000, n - 100]
    logits = backend.constant(np.tile(DOUBTFUL, (lanes, 1, 1)))
    ones, each = np.ones(lanes, np.int64), np.arange(lanes)
    grid, scale = grid_for(250.0, len(network.narrow)), backend.constant(np.linspace(-7.0, 8.0, 33))
    grid = grid._replace(offset=backend.constant(grid.offset))
    tables = LogitTables(scale, backend.constant(load_trees().probability))
    judge = Judge(
        grid,
        WaveNetwork(*map(backend.constant, network)),
        tables,
        scratch_of(network),
        2500,
        np.zeros((1, VALUES), np.int32),
    )
    changes = RiskChanges(
        backend.grown(None, (lanes, CHANGE_COLUMNS), np.int64),
        *(backend.grown(None, (lanes, PAST_CHANGES), np.int16) for _ in range(2)),
    )
    past = backend.grown(None, (lanes, 2, blocks_of(n / 250.0, 250.0), BLOCK_BYTES), np.uint8)
    backend.next_pass()
    table = PeakTable(3 * ones, peaks, np.zeros((lanes, 3, 3), np.int64), 0 * ones, np.zeros((lanes, 1, 2), np.int64))
    judged = backend.buffer("judged", logits.shape, np.float64)
    backend.kernels.copy_logits(lanes, table, logits, judged)
    judge_again(
        backend, judge, (lanes, 3 * lanes), FreshLanes(each, each, 0 * ones, n * ones, 100 * (each % 2)), table,
        Rings(x, np.zeros((lanes, 8), np.int32), np.zeros((lanes, 3), np.int64)), past, changes, judged,
    )  # fmt: skip
    backend.fetch([])
    return (judged.get() if hasattr(judged, "get") else np.array(judged))[:lanes]


def of_rhythm() -> None:
    """Call the kernel of the rhythm with an irregular stream, which takes a minute of beats elsewhere."""
    at = np.cumsum(np.random.default_rng(0).integers(120, 320, 90))
    rows = [(RESTART, 0, 0), (BLOCK, 100, FLAT), *((BEAT, s, k) for k, s in enumerate(at.tolist()))]
    events = np.array([(0, 1, *row, 0) for row in rows], np.int64)
    none = np.zeros(90, np.float32)
    tick = RhythmBeats(
        np.full(90, 0.8), np.ones(90, np.float32), none, none, np.zeros((90, NORMAL_MEASURES), np.float32)
    )
    trees = load_rhythm_judges().trees
    found = Rhythm(np.zeros((90, rhythm.SPANS)), *(np.zeros(90, np.bool_) for _ in range(3)))
    for _ in range(3):
        memory = RhythmMemory(
            np.zeros((1, BEATS), np.uint16),
            np.zeros((1, BEATS), np.uint8),
            np.zeros((1, rhythm.NUMBERS), np.int64),
            np.zeros((1, rest.COLUMNS), np.int32),
        )
        judged = Judged(np.empty_like(events), found, np.zeros((1, rhythm.FEATURES), np.float32), np.zeros(92))
        run = np.array([0, len(events)])
        cpu.kernels.judge_rhythm(1, run, events, tick, np.array([250.0]), trees, memory, judged)
    assert not np.isnan(judged.logit[-15:]).all()


def of_silence() -> None:
    """Call the kernel of the rules with a heart that is silent for longer than the signals of the others are."""
    ward = Ward()
    ward.tick(device_chunk())
    assert [a["rule"] for a in ward.tick(known=[("bed", 500)])] == ["asystole"]


def of_resized_waves() -> None:
    """Call the kernels of peaks, beats and rules with a gain that grows twentyfold, or falls to a tenth."""
    for times in (20, 0.1):
        recording = synthesise(3, rate_hz=100.0, seconds=17.0, bpm=90.0).recording
        samples = recording.samples * np.where(np.arange(1700) < 1100, 1, times)
        resized = replace(recording, samples=np.clip(samples, -32767, 32767).astype(np.int16))
        beats = analyzer.Analyzer(Settings(detector="trees"), Plan(17.0, 5.0)).analyze(resized, "x")[0].beats
        assert times < 1 or np.sum(np.asarray(beats.sample) > 1100) >= 4


def of_runs(rng: np.random.Generator) -> None:
    """Call the judge of ventricular runs with beats that are likely ventricular, and the rules with its judgement."""
    n, trees = 30, load_ventricular_judges().trees
    events = np.array([(0, 1, RESTART, 0, 0, 0), *((0, 1, BEAT, 100 * (k + 1), k, 0) for k in range(n))], np.int64)
    beats = VentricularBeats(
        np.full(n, 0.4), np.full(n, 0.8), np.ones(n, np.float32), np.zeros(n, np.float32),
        rng.random((n, MEASURED)).astype(np.float32),
    )  # fmt: skip
    for _ in range(3):
        memory = VentricularMemory(
            np.zeros((1, PAST, COLUMNS), np.float32),
            np.zeros((1, RECENT, RECENT_COLUMNS), np.float32),
            np.zeros((1, PAST), np.int64),
            np.zeros(1, np.int64),
        )
        features, found = np.zeros((n, RUN_FEATURES), np.float32), Ventricular(np.zeros(n), np.zeros(n), np.zeros(n))
        run = np.array([0, len(events)])
        cpu.kernels.judge_ventricular(1, run, events, beats, np.array([3000]), trees, memory, features, found)
    assert not np.isnan(found.tachycardia[3:]).all()
    assert not np.isnan(found.run[3:]).all()
    ward = Ward()
    ward.tick(device_chunk())
    beats_of_ward = [("bed", 40 * k, 150.0) for k in range(1, 7)]
    assert "ventricular tachycardia" in {a["rule"] for a in ward.tick(beats=beats_of_ward, runs=[3.0] * 6)}
