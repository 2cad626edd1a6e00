"""A lead that never changes its value: nothing is measured, unless there was a beat before. And beats beside holes."""

import numpy as np
import pytest
from beatwire.records import RawTick
from draws import draws
from hostile_senders import RATE_HZ, heart
from hypothesis import example, given, settings
from hypothesis import strategies as st
from laws import START_US, Run, Signal, assert_equal, run_graph, run_with_successors, ticks_of, transitions_by_stream

HALF_S = RATE_HZ // 2
GRAVE = ("asystole", "ventricular fibrillation")


def still(seconds: float, value: int = 0, leads: int = 1) -> np.ndarray:
    """Return samples of leads that never change."""
    return np.full((leads, round(seconds * RATE_HZ)), value, np.int16)


def raised(run: Run) -> list[str]:
    """Return the rules of the alerts that have begun."""
    return [a["rule"] for a in run.alerts if a["state"] == "on" and not a["reminders"]]


def ticks_in_time(*parts: tuple[int, int, np.ndarray]) -> list[RawTick]:
    """Return ticks of half a second of one stream: session, first sample and samples of each part, sent in a row."""
    chunks = [
        Signal("bed", x, session=session, first=first).chunk(k, min(k + HALF_S, x.shape[1]))
        for session, first, x in parts
        for k in range(0, x.shape[1], HALF_S)
    ]
    times = [START_US + 500_000 * (k + 1) for k in range(len(chunks))]
    return [RawTick.of([value], now_us=t, arrival_us=[t]) for value, t in zip(chunks, times, strict=True)]


@settings(max_examples=draws(10), deadline=None)
@given(st.integers(-2000, 2000), st.integers(0, 3_000), st.integers(1, 2), st.floats(6.0, 40.0), st.integers(0, 99))
@example(0, 0, 1, 20.0, 1)
@example(0, 249, 1, 20.0, 1)
def test_a_stream_without_any_change_is_a_flat_line_alone(
    value: int, first: int, leads: int, seconds: float, seed: int
) -> None:
    signal = Signal("bed", still(seconds, value, leads), first=first)
    whole = run_graph([[signal.chunk(0, signal.samples.shape[1])]])
    assert [rule for rule in raised(whole) if rule != "saturated"] == ["flat line"]
    assert_equal(run_graph(ticks_of([signal], np.random.default_rng(seed), 300)), whole, fewest_beats=0)


def test_a_touch_of_the_electrodes_is_no_asystole_and_a_quiet_signal_behind_them_is() -> None:
    rng = np.random.default_rng(3)
    touch, quiet = still(60.0), still(60.0)
    touch[0, 6000:6100] = np.rint(300 * np.sin(np.arange(100) / 5))
    quiet[0, 6000:] = np.rint(rng.normal(0, 1.5, quiet.shape[1] - 6000))
    for samples, grave in ((touch, []), (quiet, ["asystole"])):
        run = run_graph([[Signal("bed", samples).chunk(0, samples.shape[1])]])
        assert [rule for rule in raised(run) if rule in GRAVE] == grave
    onset = next(a["onset"] for a in run.alerts if a["rule"] == "asystole")
    assert 27.9 <= onset / RATE_HZ <= 30.1


def test_beats_behind_a_lead_that_did_not_change_are_no_end_of_an_asystole() -> None:
    samples = np.concatenate([still(24.0), heart(1, 0, 30 * RATE_HZ)], axis=1)
    run = run_graph([[Signal("bed", samples).chunk(0, samples.shape[1])]])
    assert not set(GRAVE) & set(raised(run))


@pytest.mark.parametrize("change", ["none", "gap", "session"])
def test_a_device_that_sends_one_value_once_the_heart_stands_still_is_in_asystole(change: str) -> None:
    beating, silent = heart(1, 0, 24 * RATE_HZ), still(40.0)
    parts = {
        "none": [(1, 0, np.concatenate([beating, silent], axis=1))],
        "gap": [(1, 0, np.concatenate([beating, silent[:, :500]], axis=1)), (1, 26 * RATE_HZ + 200, silent)],
        "session": [(1, 0, np.concatenate([beating, silent[:, :500]], axis=1)), (2, 0, silent)],
    }
    assert "asystole" in raised(run_with_successors(ticks_in_time(*parts[change]), []))


@pytest.mark.parametrize("has_beats", [True, False])
def test_a_successor_keeps_an_asystole_of_one_value_and_finds_none_where_there_was_no_beat(has_beats: bool) -> None:
    beating, silent = heart(1, 0, 24 * RATE_HZ), still(170.0)
    samples = np.concatenate([beating, silent, beating[:, : 8 * RATE_HZ]], axis=1) if has_beats else silent
    ticks = ticks_in_time((1, 0, samples))
    whole = run_with_successors(ticks, [])
    assert [rule for rule in raised(whole) if rule in GRAVE] == ["asystole"] * has_beats
    for takeovers in ([320], [150, 330]):  # beyond the horizon, and twice
        handed_over = run_with_successors(ticks, takeovers)
        assert transitions_by_stream(handed_over) == transitions_by_stream(whole)


@settings(max_examples=draws(8), deadline=None)
@given(st.floats(0.06, 0.5), st.integers(2, 3), st.integers(0, 10_000), st.integers(0, 99))
@example(0.5, 2, 0, 1)
@example(0.25, 2, 0, 1)
@example(0.2, 3, 0, 1)
def test_a_stream_that_loses_every_second_or_third_piece_is_announced(
    piece_s: float, every: int, at: int, seed: int
) -> None:
    """Half of its beats are lost, or more, and no interval is known: one beat in ten seconds is no analysis."""
    size = round(piece_s * RATE_HZ)
    samples = heart(1, at, 60 * RATE_HZ)
    signal = Signal("bed", samples)
    pieces = [(k, min(k + size, samples.shape[1])) for k in range(0, samples.shape[1], size)]
    sent = [(a, b) for number, (a, b) in enumerate(pieces) if number % every]
    ticks = [
        RawTick.of([signal.chunk(a, b)], now_us=t, arrival_us=[t])
        for a, b in sent
        for t in [START_US + b * 1_000_000 // RATE_HZ]
    ]
    run = run_with_successors(ticks, [])
    assert "cannot analyse" in raised(run)
    first = next(a for a in run.alerts if a["rule"] == "cannot analyse")
    assert first["onset"] / RATE_HZ <= 25.0
