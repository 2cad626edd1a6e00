"""Alerts that nothing arrives from any stream, that monitoring was interrupted, that samples were lost."""

import json
from importlib import resources
from typing import Any

import pytest
from beatwire.cli.ward.tail import alert_line
from beatwire.kafka.reading.record import Record
from beatwire.page.ward import Ward as Page
from beatwire.records import Acknowledgement, Expired
from beatwire.records.feed import Watched
from beatwire.stages import lifecycle
from beatwire.stages.support.alerts.service_alerts import interrupted_messages
from beatwire.wire.names import ALERTS
from bedside import Ward, device_chunk
from jsonschema import Draft202012Validator

S = 1_000_000


def at(ward: Ward, seconds: float, newest_s: float, *streams: str) -> list[tuple[str, str, str]]:
    """Run a tick at a time, with the newest chunk of any stream, and chunks of some; return what is published."""
    ward.alert.silence.watch(Watched(round(seconds * S), round(newest_s * S)))
    ward.lifecycle.feed_newest_us = round(newest_s * S)
    first = round(seconds * 100)
    ward.tick(
        *(device_chunk(first, stream=s, arrival_us=round(seconds * S)) for s in streams), now_us=round(seconds * S)
    )
    return [(a["rule"], a["stream"], a["state"]) for a in ward.published]


def beds(n: int) -> list[str]:
    return [f"bed-{k}" for k in range(n)]


def test_a_feed_that_fails_is_one_alarm_and_not_one_for_each_bed() -> None:
    ward, streams = Ward(), beds(10)
    assert at(ward, 1.0, 1.0, *streams) == []
    assert at(ward, 2.9, 1.0) == []
    assert at(ward, 3.1, 1.0) == [("no data", "ecg.samples", "on")]
    (begun,) = ward.published
    assert (begun["priority"], begun["technical"], begun["onset_us"]) == ("high", True, S)
    assert begun["text"] == "no data: no message from any stream for 2 s"
    assert at(ward, 60.0, 1.0) == []
    assert at(ward, 60.9, 60.9, *streams[:9]) == [("no data", "ecg.samples", "off")]
    assert ward.published[0]["value"] == pytest.approx(59.9)
    assert at(ward, 62.8, 62.8, *streams[:9]) == []
    assert at(ward, 63.0, 63.0, *streams[:9]) == [("no data", "bed-9", "on")], "the bed that does not return"


def test_few_beds_raise_their_own_alarms_beside_that_of_the_feed() -> None:
    ward = Ward()
    at(ward, 1.0, 1.0, *beds(3))
    found = at(ward, 3.1, 1.0)
    assert sorted(found) == sorted([("no data", "ecg.samples", "on"), *(("no data", bed, "on") for bed in beds(3))])


def test_beds_that_fail_while_others_go_on_raise_their_own_alarms() -> None:
    ward = Ward()
    at(ward, 1.0, 1.0, *beds(10))
    for newest_s in (1.4, 1.8, 2.2, 2.6):
        assert at(ward, newest_s + 0.1, newest_s) == []
    assert len(at(ward, 3.1, 3.0)) == 10, "the others are read by another worker"


@pytest.mark.parametrize("interval_s", [2.5, 6.0, 9.0])
def test_a_bed_is_missed_although_the_only_other_one_is_slow_and_the_feed_resumes_with_each_of_its_chunks(
    interval_s: float,
) -> None:
    ward = Ward(no_data_s=10.0)
    found, newest_s = [], 1.0
    at(ward, 1.0, 1.0, *beds(2))
    for k in range(1, 300):
        seconds = 1.0 + 0.5 * k
        comes = seconds - newest_s >= interval_s
        newest_s = seconds if comes else newest_s
        found += [(seconds, *one) for one in at(ward, seconds, newest_s, *(["bed-0"] if comes else []))]
    on = [seconds for seconds, _, bed, state in found if (bed, state) == ("bed-1", "on")]
    assert on, "and then again, as reminders"
    assert 11.0 <= on[0] <= 1.0 + 10.0 + interval_s + 1.0


def test_a_feed_that_never_was_or_has_been_off_for_a_day_raises_no_alarm() -> None:
    for newest_s in (0.0, 1.0):
        ward = Ward()
        assert at(ward, 90_000.0, newest_s) == []


def test_the_alarm_of_the_feed_can_be_acknowledged_and_survives_a_takeover() -> None:
    ward = Ward()
    at(ward, 3.1, 1.0)
    log = ward.published
    successor = Ward()
    lifecycle.adopt(successor.lifecycle, log, [Acknowledgement(log[0]["id"], "ecg.samples", "Ada", 7)])
    assert at(successor, 3.5, 1.0) == [("no data", "ecg.samples", "ack")]
    assert at(successor, 65.0, 64.9) == [("no data", "ecg.samples", "off")]
    assert successor.published[0]["ack_by"] == "Ada"


def test_partitions_that_were_interrupted_are_not_any_more_when_a_worker_has_taken_them_over() -> None:
    ward = Ward()
    log: list[dict[str, Any]] = interrupted_messages([2, 3], 1_000 * S, 5.0)
    lifecycle.adopt(ward.lifecycle, log)
    assert at(ward, 1_007.0, 1_007.0) == [
        ("monitoring interrupted", "ecg.samples/2", "off"),
        ("monitoring interrupted", "ecg.samples/3", "off"),
    ]
    assert {a["value"] for a in ward.published} == {7.0}
    schema = json.loads(resources.files("beatwire.wire").joinpath("schemas/alert.schema.json").read_text("utf-8"))
    for message in [*log, *ward.published]:
        Draft202012Validator(schema).validate(message | {"model": "none"})


def expired_at(ward: Ward, seconds: float, caught_up: bool = True, **missing: int) -> list[dict[str, Any]]:
    """Run a tick at a time, with what was deleted in partition 3; return what is published."""
    if missing:
        ward.lifecycle.expired[3] = Expired(**missing)
    ward.tick(now_us=round(seconds * S), caught_up=caught_up)
    return ward.published


def test_samples_deleted_unread_are_one_alert_until_everything_that_waits_has_been_read() -> None:
    ward = Ward()
    (begun,) = expired_at(ward, 1.0, caught_up=False, unread=20, first=5)
    assert (begun["state"], begun["priority"], begun["technical"]) == ("on", "medium", True)
    assert (begun["stream"], begun["value"], begun["partition"]) == ("ecg.samples/3", 20, 3)
    (more,) = expired_at(ward, 7.0, caught_up=False, unread=4, first=90)
    assert (more["id"], more["value"]) == (begun["id"], 24)
    assert expired_at(ward, 11.9) == [], "at least five seconds"
    assert expired_at(ward, 13.0, caught_up=False) == [], "messages wait"
    (ended,) = expired_at(ward, 13.1)
    assert (ended["state"], ended["value"], ended["text"]) == ("off", 24, "ended: samples lost, after 12.1 s")


def test_messages_that_would_only_have_been_replayed_raise_no_alert() -> None:
    assert expired_at(Ward(), 1.0, replay=20) == []


def test_a_successor_ends_the_alert_and_does_not_raise_the_same_one_again() -> None:
    ward, successor = Ward(), Ward()
    log = expired_at(ward, 1.0, unread=20, first=5)
    lifecycle.adopt(successor.lifecycle, log)
    assert expired_at(successor, 2.0, unread=20, first=5) == []
    assert [a["state"] for a in expired_at(successor, 6.1)] == ["off"]


def test_the_page_and_the_terminal_show_deleted_samples() -> None:
    (begun,) = expired_at(Ward(), 1.0, unread=20, first=5)
    page = Page()
    page.add_records([Record(ALERTS, begun["id"].encode(), json.dumps(begun).encode())])
    (bed,) = page.part("", 0, 10, S)["beds"]
    assert bed["stream"] == "ecg.samples/3"
    assert [a["text"] for a in page.alerts_of("ecg.samples/3")] == [begun["text"]]
    line = alert_line(begun).plain
    assert "ecg.samples/3     **   on       samples lost: 20 messages were deleted before they were read" in line
