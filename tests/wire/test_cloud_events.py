"""Headers of CloudEvents on what is published: which there are, that their ids repeat, and which messages have them."""

import re
from typing import Any

import pytest
from beatwire.pipeline import Pipeline, Settings
from beatwire.records import Outgoing, RawTick
from beatwire.wire import cloud_events
from beatwire.wire.avro import decode_beat
from beatwire.wire.names import ALERTS, BEATS
from monitored import feed

REQUIRED = {"ce_specversion", "ce_type", "ce_source", "ce_id"}  # by the specification; the others are optional
RFC_3339 = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def published(which: Any, seconds: int = 14) -> list[Outgoing]:
    """Return what the graph publishes of a stream that goes flat."""
    pipeline = Pipeline(Settings(detector="rule", cloud_events=which))
    return [out for values in feed(seconds, flat_from_s=6) for out in pipeline.emit(RawTick.of(values))]


def events(outgoing: list[Outgoing], topic: str) -> list[dict[str, bytes]]:
    return [dict(fields) for out in outgoing if out.topic == topic for fields in out.headers or ()]


def test_alerts_are_events_and_beats_are_not_unless_asked_for() -> None:
    outgoing = published("alerts")
    assert {out.topic: out.headers is not None for out in outgoing} == {BEATS: False, ALERTS: True}


def test_beats_and_alerts_have_the_attributes_that_the_specification_requires() -> None:
    outgoing = published("all")
    for topic, kind, content in ((BEATS, b"beat", b"application/avro"), (ALERTS, b"alert", b"application/json")):
        found = events(outgoing, topic)
        assert len(found) == sum(len(out.values) for out in outgoing if out.topic == topic)
        for one in found:
            assert set(one) == REQUIRED | {"ce_time", "ce_subject", "content-type"}
            assert (one["ce_specversion"], one["ce_type"], one["content-type"]) == (
                b"1.0",
                b"beatwire." + kind,
                content,
            )
            assert RFC_3339.fullmatch(one["ce_time"])
            assert one["ce_subject"] == b"bed-1"
        assert len({one["ce_id"] for one in found}) == len(found) > 1


def test_reminders_and_sums_that_grow_are_events_of_their_own() -> None:
    found = events(published("alerts", seconds=140), ALERTS)
    assert any(b"/reminder 2" in one["ce_id"] for one in found)
    assert len({one["ce_id"] for one in found}) == len(found)
    expired = {"id": "ab", "stream": "ecg.samples/0", "state": "on", "decided": 0, "decided_us": 5}
    first, second = (dict(cloud_events.alert_headers(expired | {"value": unread}))["ce_id"] for unread in (3, 8))
    assert first != second
    once, again = (
        dict(cloud_events.alert_headers(expired | {"decided": 7, "value": rate}))["ce_id"] for rate in (3, 8)
    )
    assert once == again, "what is measured names no event"


def test_an_event_of_a_beat_names_its_stream_session_and_sample_and_its_time() -> None:
    outgoing = published("all")
    (first, *_), (value, *_) = next((out.headers, out.values) for out in outgoing if out.topic == BEATS and out.headers)
    beat = decode_beat(value)
    assert dict(first)["ce_id"].decode() == f"{beat['stream']}/{beat['session']}/{beat['sample']}"
    assert dict(first)["ce_time"].decode() == beat["time"].isoformat(timespec="microseconds").replace("+00:00", "Z")


def test_a_replay_repeats_the_ids() -> None:
    assert [events(published("all"), topic) for topic in (BEATS, ALERTS)] == [
        events(published("all"), topic) for topic in (BEATS, ALERTS)
    ]


@pytest.mark.parametrize("time_us", [-(2**63), -(2**53), 0, 2**53, 2**63 - 1])
def test_any_time_is_written_as_rfc_3339_in_the_years_that_it_has(time_us: int) -> None:
    text = cloud_events.time_of(time_us)
    assert RFC_3339.fullmatch(text)


def test_an_acknowledgement_is_an_event_of_the_staff() -> None:
    found = dict(cloud_events.ack_headers({"alert": "ab", "stream": "bed-1", "by": "me", "at_us": 5}))
    assert (found["ce_source"], found["ce_type"], found["ce_id"]) == (b"urn:beatwire:staff", b"beatwire.ack", b"ab/5")


def test_limits_and_the_records_of_the_audit_log_are_events_of_those_who_wrote_them() -> None:
    entered = dict(cloud_events.limits_headers({"stream": "bed-1", "at_us": 5}))
    assert (entered["ce_source"], entered["ce_type"], entered["ce_id"]) == (
        b"urn:beatwire:staff", b"beatwire.limits", b"bed-1/5",
    )  # fmt: skip
    found = {}
    for what, more in (("limits entered", {}), ("limits in force", {}), ("acknowledged", {"alert": "ab"})):
        record = {"what": what, "stream": "bed-1", "at_us": 5, **more}
        headers = dict(cloud_events.audit_headers(record))
        assert (headers["ce_type"], headers["ce_subject"]) == (b"beatwire.audit", b"bed-1")
        found[headers["ce_id"]] = headers["ce_source"]
    assert found == {
        b"bed-1/limits entered/5": b"urn:beatwire:staff",
        b"bed-1/limits in force/5": b"urn:beatwire:monitor",
        b"ab/acknowledged/5": b"urn:beatwire:monitor",
    }
