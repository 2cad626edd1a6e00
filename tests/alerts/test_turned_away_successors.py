"""Workers that take over a stream of which no message can be used: its alert is the same, and ends once."""

from dataclasses import replace
from typing import Any

import pytest
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import RawTick
from beatwire.stages.support.alerts import turned_away
from draws import draws
from hypothesis import example, given, settings
from hypothesis import strategies as st
from laws import START_US, Run, collect, successor
from refused import SECOND_US, Half, chunk, transitions


def test_alerts_that_two_workers_began_for_one_stream_end_together_behind_a_flood_of_ids(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turned_away, "MOST_KNOWN", 3)
    ward = Half()
    for k in range(6):
        ward.tick(chunk("bed", 125 * k, rate_hz=9.0))
    (begun,) = ward.run.alerts
    other = begun | {"id": "0" * len(begun["id"]), "onset_us": begun["onset_us"] + 1, "session": begun["session"] + 1}
    after, run = successor([], [begun, other]), Run()
    collect(after, run, published=True)
    for k in range(140):
        flood = [chunk(f"{k}-{n}", rate_hz=9.0) for n in range(4)]
        after.emit(RawTick.of(flood, now_us=ward.now_us + (k + 1) * 3 * SECOND_US))
    assert transitions(run, "bed") == [("bed", "no data", "off")] * 2


@pytest.mark.parametrize("returns", [True, False])
def test_a_successor_takes_the_alert_over_and_ends_it_once(returns: bool) -> None:
    ward = Half()
    for k in range(6):
        ward.tick(chunk("bed", 125 * k, rate_hz=9.0))
    after, run = successor([], list(ward.run.alerts)), Run()
    collect(after, run, published=True)
    for k in range(10):
        wrong = {"rate_hz": 9.0} if k < 5 or not returns else {}
        after.emit(RawTick.of([chunk("bed", 125 * k, **wrong)], now_us=ward.now_us + (k + 1) * SECOND_US // 2))
    assert transitions(run, "bed") == ([("bed", "no data", "off")] if returns else [])
    if returns:
        assert run.alerts[0]["id"] == ward.run.alerts[0]["id"]


@given(st.lists(st.integers(1, 4_000), min_size=1, max_size=12), st.integers(0, 12), st.integers(1, 5), st.booleans())
@example([2_800, 200], 0, 1, True)
@example([200, 8_000], 0, 2, True)
@settings(max_examples=draws(15), deadline=None)
def test_an_alert_is_the_same_if_the_worker_changes_before_it_begins(
    gaps_ms: list[int], change: int, each: int, beside: bool
) -> None:
    """Messages come after ``gaps_ms``, ``each`` at once; ``beside`` them chunks of a neighbour, which leave marks."""
    arrivals, now_us, ticks = list[int](), START_US, list[RawTick]()
    for gap_ms in gaps_ms:
        now_us += 1000 * gap_ms
        arrivals += [now_us] * each
    at_us, first = START_US, 0
    while at_us < now_us + 4 * SECOND_US:
        before_us, at_us = at_us, at_us + SECOND_US // 2
        arrived = [a for a in arrivals if before_us < a <= at_us]
        sent = [chunk("bed", rate_hz=9.0) for _ in arrived] + ([chunk("neighbour", first)] if beside else [])
        arrived, first = arrived + [at_us] * beside, first + 125 * beside
        ticks.append(RawTick.of(sent, now_us=at_us, arrival_us=arrived))

    def published(change: int) -> list[dict[str, Any]]:
        before, run = Pipeline(Settings()), Run()
        collect(before, run, published=True)
        for tick in ticks[:change]:
            before.emit(tick)
        rewind, after = before.rewind_tick(0), Pipeline(Settings())
        for tick in ticks[rewind:change]:
            after.emit(replace(tick, caught_up=False))
        after.adopt([a for a in run.alerts if a["state"] != "off"])
        collect(after, run, published=True)
        for tick in ticks[change:]:
            after.emit(tick)
        return [a for a in run.alerts if a["stream"] == "bed"]

    assert published(min(change, len(ticks))) == published(0)


@pytest.mark.parametrize(("value", "pause_s"), [(chunk("bed", rate_hz=9.0), 90), (b"?", 12)])
def test_what_never_becomes_an_alert_holds_no_replay_back_for_long(value: bytes, pause_s: int) -> None:
    ward = Half()
    ward.tick(value, keys=[b"bed"])
    assert ward.pipeline.rewind_tick(0) == 0
    for _ in range(2 * pause_s):
        ward.tick()
    assert ward.pipeline.rewind_tick(0) == 0
    ward.tick()
    assert ward.pipeline.rewind_tick(0) == 2 * pause_s + 2
    assert not ward.pipeline.lifecycle.state.turned.streams
