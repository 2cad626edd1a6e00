"""Recovery where banks open: which are open depends on all streams of a worker; a successor has other partitions."""

from dataclasses import replace

import numpy as np
import pytest
from beatwire.kafka.consuming.positions import Position
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import RawTick
from laws import START_US, Run, Signal, assert_equal, collect

RATES_HZ = (360.0, 128.0, 128.0, 360.0, 250.0)  # partition 0 has the first two streams, partition 1 the others
PARTITION = (0, 0, 1, 1, 1)
TICKS = 70  # of 0.1 s


@pytest.fixture(scope="module")
def beds() -> list[Signal]:
    """Streams of three rates that begin together, with a beat in their first samples."""
    made = []
    for k, rate_hz in enumerate(RATES_HZ):
        heart = synthesise(k + 1, rate_hz=rate_hz, seconds=12).recording
        first = int(heart.samples[0, : round(rate_hz)].argmax()) - round(0.08 * rate_hz)
        made.append(Signal(f"bed-{k}", heart.samples[:1, max(0, first) :], rate_hz, heart.uv_per_unit))
    return made


@pytest.fixture(scope="module")
def expected(beds: list[Signal]) -> Run:
    """Return the output of one graph for all streams, from the beginning to the end."""
    pipeline = Pipeline(Settings())
    run = run_of(pipeline)
    for number in range(TICKS):
        emit(pipeline, beds, number, 0, 1)
    return run


def emit(pipeline: Pipeline, beds: list[Signal], number: int, *partitions: int, **changed: object) -> None:
    """Send a tenth of a second of every stream of some partitions."""
    own = [k for k in range(len(beds)) if PARTITION[k] in partitions]
    edges = [[round(0.1 * n * beds[k].rate_hz) for n in (number, number + 1)] for k in own]
    values = [beds[k].chunk(a, b) for k, (a, b) in zip(own, edges, strict=True)]
    tick = RawTick.of(values, now_us=START_US + 100_000 * number, partition=[PARTITION[k] for k in own])
    pipeline.emit(replace(tick, **changed))


def run_of(pipeline: Pipeline) -> Run:
    run = Run()
    collect(pipeline, run, published=True)
    return run


@pytest.mark.parametrize(
    "at", [*range(1, 16, 2), *(pytest.param(at, marks=pytest.mark.slow) for at in range(2, 16, 2))]
)
@pytest.mark.parametrize("partition", [0, 1])
def test_a_successor_of_one_partition_publishes_each_beat_once(
    beds: list[Signal], expected: Run, partition: int, at: int
) -> None:
    killed, successor = (Pipeline(Settings()) for _ in range(2))
    before = run_of(killed)
    for number in range(at):
        emit(killed, beds, number, 0, 1)
    commit = Position.from_commit(at, Position(at, killed.rewind_tick(partition), banks=killed.open_banks).metadata)
    assert commit.banks is not None
    replayed = run_of(successor)
    for number in range(commit.rewind, at):
        emit(successor, beds, number, partition, open_banks={partition: commit.banks})
    replayed.beats.clear()
    for number in range(at, TICKS):
        emit(successor, beds, number, partition)
    own = [bed.stream for k, bed in enumerate(beds) if PARTITION[k] == partition]
    found = before.of(*own)
    for stream, rows in replayed.beats.items():
        found.beats.setdefault(stream, []).extend(rows)
    assert_equal(Run(found.beats), Run(expected.of(*own).beats))


@pytest.mark.parametrize("at", [3, 6, 9, 12])
def test_one_that_has_the_bank_for_streams_of_its_own_does_too(beds: list[Signal], expected: Run, at: int) -> None:
    """The survivor has 360 and 128 Hz open long before, or as soon as, the one that was killed."""
    survivor, killed = (Pipeline(Settings()) for _ in range(2))
    own, before = run_of(survivor), run_of(killed)
    for number in range(at):
        emit(survivor, beds, number, 0)
        emit(killed, beds, number, 1)
    banks = killed.open_banks
    taken = Run({stream: list(rows) for stream, rows in own.beats.items()})
    for number in range(killed.rewind_tick(1), at):
        emit(survivor, beds, number, 1, open_banks={1: banks})
    own.beats.clear()
    for number in range(at, TICKS):
        emit(survivor, beds, number, 0, 1)
    for part in (before, own):
        for stream, rows in part.beats.items():
            taken.beats.setdefault(stream, []).extend(rows)
    assert_equal(taken, Run(expected.beats))


def test_in_a_replay_of_unknown_banks_all_count_as_open(beds: list[Signal]) -> None:
    pipeline = Pipeline(Settings())
    emit(pipeline, beds, 0, 0, 1, open_banks={})
    assert pipeline.open_banks == {(rate_hz, 1) for rate_hz in RATES_HZ}


def test_a_replay_opens_no_other_bank(beds: list[Signal]) -> None:
    pipeline = Pipeline(Settings())
    for number in range(15):
        emit(pipeline, beds, number, 0, 1, open_banks={0: frozenset({(128.0, 1)}), 1: frozenset()})
    assert pipeline.open_banks == {(128.0, 1)}
    emit(pipeline, beds, 15, 0, 1)
    assert pipeline.open_banks == {(rate_hz, 1) for rate_hz in RATES_HZ}


def test_a_commit_of_an_earlier_version_names_no_banks() -> None:
    assert Position.from_commit(9, "beatwire rewind=4 at=1").banks is None
    assert Position.from_commit(9, Position(9, 4, 1, frozenset()).metadata).banks == frozenset()
    most = frozenset((250.0 + k / 3, 12) for k in range(128))
    assert Position.from_commit(9, Position(9, 4, 1, most).metadata).banks == most
    assert len(Position(9, 4, 1, most).metadata) < 4096, "what a broker accepts"
    assert np.isfinite(list(most)).all()
