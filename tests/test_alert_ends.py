"""How alerts begin and end with leads, silence, sessions and workers, by hand-made events."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import pytest
from beatwire.stages import alert
from beatwire.stages.support.alert_rules import alert_id
from bedside import Ward, came, short
from oracles import Sent


@pytest.fixture
def ward() -> Ward:
    one = Ward()
    assert one.tick(came()) == []
    return one


def test_a_lead_that_is_off_is_told_when_it_goes_off_and_when_it_is_on_again() -> None:
    def two(first: int, mask: int) -> Sent:
        return came(first, samples=np.zeros((2, 10), np.int16), lead_off=mask)

    ward = Ward()
    told = [short(ward.tick(two(10 * k, mask))) for k, mask in enumerate([0, 2, 2, 1, 0, 0])]
    assert told == [[], [("lead off", "on", 10, 10)], [], [], [("lead off", "off", 10, 40)], []]
    again = ward.tick(two(60, 3))
    assert (again[0]["text"], again[0]["technical"]) == ("lead off: leads 1 and 2", True)


def test_while_all_leads_are_off_there_is_no_asystole_and_none_until_four_seconds_after() -> None:
    ward = Ward()
    ward.tick(came(0, 100))
    assert short(ward.tick(came(100, 2000, lead_off=1))) == [("lead off", "on", 100, 100)]
    assert short(ward.tick(came(2100, 100))) == [("lead off", "off", 100, 2100)]
    assert ward.tick(known=[("bed", 2500)]) == []
    assert short(ward.tick(known=[("bed", 2501)])) == [("asystole", "on", 2500, 2500)]


def test_two_flat_blocks_in_a_row_are_a_flat_line_until_one_is_not(ward: Ward) -> None:
    flat = [True, False, True, True, True, False, True]
    told = ward.tick(blocks=[("bed", 200 * k + 200, f) for k, f in enumerate(flat)])
    assert short(told) == [("flat line", "on", 800, 800), ("flat line", "off", 800, 1200)]
    assert told[0]["text"] == "flat line: no signal for 4 s with the leads on"


def test_no_data_is_told_by_the_clock_and_ended_by_a_chunk() -> None:
    ward = Ward()
    second = 1_000_000
    ward.tick(came(0, 10, arrival_us=10 * second), now_us=10 * second)
    assert ward.tick(now_us=12 * second) == []
    begun = ward.tick(now_us=12 * second + 1)
    assert short(begun) == [("no data", "on", 10, 10)]
    assert (begun[0]["text"], begun[0]["priority"]) == ("no data: no message for 2 s", "high")
    assert ward.tick(now_us=30 * second) == []
    ended = ward.tick(came(10, 10, arrival_us=31 * second), now_us=31 * second)
    assert short(ended) == [("no data", "off", 10, 20)]
    assert begun[0]["id"] == ended[0]["id"]
    assert short(ward.tick(now_us=34 * second)) == [("no data", "on", 20, 20)]


@pytest.mark.parametrize("clock", [{"now_us": 10**9, "caught_up": False}, {"now_us": 0}])
def test_silence_is_not_told_while_more_is_waiting_or_nobody_knows_the_time(ward: Ward, clock: dict[str, Any]) -> None:
    assert ward.tick(**clock) == []
    assert short(ward.tick(now_us=10**9)) == [("no data", "on", 10, 10)]


def test_a_restart_after_a_long_gap_ends_what_was_on_but_leads_that_stay_off() -> None:
    ward = Ward()
    ward.tick(came(0, samples=np.zeros((2, 10), np.int16), lead_off=2))
    ward.tick(beats=[("bed", 5, 130)], known=[("bed", 406)], blocks=[("bed", 200, True), ("bed", 400, True)])
    told = ward.tick(came(3000, samples=np.zeros((2, 10), np.int16), lead_off=2))
    assert sorted(short(told)) == [
        ("asystole", "latched", 405, 3000),
        ("flat line", "off", 400, 3000),
        ("tachycardia", "off", 5, 3000),
    ]


def test_a_new_session_ends_all_alerts_in_their_own_session() -> None:
    ward = Ward()
    ward.tick(came(0, samples=np.zeros((2, 10), np.int16), lead_off=2))
    begun = ward.tick(beats=[("bed", 300, 130)], known=[("bed", 701)], now_us=9_000_000)
    assert [a["rule"] for a in begun] == ["tachycardia", "asystole", "no data"]
    ended = ward.tick(came(0, session=2, samples=np.zeros((2, 10), np.int16), lead_off=2, arrival_us=10_000_000))
    assert sorted(short(ended)) == [
        ("asystole", "latched", 700, 700),
        ("lead off", "off", 0, 300),
        ("lead off", "on", 0, 0),
        ("no data", "off", 10, 10),
        ("tachycardia", "off", 300, 300),
    ]
    assert {a["id"] for a in begun} < {a["id"] for a in ended if a["session"] == 1}
    assert [a["rule"] for a in ended if a["session"] == 2] == ["lead off"]


def test_leads_that_are_on_again_in_a_new_session_or_after_a_silence_are_told() -> None:
    for changed in ({"session": 2}, {"arrival_us": 100_000_000}):
        ward = Ward()
        ward.tick(came(0, samples=np.zeros((2, 10), np.int16), lead_off=2))
        told = ward.tick(came(10, samples=np.zeros((2, 10), np.int16), **changed))
        assert [(a["rule"], a["state"], a["session"], a["onset"]) for a in told] == [("lead off", "off", 1, 0)]


def test_streams_do_not_touch_each_other() -> None:
    ward = Ward()
    ward.tick(*[came(stream=f"bed-{k}") for k in range(5)])
    told = ward.tick(
        beats=[("bed-1", 60, 130), ("bed-3", 70, 40), ("bed-4", 200)], known=[("bed-2", 401), ("bed-4", 500)]
    )
    assert [(a["stream"], *row[:3]) for a, row in zip(told, short(told), strict=True)] == [
        ("bed-1", "tachycardia", "on", 60),
        ("bed-2", "asystole", "on", 400),
        ("bed-3", "bradycardia", "on", 70),
    ]


def test_times_are_those_of_the_device_clock_also_before_any_beat(ward: Ward) -> None:
    told = ward.tick(known=[("bed", 401)])[0]
    assert (told["onset_us"], told["decided_us"]) == (10**9 + 4_000_000, 10**9 + 4_000_000)
    off = Ward().tick(came(700, lead_off=1, session=3))[0]
    assert (off["rule"], off["onset_us"]) == ("lead off", 3 * 10**9 + 7_000_000)


def logged(rule: str, onset: int, session: int = 1, state: str = "on", stream: str = "bed") -> dict[str, Any]:
    return {"id": alert_id(stream, session, rule, onset), "stream": stream, "session": session, "rule": rule,
            "state": state, "onset": onset, "onset_us": 10**9 * session + 10_000 * onset}  # fmt: skip


def test_a_successor_takes_over_the_onset_of_an_alert_that_is_on(ward: Ward) -> None:
    found = ward.tick(known=[("bed", 5000)])
    assert short(found) == [("asystole", "on", 400, 400)]
    alert.adopt(
        ward.alert, [logged("asystole", 77), logged("tachycardia", 5), logged("bradycardia", 6, state="latched")]
    )
    ended = ward.tick(beats=[("bed", 6000)])
    assert short(ended) == [("asystole", "latched", 77, 6000)]
    assert ended[0]["id"] == logged("asystole", 77)["id"]


def test_an_alert_of_an_older_session_is_not_taken_over_by_a_newer_one(ward: Ward) -> None:
    ward.tick(known=[("bed", 5000)])
    alert.adopt(ward.alert, [logged("asystole", 77, session=0)])
    assert short(ward.tick(beats=[("bed", 6000)])) == [("asystole", "latched", 400, 6000)]


@pytest.mark.parametrize("session", [1, 2])
def test_alerts_of_a_stream_that_was_silent_all_through_the_replay_end_when_it_comes_again(session: int) -> None:
    ward = Ward()
    on = [logged("asystole", 400), logged("no data", 900), logged("lead off", 30), logged("flat line", 20)]
    alert.adopt(ward.alert, [*on, logged("asystole", 3, stream="another")])
    assert ward.tick(now_us=10**9) == []
    told = ward.tick(came(1000, session=session, arrival_us=10**9), now_us=10**9)
    assert {(a["rule"], a["state"], a["onset"]) for a in told} == {
        ("asystole", "latched", 400),
        ("no data", "off", 900),
        ("lead off", "off", 30),
        ("flat line", "off", 20),
    }
    assert {a["id"] for a in told} == {a["id"] for a in on}
    assert {a["id"]: a["onset_us"] for a in told} == {a["id"]: a["onset_us"] for a in on}
    assert all(a["decided_us"] >= a["onset_us"] for a in told)


def test_ids_differ_by_stream_session_rule_and_onset() -> None:
    ids = [
        alert_id(s, session, rule, onset)
        for s in ("a", "b")
        for session in (1, 11)
        for rule in ("asystole", "tachycardia")
        for onset in (1, 2)
    ]
    assert len(set(ids)) == 16
    assert alert_id("bed-3", 1, "asystole", 450) == hashlib.sha256(b"bed-3|1|asystole|450").hexdigest()[:32]


def test_everything_told_is_json(ward: Ward) -> None:
    told = ward.tick(beats=[("bed", 50, 160)], known=[("bed", 600)])
    assert json.loads(json.dumps(told)) == told


def test_an_empty_tick_of_an_empty_ward_passes() -> None:
    assert Ward().tick(now_us=5_000_000) == []
