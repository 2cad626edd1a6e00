"""Cut invariance of streams that lose, repeat and reorder chunks, switch leads off and restart."""

import numpy as np
import pytest
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from laws import START_US, Run, Signal, assert_equal, cut, grouped, run_graph, shuffled


def lossy(number: int, rng: np.random.Generator, faults: float) -> list[bytes]:
    """Return the messages of one person; ``faults`` is the probability of a fault in a chunk."""
    recording = synthesise(number, rate_hz=250.0, leads=number % 3 + 1, seconds=40).recording
    signal = Signal(f"bed-{number}", recording.samples, 250.0, 2.0)
    queue: list[bytes] = []
    session, offset, mask = 1, 0, 0
    for a, b in cut(signal.samples.shape[1], rng, 100):
        wrong = rng.random() / faults
        samples = signal.samples[:, a:b].copy()
        if wrong < 0.3:
            continue
        if wrong < 0.5:
            samples[rng.integers(0, len(samples)), rng.random(b - a) < 0.05] = -32768
        if wrong < 0.6:
            mask = int(rng.integers(0, 2 ** len(samples)))
        elif wrong < 0.9:
            mask = 0
        elif wrong < 0.92:
            session, offset = session + 1, int(rng.integers(0, 1000)) - a
        first = max(0, a + offset)
        time_us = START_US + session * 10**9 + first * 4000
        queue.append(signal.chunk(a, b, samples=samples, lead_off=mask, session=session, first=first, time_us=time_us))
        if wrong < 1:
            k = int(rng.integers(0, len(queue)))
            queue.insert(k + int(rng.integers(0, 3)), queue[k] if rng.random() < 0.5 else queue.pop(k))
    return queue


@pytest.fixture(scope="module", params=[(1, 0.05), (2, 0.3), (3, 0.6)], ids=["seldom", "often", "mostly"])
def messages(request: pytest.FixtureRequest) -> list[bytes]:
    seed, faults = request.param
    rng = np.random.default_rng(seed)
    return shuffled([lossy(k, rng, faults) for k in range(4)], rng)


@pytest.fixture(scope="module")
def one_by_one(messages: list[bytes]) -> Run:
    """Return the output with one message a tick."""
    run = run_graph([[message] for message in messages])
    assert sum(map(len, run.beats.values())) > 60, "expected beats to compare: 4 streams of 40 s with gaps"
    assert any(np.isnan(row[3]) for rows in run.beats.values() for row in rows[1:]), "expected intervals cut by gaps"
    assert run.alerts, "expected alerts to compare"
    return run


@pytest.mark.parametrize("pass_s", [0.3, 2.0, 20.0])
def test_the_output_of_lossy_streams_does_not_depend_on_ticks_and_passes(
    messages: list[bytes], one_by_one: Run, pass_s: float
) -> None:
    rng = np.random.default_rng(7)
    ticks = {0.3: grouped(messages, rng, 10), 2.0: grouped(messages, rng, 60), 20.0: [messages]}[pass_s]
    assert_equal(run_graph(ticks, Settings(pass_s=pass_s)), one_by_one)
