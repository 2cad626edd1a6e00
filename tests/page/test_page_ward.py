"""The state behind the live page: order and search, alerts in force, acknowledgements."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from beatwire.kafka.reading.record import Record
from beatwire.page import alerts as page_alerts
from beatwire.page.ward import Ward
from beatwire.wire.names import ACKS, ALERTS, BEATS
from hypothesis import given
from hypothesis import strategies as st
from laws import START_US
from page_ward import alert, beat, bed, names, ward_of


def test_the_ward_is_sorted_by_priority_and_then_by_the_numbers_in_the_ids() -> None:
    ward = ward_of("bed-10", "bed-9", "icu-1", "bed-1")
    assert names(ward) == ["bed-1", "bed-9", "bed-10", "icu-1"]
    ward.add_records([alert("bed-10", "anomalous beats"), alert("icu-1", "asystole"), alert("bed-9", "lead off")])
    assert names(ward) == ["icu-1", "bed-9", "bed-10", "bed-1"]
    assert ward.part("", 0, 0, START_US)["counts"] == {"high": 1, "medium": 1, "low": 1}


def acknowledgement(of: Record, **changed: Any) -> Record:
    value = json.loads(of.value or b"")
    ack = {"alert": value["id"], "stream": value["stream"], "by": "Ada", "at_us": START_US + 5} | changed
    return Record(ACKS, of.key, json.dumps(ack).encode())


def test_a_bed_that_somebody_has_acknowledged_stands_behind_those_of_its_priority_that_nobody_has() -> None:
    ward = ward_of("bed-1", "bed-2", "bed-3", "bed-4")
    high, other = alert("bed-1", "no data"), alert("bed-2", "asystole", "latched")
    ward.add_records([high, other, alert("bed-3", "asystole"), alert("bed-4", "tachycardia")])
    assert names(ward) == ["bed-1", "bed-3", "bed-2", "bed-4"], "what goes on stands before what has ended"
    ward.add_records([acknowledgement(high)])
    assert names(ward) == ["bed-3", "bed-2", "bed-1", "bed-4"]
    ward.add_records([acknowledgement(other, stream="bed-3")])
    assert names(ward) == ["bed-3", "bed-2", "bed-1", "bed-4"], "the monitor ignores what names another stream"
    assert bed(ward, "bed-2")["alerts"][0]["state"] == "latched"
    ward.add_records([alert("bed-1", "extreme tachycardia")])
    assert names(ward) == ["bed-1", "bed-3", "bed-2", "bed-4"]
    assert ward.part("", 0, 0, START_US)["counts"] == {"high": 3, "medium": 1, "low": 0}


def test_the_ward_is_searched_in_any_case_and_shown_in_parts() -> None:
    ward = ward_of(*(f"bed-{k}" for k in range(12)), "ICU-3")
    assert names(ward, "icu") == ["ICU-3"]
    part = ward.part("bed", 10, 5, START_US)
    assert (part["total"], part["streams"], part["offset"], len(part["beds"])) == (12, 13, 10, 2)
    assert ward.part("nothing", 0, 64, START_US)["beds"] == []
    assert len(names(ward, "bed", 500)) == 1, "an offset beyond the end is the last bed"


def test_an_alert_is_in_force_until_it_is_off_and_the_stream_need_not_be_known() -> None:
    ward = Ward()
    changed: list[set[str]] = []
    ward.listeners.append(changed.append)
    ward.add_records([alert("bed-7", "no data")])
    assert names(ward) == ["bed-7"]
    assert bed(ward, "bed-7")["state"] == "stale"
    ward.add_records([alert("bed-7", "asystole", "latched"), alert("bed-7", "no data", "off")])
    assert [(a["rule"], a["state"]) for a in ward.alerts_of("bed-7")] == [("asystole", "latched")]
    ward.add_records([alert("bed-7", "asystole")._replace(value=None)])
    assert ward.alerts_of("bed-7") == []
    assert ward.alarmed() == set()
    assert changed == [{"bed-7"}] * 3


def test_a_stream_whose_alerts_have_all_ended_is_not_in_the_ward_for_them() -> None:
    ward = Ward()
    ward.add_records([alert("bed-7"), alert("bed-7", state="off"), alert("bed-8", "asystole")])
    assert names(ward) == ["bed-8"]
    ward.add_records([alert("ecg.samples", "no data")])  # of a topic, which is no bed
    assert names(ward) == ["bed-8", "ecg.samples"]
    ward.add_records([alert("ecg.samples", "no data", "off"), alert("bed-8", "asystole", "off"), beat("bed-9", 0.0)])
    assert names(ward) == ["bed-9"]


def test_an_acknowledgement_is_shown_whether_it_arrives_before_or_after_its_alert() -> None:
    for order in (1, -1):
        ward = Ward()
        asystole = alert("bed-1", "asystole")
        ward.add_records([asystole, acknowledgement(asystole)][::order])
        (shown,) = ward.alerts_of("bed-1")
        assert (shown["state"], shown["ack_by"], shown["ack_us"]) == ("ack", "Ada", START_US + 5)


def test_a_tile_names_an_alert_without_the_value_of_its_onset_or_end() -> None:
    for state in ("on", "latched"):
        ward = Ward()
        ward.add_records([alert("bed-1", "ventricular tachycardia", state)])
        assert [a["short"] for a in ward.alerts_of("bed-1")] == ["ventricular tachycardia"]


def test_of_an_alert_in_two_partitions_the_newer_message_counts() -> None:
    on, off = alert("bed-1"), alert("bed-1", state="off")
    for records in ((on._replace(time_us=5), off._replace(time_us=9, partition=1)), (on, off)):
        for order in (1, -1) if records[0].time_us else (1,):
            ward = Ward()
            ward.add_records(records[::order])
            assert ward.alerts_of("bed-1") == []


def test_the_oldest_alerts_and_acknowledgements_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_alerts, "MOST", 3)
    found, several = page_alerts.Alerts(), [alert(f"bed-{k}") for k in range(5)]
    for one in several:
        found.add_ack(acknowledgement(one))
        found.add_alert(one)
    assert list(found.of_stream) == ["bed-2", "bed-3", "bed-4"]
    assert [found.rank(f"bed-{k}") > 0 for k in range(5)] == [False, False, True, True, True]
    assert len(found.acks) == 3


def test_an_alarm_that_goes_on_stands_before_one_of_its_priority_that_has_ended() -> None:
    ward = Ward()
    newer = {"decided_us": START_US + 9}
    ward.add_records([
        alert("bed-1", "tachycardia", decided_us=START_US + 99), alert("bed-1", "no data", "ack", **newer),
        alert("bed-1", "asystole", "latched", **newer), alert("bed-1", "extreme tachycardia"),
        alert("bed-1", "extreme bradycardia", **newer), alert("bed-1", "lead off", decided_us=0),
    ])  # fmt: skip
    assert [a["rule"] for a in ward.alerts_of("bed-1")] == [
        "extreme bradycardia", "extreme tachycardia", "asystole", "no data", "tachycardia", "lead off",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "changed", [{"value": float("nan")}, {"stream": "\ud800"}, {"stream": "x" * 65}, {"text": 3}, {"priority": "grave"}]
)
def test_an_alert_that_a_browser_could_not_show_is_counted_and_left_out(changed: dict[str, Any]) -> None:
    ward = Ward()
    ward.add_records([alert(**({"stream": "bed-1", "rule": "asystole"} | changed))])
    assert ward.figures["rejected"] == 1
    assert names(ward) == []


def test_a_beat_with_numbers_out_of_range_is_shown_without_them() -> None:
    ward = ward_of("bed-1")
    ward.add_records([beat("bed-1", 0.1, rate_bpm=float("inf"), score=float("inf"), map_x=float("-inf"))])
    _, found = ward.beats_since(0, ward.slots(["bed-1"]), {"bed-1"})
    text = json.dumps([found, bed(ward, "bed-1")], allow_nan=False)
    assert '"bpm": null' in text


@pytest.mark.parametrize(
    "value", [b"", b"[]", b"\xff", b'{"id": 3}', b'{"state": "on"}', b"[" * 5000, b'{"id": "k", "stream": ""}']
)
def test_malformed_alerts_and_acknowledgements_are_counted_and_change_nothing(value: bytes) -> None:
    ward = Ward()
    ward.add_records([Record(ALERTS, b"k", value), Record(ACKS, b"k", value), Record(BEATS, b"k", value or b"x")])
    assert ward.figures["rejected"] == 3
    assert names(ward) == []


@given(st.integers(2, 5), st.data())
def test_a_browser_that_leaves_while_alerts_are_passed_on_keeps_them_from_no_other(
    count: int, data: st.DataObject
) -> None:
    leaving = data.draw(st.integers(0, count - 1))
    ward, told = Ward(), list[int]()

    def listener(k: int) -> Callable[[set[str]], None]:
        def on_alerts(_: set[str]) -> None:
            told.append(k)
            if k == leaving:
                ward.listeners.remove(on_alerts)

        return on_alerts

    ward.listeners += map(listener, range(count))
    ward.add_records([alert("bed-1", "asystole")])
    assert told == list(range(count))
