"""Topics that were given more partitions: in whatever order those are read, the newest message of a key holds."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from alert_values import value
from beatwire.alerts.limits import MOST_CHANGES
from beatwire.alerts.settings import Settings
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.publishing import orders
from beatwire.kafka.reading import newest, readers
from beatwire.kafka.reading.record import Record
from beatwire.kafka.reading.staff import StaffReader
from beatwire.page.alerts import Alerts
from beatwire.wire import names
from beatwire.wire.staff import encode_entry, limits_entry
from hypothesis import example, given
from hypothesis import strategies as st

STATES = ("on", "latched", "ack", "off", None)


class Sent(NamedTuple):
    key: bytes
    partition: int
    content: Any


@st.composite
def read(draw: st.DrawFn) -> tuple[list[tuple[int, Sent]], list[tuple[int, Sent]]]:
    """Return messages with their times in the order in which they were sent, and in one in which they may be read."""
    sent = st.builds(Sent, st.sampled_from([b"ab", b"cd"]), st.integers(0, 3), st.sampled_from(STATES))
    history = list(enumerate(draw(st.lists(sent, min_size=1, max_size=12))))
    order = draw(st.permutations([one.partition for _, one in history]))
    waiting = {p: [(k, one) for k, one in history if one.partition == p] for p in range(4)}
    return history, [waiting[partition].pop(0) for partition in order]


MOVED = (
    [(0, Sent(b"ab", 0, "on")), (1, Sent(b"ab", 3, "off"))],
    [(1, Sent(b"ab", 3, "off")), (0, Sent(b"ab", 0, "on"))],
)


def message_of(time_ms: int, sent: Sent) -> Any:
    content = None if sent.content is None else value(sent.key.decode(), sent.content)
    return SimpleNamespace(
        key=lambda: sent.key, value=lambda: content, partition=lambda: sent.partition, timestamp=lambda: (1, time_ms)
    )


@example(MOVED)
@given(read())
def test_an_alert_has_its_newest_state_in_whatever_order_partitions_are_read(
    drawn: tuple[Sequence[tuple[int, Sent]], Sequence[tuple[int, Sent]]],
) -> None:
    history, order = drawn
    last = {one.key.decode(): one.content for _, one in history}
    expected = {name: state for name, state in last.items() if state not in ("off", None)}
    ended = list[bytes]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readers, "_to_end", lambda *_: (message_of(*one) for one in order))
        found = readers.read_active_alerts(Cluster("nowhere"), ended=lambda key, *_: ended.append(key))
    assert {alert["id"]: alert["state"] for alert in found} == expected
    assert {key.decode() for key in ended} == {name for name, state in last.items() if state == "off"}
    page = Alerts()
    for time_ms, one in order:
        message = message_of(time_ms, one)
        page.add_alert(Record(names.ALERTS, one.key, message.value(), 1000 * time_ms, one.partition))
    assert {alert["id"]: alert["state"] for alert in page.in_force("bed-1")} == expected


def entered(time_us: int, sent: Sent) -> Record:
    entry = limits_entry("bed-1", {"asystole": sent.content}, {}, "Ada", time_us)
    return Record(names.SETTINGS, b"bed-1", encode_entry(entry), time_us, sent.partition)


@given(read())
def test_limits_are_those_entered_last_in_whatever_order_partitions_are_read(
    drawn: tuple[list[tuple[int, Sent]], list[tuple[int, Sent]]],
) -> None:
    history, order = drawn
    records = [entered(k, one._replace(content=3.0 + 0.5 * k)) for k, one in order]
    reader = StaffReader(Cluster("nowhere"))
    reader._add(records)
    assert [change.at_us for change in reader.changes] == [k for k, _ in history]
    assert reader.take_all_changes() == reader.changes
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(orders, "read_records", lambda *_: iter(records))
        found = orders.read_limits(Cluster("nowhere"), "bed-1", Settings().limits)
    assert found == {"asystole": 3.0 + 0.5 * history[-1][0]}
    reader._add(records)
    assert reader.take_changes() == [], "what is read once more is no change"
    assert [change.at_us for change in reader.changes] == [k for k, _ in history]


def test_limits_that_are_read_again_are_not_in_force_again_though_there_were_more_than_are_kept() -> None:
    reader = StaffReader(Cluster("nowhere"))
    records = [entered(k, Sent(b"", 0, 3.0 + k / 100)) for k in range(MOST_CHANGES + 9)]
    reader._add(records)
    before = reader.take_all_changes()
    reader._add(records)
    assert reader.changes == before
    assert before[-1].at_us == MOST_CHANGES + 8


def test_in_one_partition_offsets_decide_whatever_a_clock_says() -> None:
    reader = StaffReader(Cluster("nowhere"))
    reader._add([entered(7, Sent(b"", 0, 4.0)), entered(2, Sent(b"", 0, 5.0))])
    assert [change.limits["asystole"] for change in reader.changes] == [4.0, 5.0]
    page = Alerts()
    for time_us, state in ((7, "on"), (2, "off")):
        page.add_alert(Record(names.ALERTS, b"ab", value("ab", state), time_us))
    assert page.in_force("bed-1") == []


def test_a_page_forgets_no_more_keys_than_it_has_to() -> None:
    kept = newest.Newest(2)
    for key in (b"a", b"b", b"a", b"c"):
        assert kept.takes(key, 0, 5)
    assert kept.takes(b"b", 1, 1), "it was forgotten"
    assert sorted(kept._known) == [b"b", b"c"]
    assert not kept.takes(b"c", 1, 4)
