"""Readers of topics: whatever the bytes are, a message or a reason; and what they let through stops nothing."""

import contextlib
import io
import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import fastavro
import numpy as np
import pytest
from alert_values import alert, value
from beatwire.alerts.limits import MOST_CHANGES, check_limits
from beatwire.alerts.rules import RULES
from beatwire.alerts.settings import Settings
from beatwire.cli.ward.tail import AlertLines, alert_line, beat_line, letter_line
from beatwire.errors import UserError, shown
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.reading import staff
from beatwire.kafka.reading.record import Record
from beatwire.kafka.reading.staff import MOST_REJECTED, StaffReader
from beatwire.page.alerts import Alerts
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings as GraphSettings
from beatwire.records import Acknowledgement, Expired, Fault, RawTick, Rejects
from beatwire.service.observing import unusable
from beatwire.wire import fhir, names
from beatwire.wire.alerts import MOST_TEXT, decode_alert
from beatwire.wire.avro import decode_beat, encode_chunk, schema
from beatwire.wire.cloud_events import ack_headers, alert_headers, limits_headers
from beatwire.wire.dead_letters import MOST_ALONE, dead_letters, letters_in
from beatwire.wire.fields import Unusable
from beatwire.wire.packed_letters import CONTENT_TYPE
from beatwire.wire.staff import ack_entry, decode_ack, decode_limits, encode_entry, limits_entry
from hypothesis import given
from hypothesis import strategies as st
from mutations import HOSTILE, mutations
from received import Received

FEW, MANY, PARTS = 3_000, 1_000_000, 5  # parts of the many, so that none takes long
DRAWN = [
    pytest.param(FEW, 0, id="few"),
    *(pytest.param(MANY // PARTS, k, id=f"many-{k}", marks=pytest.mark.slow) for k in range(1, PARTS + 1)),
]
MOST_REASON = 450  # characters
ACK = encode_entry(ack_entry("ab" * 16, "bed-1", "Ada", 1_700_000_000_000_000))
LIMITS = encode_entry(limits_entry("bed-1", {"asystole": 5.0}, {"pause": 2.5}, "Ada", 1_700_000_000_000_000))
BEAT = {
    "stream": "bed-3", "session": 1, "sample": 250, "time": datetime(2026, 11, 22, 21, 5, 9, 87_654, UTC),
    "rr_ms": 800.0, "rate_bpm": 75.4, "response": 1.0, "quality": 0.987, "score": 0.5, "prematurity": None,
    "scored_by": "history", "model": "m", "arrived": datetime(2026, 11, 22, tzinfo=UTC), "expected_errors": None,
}  # fmt: skip


def encoded_beat() -> bytes:
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, schema("beat"), BEAT)
    return buffer.getvalue()


def packed_letter() -> bytes:
    sent = [b"x" * (k % 7) for k in range(MOST_ALONE + 1)]
    rejects = Rejects.of((k, Fault("malformed", f"reason {k % 3}")) for k in range(len(sent)))
    outgoing = next(out for out in dead_letters(rejects, RawTick.of(sent), Received(sent), {}))
    return outgoing.values[0] or b""


def read_alert(message: bytes) -> None:
    found = decode_alert(message)
    json.dumps(found).encode()
    line = str(alert_line(found)) + str(AlertLines()(found))
    assert line.isprintable()
    alert_headers(found)
    fhir.device_alerts([found], "monitor")


def read_ack(message: bytes) -> None:
    ack_headers(decode_ack(message, b"ab" * 16))


def read_limits(message: bytes) -> None:
    found = decode_limits(message, b"bed-1")
    limits_headers(found)
    for limits in (found["limits"], found["before"]):
        check_limits(found["stream"], limits, Settings().limits)


def read_beat(message: bytes) -> None:
    found = decode_beat(message)
    assert str(beat_line(found)).isprintable()
    fhir.heart_rates([found], "monitor")


def read_packed(message: bytes) -> None:
    for letter in letters_in(None, message, [("content-type", CONTENT_TYPE.encode())]):
        assert isinstance(letter.reason, str)


def read_letter(message: bytes) -> None:
    parts = message.split(b"|") + [b""] * 4
    headers = list(zip(("reason", "topic", "partition", "offset", "content-type"), parts, strict=False))
    for letter in letters_in(message, message, headers[: 5 if len(message) % 6 == 0 else 4]):
        record = letter._asdict() | {"stream": "k", "published": BEAT["time"], "bytes": 0}
        assert str(letter_line(record)).isprintable()


READERS: dict[str, tuple[Callable[[bytes], None], Callable[[], list[bytes]]]] = {
    "alerts": (read_alert, lambda: [value(), value("cd", "latched", value=1.5, ack_by="Ada", ack_us=5)]),
    "acks": (read_ack, lambda: [ACK]),
    "limits": (read_limits, lambda: [LIMITS]),
    "beats": (read_beat, lambda: [encoded_beat(), b"\0\0\0\0\7" + encoded_beat()]),
    "packed letters": (read_packed, lambda: [packed_letter()]),
    "letters": (read_letter, lambda: [b"reason|ecg.samples|3|17", b"r|ecg.samples|12|22"]),
}


@pytest.mark.parametrize(("count", "seed"), DRAWN)
@pytest.mark.parametrize("name", READERS)
def test_a_reader_returns_a_message_or_a_reason_whatever_the_bytes_are(name: str, count: int, seed: int) -> None:
    read, good = READERS[name]
    reasons: list[Exception] = []
    for one in good():
        read(one)
    for message in mutations(good(), count, seed):
        try:
            read(message)
        except (ValueError, UserError) as error:
            reasons.append(error)
        if len(reasons) > 1000 or not len(reasons) % 7:
            check_reasons(reasons)
    check_reasons(reasons)


def check_reasons(reasons: list[Exception]) -> None:
    """Each is one of ours, not of a library, and short."""
    assert {type(reason) for reason in reasons} <= {ValueError, UserError}
    assert max((len(str(reason)) for reason in reasons), default=0) <= MOST_REASON
    reasons.clear()


@pytest.mark.parametrize("field", [name for name in alert() if name not in ("definition", "model", "partition")])
@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda one: shown(one)[:20])
def test_no_value_of_a_field_of_an_alert_stops_a_worker_that_adopts_it(field: str, hostile: Any) -> None:
    try:
        found = decode_alert(json.dumps(alert("ab") | {field: hostile}))
    except ValueError:
        return
    adopt_and_end(found)


@given(
    rule=st.sampled_from([rule.name for rule in RULES]),
    state=st.sampled_from(["on", "ack", "latched"]),
    priority=st.sampled_from(["high", "medium", "low"]),
    number=st.sampled_from([None, 0, 1.5, -1e300, 2**53]),
)
def test_an_alert_of_any_rule_and_state_can_be_adopted_and_ended(
    rule: str, state: str, priority: str, number: float | None
) -> None:
    adopt_and_end(alert("ab", state, rule=rule, priority=priority, value=number))


def adopt_and_end(found: dict[str, Any]) -> None:
    """Adopt an alert, and let a tick apply an acknowledgement of it, long after it has begun."""
    pipeline = shared_pipeline()
    pipeline.adopt([found], [Acknowledgement(found["id"], found["stream"], "Ada", 5)])
    for k, now_us in enumerate((10_000_000, 20_000_000, 3_600_000_000)):
        pipeline.report_expired({0: Expired(unread=3, first=k)})
        chunks = [encode_chunk("bed-1", found["session"] % 2, 500 * k, now_us, 250, ["II"], np.zeros(500, np.int16))]
        pipeline.emit(RawTick.of(chunks[:k], now_us=now_us), Received(chunks), None)


_PIPELINES: list[Pipeline] = []


def shared_pipeline() -> Pipeline:
    if not _PIPELINES:
        _PIPELINES.append(Pipeline(GraphSettings()))
    return _PIPELINES[0]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"session": 2**63}, "expected session: an integer of 64 bits; got 9223372036854775808"),
        ({"priority": "urgent"}, "expected priority: high, medium, low; got 'urgent'"),
        ({"reminders": -1}, "expected reminders: an integer of 0 to 18014398509481984; got -1"),
        ({"limit": 10**400}, "expected limit: a number; got 1000000000000000000000000000000000000000..."),
        ({"text": "x" * (MOST_TEXT + 1)}, "expected text: at most 1000 characters of text; got 'xxx"),
    ],
)
def test_the_reason_names_the_field_what_was_expected_and_what_was_found(changed: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match="expected") as caught:
        decode_alert(value(**changed))
    assert str(caught.value).startswith(reason)


def test_fields_of_a_newer_schema_are_left_out_and_those_of_an_older_one_may_be_missing() -> None:
    assert decode_alert(value(later=[1])) == alert()
    older = {name: one for name, one in alert().items() if name not in ("partition", "ack_by", "ack_us", "reminders")}
    assert decode_alert(json.dumps(older)) == older


def test_an_alert_under_the_key_of_another_one_is_none() -> None:
    with pytest.raises(ValueError, match="expected the key to be the id ab; got b'cd'"):
        decode_alert(value("ab"), b"cd")


def test_page_and_monitor_take_the_same_messages() -> None:
    for message in mutations([value()], 500, seed=5):
        alerts = Alerts()
        alerts.add_alert(Record(names.ALERTS, b"ab", message))
        try:
            decode_alert(message, b"ab")
        except ValueError:
            assert alerts.malformed == 1
        else:
            assert alerts.malformed == 0


def test_limits_and_acknowledgements_under_the_key_of_another_are_none_and_a_tombstone_of_limits_is_said() -> None:
    reader = StaffReader(Cluster("nowhere"))
    for key in (b"bed-2", None, b"", b"bed-1 "):
        reader._add([Record(names.SETTINGS, key, LIMITS, 7), Record(names.ACKS, key, ACK, 7)])
        assert [one.reason.split(";")[0] for one in reader.rejected] == [
            "expected the key to be the stream 'bed-1'", f"expected the key to be the alert '{'ab' * 16}'",
        ]  # fmt: skip
        reader.rejected.clear()
    reader._add([Record(names.SETTINGS, b"bed-1", LIMITS, 7), Record(names.SETTINGS, b"bed-1", None, 8)])
    assert len(reader.changes) == 1
    assert [one.reason.split(":")[0] for one in reader.rejected] == ["expected limits; got no value"]
    assert reader.take_acks() == []


def test_a_limit_that_no_float_can_be_is_rejected_and_the_reader_goes_on() -> None:
    reader = StaffReader(Cluster("nowhere"))
    huge = LIMITS.replace(b"5.0", b"1" + b"0" * 400)
    reader._add([Record(names.SETTINGS, b"bed-1", huge), Record(names.SETTINGS, b"bed-1", LIMITS, 7)])
    assert [dict(change.limits) for change in reader.changes] == [{"asystole": 5.0}]
    assert str(reader.rejected[0]).startswith(
        "ecg.settings: message with key b'bed-1' is ignored: expected limits: an object of numbers; got {'asystole': 1"
    )


@given(st.integers() | st.floats() | st.text() | st.sampled_from([10**400, -(10**5000)]))
def test_the_message_about_a_limit_never_fails_on_its_value(limit: Any) -> None:
    for limits in ({"asystole": limit}, {str(limit)[:5000] if not isinstance(limit, int) else "x": 5.0}):
        if not isinstance(limit, str) or "asystole" not in limits:
            with contextlib.suppress(UserError):
                check_limits("bed-1", limits, Settings().limits)


def test_unusable_messages_are_counted_and_each_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(unusable, "log_event", lambda event, text, **_: said.append(text))
    counts: Counter[str] = Counter()
    log = unusable.UnusableLog(counts, lambda: 0.0)
    for _ in range(2):
        for k in range(unusable.MOST_A_MINUTE + 5):
            log.add(Unusable(names.ALERTS, b"%d" % k, "expected an alert"))
    assert counts == {names.ALERTS: unusable.MOST_A_MINUTE + 5}
    assert len(said) == len(set(said)) == unusable.MOST_A_MINUTE


@pytest.mark.parametrize("ends", [None, {(names.ACKS, 0): 3}])
def test_a_topic_that_is_not_in_the_list_of_brokers_is_asked_for_and_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, ends: object
) -> None:
    """A broker leaves topics that this client may not see out of its list."""

    def denied(cluster: Cluster, topics: list[str]) -> None:
        raise UserError("not allowed")

    monkeypatch.setattr(staff, "check_visible", denied)
    monkeypatch.setattr(staff, "_CHECK_S", 0.0)
    reader = StaffReader(Cluster("nowhere"))
    follower = SimpleNamespace(ends=lambda: ends, records=lambda _: [], has_read=lambda _: True)
    with pytest.raises(UserError, match="not allowed"):
        reader._read_to_ends(follower)  # type: ignore[arg-type]


def test_a_worker_without_partitions_keeps_the_changes_that_a_graph_keeps() -> None:
    reader = StaffReader(Cluster("nowhere"))
    reader._add([Record(names.SETTINGS, b"bed-1", LIMITS, k) for k in range(MOST_CHANGES + 5)])
    taken = reader.take_changes()
    assert [change.since_us - taken[0].since_us for change in taken] == list(range(MOST_CHANGES))
    assert taken == reader.changes
    assert reader.take_changes() == []


def test_a_flood_of_unusable_entries_keeps_the_last_ones() -> None:
    reader = StaffReader(Cluster("nowhere"))
    reader._add([Record(names.ACKS, b"%d" % k, b"{") for k in range(3 * MOST_REJECTED)])
    assert len(reader.rejected) == MOST_REJECTED
