"""Law of cuts on all annotated recordings: whole against cut at random, equal to the last bit.

A breach of this law was once found in 2 of 149,716 beats: it needs a beat whose window ends as late as it may, and a
tick that ends right after its decision. So here every beat of every recording meets borders around its decision.
"""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import wfdb
from beatwire.pipeline.settings import Settings
from laws import Run, Signal, assert_equal, cut, run_graph, run_with_successors

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
FOLDERS = ("mitdb", "svdb", "qtdb", "vfdb", "cudb")
FEWEST_BEATS = 150_000
CHUNKS_OF_A_TICK = (0, 1, 1, 1, 1, 2, 3, 8, 40)  # of a stream, drawn for each tick

Cuts = dict[str, list[tuple[int, int]]]


@pytest.fixture(scope="module")
def recorded(ecg_folder: Path) -> list[Signal]:
    """Return the first lead of every recording, without its median, at 5 uV a unit."""
    found = []
    for header in sorted(path for folder in FOLDERS for path in (ecg_folder / folder).glob("*.hea")):
        record = wfdb.rdrecord(str(header.with_suffix("")), channels=[0], physical=False)
        lead = record.d_signal[:, 0].astype(np.int64)
        samples = np.clip(lead - int(np.median(lead)), -32767, 32767).astype(np.int16)[None]
        found.append(Signal(f"{header.parent.name}/{header.stem}", samples, float(record.fs)))
    assert len(found) > 100
    return found


@pytest.fixture(scope="module")
def whole(recorded: list[Signal]) -> Run:
    """Return the output for 10 s of each stream a tick, in one chunk."""
    run = run_graph(ticks_of(recorded, cut_each(recorded, lambda s: regular(s, 10.0)), lambda: 1))
    assert not run.rejects
    return run


def regular(signal: Signal, seconds: float) -> list[int]:
    """Return borders at equal distances."""
    return list(range(0, signal.samples.shape[1], round(seconds * signal.rate_hz)))


def cut_each(signals: list[Signal], borders: Callable[[Signal], list[int]]) -> Cuts:
    """Return the chunks of each stream: from border to border."""
    return {s.stream: list(itertools.pairwise(sorted({0, s.samples.shape[1], *borders(s)}))) for s in signals}


def ticks_of(signals: list[Signal], cuts: Cuts, chunks: Callable[[], int]) -> Iterator[list[bytes]]:
    """Yield ticks until all streams are over: of each stream its next chunks, as many as ``chunks`` returns."""
    at = dict.fromkeys(cuts, 0)
    while left := [s for s in signals if at[s.stream] < len(cuts[s.stream])]:
        tick = []
        for s in left:
            begin = at[s.stream]
            at[s.stream] = begin + chunks()
            tick += [s.chunk(a, b) for a, b in cuts[s.stream][begin : at[s.stream]]]
        yield tick


def test_one_chunk_of_250_ms_a_tick_gives_the_same_output(recorded: list[Signal], whole: Run) -> None:
    cuts = cut_each(recorded, lambda s: regular(s, 0.25))
    assert_equal(run_graph(ticks_of(recorded, cuts, lambda: 1)), whole, FEWEST_BEATS)


@pytest.mark.parametrize(("seed", "longest_s", "pass_s"), [(1, 0.3, 2.0), (2, 1.5, 0.7)])
def test_chunks_ticks_and_passes_drawn_at_random_give_the_same_output(
    recorded: list[Signal], whole: Run, seed: int, longest_s: float, pass_s: float
) -> None:
    rng = np.random.default_rng(seed)
    cuts = {s.stream: cut(s.samples.shape[1], rng, round(longest_s * s.rate_hz)) for s in recorded}
    ticks = ticks_of(recorded, cuts, lambda: int(rng.choice(CHUNKS_OF_A_TICK)))
    assert_equal(run_graph(ticks, Settings(pass_s=pass_s)), whole, FEWEST_BEATS)


def test_borders_drawn_around_every_decision_give_the_same_output(recorded: list[Signal], whole: Run) -> None:
    """A tick ends with the newest sample of each decision, and at three samples drawn around it."""
    rng = np.random.default_rng(3)

    def around(signal: Signal) -> list[int]:
        decided = np.array([row[10] for row in whole.beats[signal.stream]], np.int64)
        drawn = decided[:, None] + rng.integers(-4, 6, (len(decided), 3))
        borders = np.concatenate([decided + 1, drawn.ravel()])
        return borders[(borders > 0) & (borders < signal.samples.shape[1])].tolist()

    assert_equal(run_graph(ticks_of(recorded, cut_each(recorded, around), lambda: 1)), whole, FEWEST_BEATS)


@pytest.mark.parametrize("seed", [1, 2])
def test_successors_that_take_over_at_random_give_the_same_output(recorded: list[Signal], seed: int) -> None:
    """Every one to four minutes of signal a new graph replays the horizon, and adopts the alerts of the log."""
    rng = np.random.default_rng(seed)
    ticks = list(ticks_of(recorded, cut_each(recorded, lambda s: regular(s, 2.0)), lambda: 1))
    takeovers = np.cumsum(rng.integers(30, 120, len(ticks)))
    undisturbed = run_with_successors(ticks, [])
    assert_equal(run_with_successors(ticks, takeovers[takeovers < len(ticks)].tolist()), undisturbed, FEWEST_BEATS)
