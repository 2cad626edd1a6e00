"""Admission: where memory is limited, streams beyond the limit are refused with an alert; others do not change."""

import numpy as np
import pytest
from beatwire.backends.cpu import Cpu
from beatwire.errors import UserError
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import Bank, RawTick
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import Run, Signal, assert_same, collect
from steps import Aligner, chunk

BANK = Bank(0, 250.0, 1)


class Small(Cpu):
    """A CPU backend with memory for 64 lanes of one lead at 250 Hz."""

    limit_bytes = 64 * Settings(detector="trees").lane_bytes(BANK) + 1000


def beds(n: int) -> list[Signal]:
    heart = synthesise(1, rate_hz=250.0, seconds=12).recording.samples
    return [Signal(f"bed-{k}", heart[:, 7 * k :], 250.0, 2.0) for k in range(n)]


def run_on(signals: list[Signal], backend: Cpu) -> tuple[Pipeline, Run]:
    pipeline, run = Pipeline(Settings(detector="trees"), backend), Run()
    collect(pipeline, run)
    for a in range(0, 2500, 125):
        pipeline.emit(RawTick.of([s.chunk(a, a + 125) for s in signals]))
    return pipeline, run


def test_a_stream_without_memory_is_refused_and_raises_one_alert() -> None:
    signals = beds(67)
    _, run = run_on(signals, Small())
    refused = {f"bed-{k}" for k in (64, 65, 66)}
    assert set(run.beats) == {s.stream for s in signals} - refused
    transitions = [
        (a["stream"], a["state"], a["priority"], a["technical"]) for a in run.alerts if a["rule"] == "not monitored"
    ]
    assert sorted(transitions) == [(name, "on", "high", True) for name in sorted(refused)]
    assert len(run.rejects) == 3 * 20
    assert set(run.rejects) == {
        f"align: stream '{name}' is refused: no memory for more than 64 streams" for name in refused
    }


def test_a_stream_of_one_rate_too_many_is_refused_and_raises_one_alert() -> None:
    heart = synthesise(1, rate_hz=250.0, seconds=12).recording.samples
    rates_hz = (250.0, 251.0, 252.0, 250.0)
    signals = [Signal(f"bed-{k}", heart[:, 7 * k :], rate_hz, 2.0) for k, rate_hz in enumerate(rates_hz)]
    pipeline, run = Pipeline(Settings(most_banks=2)), Run()
    collect(pipeline, run)
    for a in range(0, 2500, 125):
        pipeline.emit(RawTick.of([s.chunk(a, a + 125) for s in signals]))
    assert set(run.beats) == {"bed-0", "bed-1", "bed-3"}
    assert [(a["stream"], a["state"]) for a in run.alerts if a["rule"] == "not monitored"] == [("bed-2", "on")]
    text = "align: stream 'bed-2' is refused: 252 Hz and 1 leads; expected one of the 2 kinds of streams there are"
    assert set(run.rejects) == {text}
    assert len(run.rejects) == 20, "those of the first second as well, which waited until a second rate was admitted"


def test_refused_streams_do_not_change_the_output_of_admitted_streams() -> None:
    _, crowded = run_on(beds(70), Small())
    names = [f"bed-{k}" for k in range(64)]
    _, alone = run_on(beds(64), Cpu())
    assert set(alone.beats) == set(names), "expected beats of every stream"
    assert_same(crowded.of(*names), alone)


def test_a_refused_stream_is_admitted_when_a_lane_becomes_free_and_its_alert_ends() -> None:
    signals = beds(65)
    pipeline, run = Pipeline(Settings(detector="trees", silence_s=5.0), Small()), Run()
    collect(pipeline, run)
    for a in range(0, 2500, 125):
        here = signals if a < 500 else signals[1:]
        at_us = np.full(len(here), 4_000 * a + (20_000_000 if a >= 500 else 0))
        pipeline.emit(RawTick.of([s.chunk(a, a + 125) for s in here], arrival_us=at_us, now_us=int(at_us[0])))
    transitions = [(a["stream"], a["state"]) for a in run.alerts if a["rule"] == "not monitored"]
    assert transitions == [("bed-64", "on"), ("bed-64", "off")]
    assert "bed-64" in run.beats


class Tiny(Cpu):
    """A CPU backend with memory for no stream."""

    limit_bytes = 100 << 20


def test_a_worker_without_memory_for_one_stream_does_not_start() -> None:
    assert Pipeline(Settings(detector="trees"), Tiny()).settings.detector == "trees"
    with pytest.raises(UserError, match=r"--gpu-memory: expected at least 2\d\d MiB .* detector network; got 100"):
        Pipeline(Settings(detector="network"), Tiny())


@settings(max_examples=draws(20), deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(0, 5), st.sampled_from([100.0, 200.0]), st.booleans()), max_size=5)))
def test_no_lane_is_that_of_two_streams_however_they_change_their_rates(
    sent: list[list[tuple[int, float, bool]]],
) -> None:
    """``sent``: of each tick the streams, the rate of each, and whether it falls silent for long before."""
    aligner, now_us = Aligner(), 0
    for session, tick in enumerate(sent, 1):
        now_us += 150_000_000 if any(silent for *_, silent in tick) else 1_000_000
        values = [chunk(stream=f"bed-{k}", session=session, rate_hz=rate_hz) for k, rate_hz, _ in tick]
        slots = aligner.tick(values, arrival_us=[now_us] * len(values), now_us=now_us, caught_up=True).slots
        held = [(bank, lane) for bank, lane in zip(slots.bank.tolist(), slots.lane.tolist(), strict=True) if lane >= 0]
        assert len(set(held)) == len(held)
