"""Begin and end of alerts with leads, silence and sessions, on events made by the test."""

import hashlib
import json
from typing import Any

import numpy as np
import pytest
from beatwire.alerts.rule import alert_id
from bedside import Ward, device_chunk, rows_of, states
from oracles import SentChunk


def test_a_lead_off_alert_begins_and_ends_with_the_lead() -> None:
    def two(first: int, mask: int) -> SentChunk:
        return device_chunk(first, samples=np.zeros((2, 10), np.int16), lead_off=mask)

    ward = Ward()
    transitions = [rows_of(ward.tick(two(10 * k, mask))) for k, mask in enumerate([0, 2, 2, 1, 0, 0])]
    assert transitions == [[], [("lead off", "on", 10, 10)], [], [], [], []]
    ended = rows_of(ward.tick(beats=[("bed", 300)], known=[("bed", 540)]))
    assert ended == [("lead off", "off", 10, 540)], "5 s after all are in contact"
    again = ward.tick(two(60, 3), two(70, 0), *(two(80 + 10 * k, 0) for k in range(60)), two(680, 1))
    assert (again[0]["text"], again[0]["technical"]) == ("lead off: leads 0 and 1 (from 0)", True)
    assert rows_of(again) == [("lead off", "on", 60, 60), ("lead off", "off", 60, 570), ("lead off", "on", 680, 680)]


def test_a_lead_off_alert_ends_five_seconds_after_the_last_lead_is_on_also_behind_a_gap() -> None:
    zeros, ward = np.zeros((2, 10), np.int16), Ward()
    chunks = [device_chunk(first, samples=zeros, lead_off=mask) for first, mask in ((0, 2), (10, 0), (300, 0))]
    assert [rows_of(ward.tick(one)) for one in chunks] == [[("lead off", "on", 0, 0)], [], []]
    assert rows_of(ward.tick(beats=[("bed", 400)], known=[("bed", 600)])) == [("lead off", "off", 0, 510)]


def test_asystole_is_not_raised_while_all_leads_are_off_nor_in_the_four_seconds_after() -> None:
    ward = Ward()
    ward.tick(device_chunk(0, 100))
    assert rows_of(ward.tick(device_chunk(100, 2000, lead_off=1))) == [("lead off", "on", 100, 100)]
    assert ward.tick(device_chunk(2100, 100), known=[("bed", 2500)]) == []
    assert rows_of(ward.tick(known=[("bed", 2501)])) == [("asystole", "on", 2500, 2500)]


def test_a_flat_line_begins_with_two_flat_blocks_in_a_row_and_ends_with_the_next_one_that_is_not_flat(
    ward: Ward,
) -> None:
    flat = [True, False, True, True, True, False, True]
    transitions = ward.tick(blocks=[("bed", 200 * k + 200, f) for k, f in enumerate(flat)])
    transitions = [a for a in transitions if a["rule"] == "flat line"]
    assert rows_of(transitions) == [("flat line", "on", 800, 800), ("flat line", "off", 800, 1200)]
    assert transitions[0]["text"] == "flat line: no signal for 4 s with the leads on"


def test_no_data_begins_by_the_clock_and_ends_with_a_chunk() -> None:
    ward = Ward()
    second = 1_000_000
    ward.tick(device_chunk(0, 10, arrival_us=10 * second), now_us=10 * second)
    assert ward.tick(now_us=12 * second) == []
    begun = ward.tick(now_us=12 * second + 1)
    assert rows_of(begun) == [("no data", "on", 10, 10)]
    assert (begun[0]["text"], begun[0]["priority"]) == ("no data: no usable message for 2 s", "high")
    assert ward.tick(now_us=30 * second) == []
    ended = ward.tick(device_chunk(10, 10, arrival_us=31 * second), now_us=31 * second)
    assert rows_of(ended) == [("no data", "off", 10, 20)]
    assert begun[0]["id"] == ended[0]["id"]
    assert rows_of(ward.tick(now_us=34 * second)) == [("no data", "on", 20, 20)]


@pytest.mark.parametrize("clock", [{"now_us": 10**9, "caught_up": False}, {"now_us": 0}])
def test_no_data_is_not_raised_while_messages_wait_or_the_time_is_unknown(ward: Ward, clock: dict[str, Any]) -> None:
    assert ward.tick(**clock) == []
    assert rows_of(ward.tick(now_us=10**9)) == [("no data", "on", 10, 10)]


def test_a_stream_that_comes_again_and_is_refused_is_not_monitored_and_not_without_data(ward: Ward) -> None:
    ward.aligner.align.admission.admits = lambda *_: False
    found = [rows_of(ward.tick(now_us=3_000_000))]
    for k in range(4, 10):
        at_us, samples = k * 1_000_000, np.zeros((3, 10), np.int16)
        refused = device_chunk(10 * k, session=2, samples=samples, arrival_us=at_us)
        found.append(rows_of(ward.tick(refused, now_us=at_us)))
    again = [("no data", "off", 10, 10), ("not monitored", "on", 40, 40)]
    assert found == [[("no data", "on", 10, 10)], again, [], [], [], [], []]


def test_a_restart_after_a_long_gap_ends_all_alerts_except_lead_off() -> None:
    ward = Ward()
    ward.tick(device_chunk(0, samples=np.zeros((2, 10), np.int16), lead_off=2))
    ward.tick(beats=[("bed", 5, 130)], known=[("bed", 406)], blocks=[("bed", 200, True), ("bed", 400, True)])
    transitions = ward.tick(device_chunk(3000, samples=np.zeros((2, 10), np.int16), lead_off=2))
    assert sorted(rows_of(transitions)) == [
        ("asystole", "latched", 405, 3000),
        ("flat line", "off", 400, 3000),
        ("tachycardia", "off", 5, 3000),
    ]


def test_chunks_that_cannot_be_used_are_no_data() -> None:
    second, ward = 1_000_000, Ward()
    ward.tick(device_chunk(0, arrival_us=second))
    rows = []
    for k in range(2, 6):
        usable = ward.tick(device_chunk(10, rate_hz=50.0, arrival_us=k * second), now_us=k * second)
        rows.append(rows_of(usable))
    assert rows == [[], [], [("no data", "on", 10, 10)], []]
    assert rows_of(ward.tick(device_chunk(10, arrival_us=6 * second))) == [("no data", "off", 10, 20)]


def test_a_new_session_ends_the_alerts_of_the_session_before() -> None:
    ward = Ward()
    ward.tick(device_chunk(0, samples=np.zeros((2, 10), np.int16), lead_off=2))
    begun = ward.tick(beats=[("bed", 300, 130)], known=[("bed", 701)], now_us=9_000_000)
    assert [a["rule"] for a in begun] == ["tachycardia", "asystole", "no data"]
    ended = ward.tick(
        device_chunk(0, session=2, samples=np.zeros((2, 10), np.int16), lead_off=2, arrival_us=10_000_000)
    )
    assert sorted(rows_of(ended)) == [
        ("asystole", "latched", 700, 700),
        ("lead off", "off", 0, 300),
        ("lead off", "on", 0, 0),
        ("no data", "off", 10, 10),
        ("tachycardia", "off", 300, 300),
    ]
    assert {a["id"] for a in begun} < {a["id"] for a in ended if a["session"] == 1}
    assert [a["rule"] for a in ended if a["session"] == 2] == ["lead off"]


def test_a_lead_that_is_on_again_in_a_new_session_or_after_a_silence_ends_its_alert() -> None:
    for changed in ({"session": 2}, {"arrival_us": 100_000_000}):
        ward = Ward()
        ward.tick(device_chunk(0, samples=np.zeros((2, 10), np.int16), lead_off=2))
        transitions = ward.tick(device_chunk(10, samples=np.zeros((2, 10), np.int16), **changed))
        assert [(a["rule"], a["state"], a["session"], a["onset"]) for a in transitions] == [("lead off", "off", 1, 0)]


@pytest.mark.parametrize(("leads", "off"), [(1, 1), (2, 1), (2, 3)])
@pytest.mark.parametrize("chunks", [1, 3])
def test_a_lead_that_is_off_in_chunks_with_a_wrong_place_is_on_when_the_stream_goes_on_where_it_was(
    leads: int, off: int, chunks: int
) -> None:
    zeros = np.zeros((leads, 10), np.int16)
    count = chunks if off == (1 << leads) - 1 else 1  # with samples the second one says that the place is right
    ward, published = Ward(), list[dict[str, Any]]()
    ward.tick(device_chunk(samples=zeros))
    for k in range(count):
        ward.tick(device_chunk(100_000 + 10 * k, samples=zeros, lead_off=off))
        published += ward.published
    for k in range(1, 70):
        ward.tick(device_chunk(10 * k, samples=zeros), known=[("bed", 10 * k + 10)])
        published += ward.published
    assert [s for s in states(published) if s[0] == "lead off"] == [("lead off", "on"), ("lead off", "off")]
    ward.tick(device_chunk(700, samples=zeros, lead_off=off))
    assert ("lead off", "on") in states(ward.published)


def test_alerts_of_a_stream_depend_on_no_other_stream() -> None:
    ward = Ward()
    ward.tick(*[device_chunk(stream=f"bed-{k}") for k in range(5)])
    transitions = ward.tick(
        beats=[("bed-1", 60, 130), ("bed-3", 70, 40), ("bed-4", 200)], known=[("bed-2", 401), ("bed-4", 500)]
    )
    assert [(a["stream"], *row[:3]) for a, row in zip(transitions, rows_of(transitions), strict=True)] == [
        ("bed-1", "tachycardia", "on", 60),
        ("bed-2", "asystole", "on", 400),
        ("bed-3", "bradycardia", "on", 70),
    ]


def test_times_are_those_of_the_device_clock_also_before_the_first_beat(ward: Ward) -> None:
    begun = ward.tick(known=[("bed", 401)])[0]
    assert (begun["onset_us"], begun["decided_us"]) == (10**9 + 4_000_000, 10**9 + 4_000_000)
    off = Ward().tick(device_chunk(700, lead_off=1, session=3))[0]
    assert (off["rule"], off["onset_us"]) == ("lead off", 3 * 10**9 + 7_000_000)


def test_a_clock_that_was_set_back_stops_neither_reminders_nor_evictions() -> None:
    ward, year_us, day_us = Ward(), 365 * 86_400 * 10**6, 86_400 * 10**6
    ward.tick(device_chunk(stream="ahead", arrival_us=year_us), now_us=year_us)
    assert states(ward.tick(now_us=year_us + 3 * 10**6)) == [("no data", "on")]  # so the clock decides something
    ward.tick(device_chunk(arrival_us=10**6), device_chunk(10, stream="ahead", arrival_us=10**6), now_us=10**6)
    ward.tick(device_chunk(20, stream="ahead", arrival_us=5 * 10**6), now_us=5 * 10**6)
    ward.tick(device_chunk(30, stream="ahead", arrival_us=90 * 10**6), now_us=90 * 10**6)
    assert [(one["stream"], one["reminders"]) for one in ward.published if one["reminders"]] == [("bed", 1)]
    ward.tick(device_chunk(40, stream="ahead", arrival_us=2 * day_us), now_us=2 * day_us)
    ward.tick(now_us=2 * day_us)
    assert ward.aligner.directory.known == 1


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


def test_transitions_can_be_written_as_json(ward: Ward) -> None:
    transitions = ward.tick(beats=[("bed", 50, 160)], known=[("bed", 600)])
    assert {a["rule"] for a in transitions} >= {"tachycardia", "asystole"}
    assert json.loads(json.dumps(transitions)) == transitions


def test_an_empty_tick_without_streams_raises_no_alert() -> None:
    assert Ward().tick(now_us=5_000_000) == []
