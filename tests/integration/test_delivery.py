"""What leaves the monitor, and when it can be seen."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
from beatwire.errors import FatalError, UserError
from beatwire.kafka import commits, topics
from beatwire.kafka.positions import Position
from beatwire.kafka.readers import read_active_alerts, read_to_end
from beatwire.kafka.sender import LARGEST_BYTES, Sender
from beatwire.kafka.sink import Sink
from beatwire.kafka.source import Source
from beatwire.records import Outgoing
from beatwire.service.monitor import Monitor
from beatwire.wire import names
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

pytestmark = pytest.mark.kafka


def beats(*values: bytes) -> list[Outgoing]:
    return [Outgoing(names.BEATS, [b"s"] * len(values), list(values))]


def send(kafka, *values, topic=names.SAMPLES):
    with Sender(kafka.bootstrap) as sender:
        sender.send(topic, [b"s"] * len(values), list(values))


def take(source, *, within_s=20.0):
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        taken = source.take(0.1)
        if taken is not None and len(taken.tick.arrival_us):
            return taken
    raise AssertionError("nothing came")


def values_in(kafka, topic):
    return [value for _, value in read_to_end(kafka.bootstrap, topic)]


def test_a_tick_is_seen_only_when_its_transaction_is_committed(kafka):
    send(kafka, b"1")
    with Source(kafka.bootstrap, "g") as source, Sink(kafka.bootstrap) as sink:
        taken = take(source)
        producer = sink._sender.producer
        producer.begin_transaction()
        sink._queue(beats(b"open"))
        producer.flush()
        with pytest.raises(FatalError, match=r"to its end in 1 s"):
            values_in_time(kafka, names.BEATS, 1.0)
        producer.abort_transaction()
        assert values_in(kafka, names.BEATS) == []
        sink.publish(beats(b"whole"), {p: Position(at, at) for p, at in taken.positions.items()}, source, taken.epoch)
        assert values_in(kafka, names.BEATS) == [b"whole"]
        assert commits.group_lag(kafka.bootstrap, "g") == 0


def values_in_time(kafka, topic, timeout_s):
    return list(read_to_end(kafka.bootstrap, topic, timeout_s=timeout_s))


def test_a_transaction_that_the_group_refuses_is_published_once_on_the_second_try(kafka):
    send(kafka, b"1")
    with (
        Source(kafka.bootstrap, "other") as stranger,
        Source(kafka.bootstrap, "g") as source,
        Sink(kafka.bootstrap) as sink,
    ):
        taken = take(source)
        take(stranger)

        class Confused:  # says once that it is another
            epoch = taken.epoch
            offsets = staticmethod(source.offsets)
            asked = 0

            @property
            def group_metadata(self):
                self.asked += 1
                return TopicPartition if self.asked == 0 else (FORGED if self.asked == 1 else source.group_metadata)

        FORGED = forged(source.group_metadata)
        confused = Confused()
        sink.publish(beats(b"b"), {p: Position(at, at) for p, at in taken.positions.items()}, confused, taken.epoch)
        assert confused.asked == 2
    assert values_in(kafka, names.BEATS) == [b"b"]


def forged(metadata: bytes) -> bytes:
    """Give a group membership another member id of the same length."""
    raw = bytes(metadata)
    member = raw.rindex(b"\0", 0, len(raw) - 1)
    start = raw.rindex(b"\0", 0, member) + 1
    return raw[:start] + bytes(reversed(raw[start:member])) + raw[member:]


def test_one_who_takes_a_transactional_id_over_ends_its_holder(kafka):
    send(kafka, b"1")
    with Source(kafka.bootstrap, "g") as source, Sink(kafka.bootstrap, transactional_id="one") as first:
        taken = take(source)
        with Sink(kafka.bootstrap, transactional_id="one"):
            with pytest.raises(FatalError, match=r"alone with transactional id 'one' at 127\.0\.0\.1") as raised:
                first.publish(beats(b"late"), {}, source, taken.epoch)
            assert "\n" not in str(raised.value)
    assert values_in(kafka, names.BEATS) == []


def test_a_tick_of_a_lost_assignment_is_given_up(kafka):
    send(kafka, b"1")
    with Source(kafka.bootstrap, "g") as source, Sink(kafka.bootstrap) as sink:
        taken = take(source)
        source.rewind()
        again = take(source)
        assert again.epoch > taken.epoch
        assert again.tick.payload.tobytes() == b"1"
        sink.publish(beats(b"b"), {p: Position(at, at) for p, at in again.positions.items()}, source, again.epoch)
    with Source(kafka.bootstrap, "g") as source:
        send(kafka, b"2")
        assert take(source).tick.payload.tobytes() == b"2"


def test_a_dead_letter_has_key_value_and_headers_and_is_cut_when_too_large(kafka):
    send(kafka, b"1")
    large = bytes(LARGEST_BYTES + 1)
    letters = Outgoing(
        names.DEAD_LETTERS, [b"k", None], [b"bad", large], [[("reason", b"why")], [("reason", b"large")]]
    )
    with Source(kafka.bootstrap, "g") as source, Sink(kafka.bootstrap) as sink:
        sink.publish([letters], {}, source, take(source).epoch)
    with Source(kafka.bootstrap, "dlq", topic=names.DEAD_LETTERS) as source:
        found = {}
        while len(found) < 2:
            origin = take(source).origin
            for message in origin.messages:
                found[message.key()] = (message.value(), dict(message.headers()))
    assert found[b"k"] == (b"bad", {"reason": b"why"})
    value, headers = found[None]
    assert large.startswith(value)
    assert headers == {"reason": b"large", "cut-from-bytes": str(len(large)).encode()}


def test_ticks_say_where_their_messages_came_from_and_a_tombstone_is_empty(kafka):
    send(kafka, b"1", None, b"333")
    with Source(kafka.bootstrap, "g") as source:
        taken = take(source)
        tick, origin = taken.tick, taken.origin
        assert tick.payload.tobytes() == b"1333"
        assert tick.start.tolist() == [0, 1, 1, 4]
        assert [origin.key(k) for k in range(3)] == [b"s"] * 3
        assert [origin.value(k) for k in range(3)] == [b"1", b"", b"333"]
        (partition,) = set(tick.partition.tolist())
        assert [origin.location(k) for k in range(3)] == [(names.SAMPLES, partition, k) for k in range(3)]
        assert taken.positions == {partition: 3}
        assert taken.start[partition] == 0
        assert np.all(np.abs(tick.now_us - tick.arrival_us) < 60e6)


def test_every_arrival_is_the_brokers_own_time(kafka):
    with Sender(kafka.bootstrap) as sender:
        for _ in range(20):
            sender.send(names.SAMPLES, [b"s"] * 40, [b"x"] * 40)
            sender.flush()
    with Source(kafka.bootstrap, "g") as source:
        seen, due = [], []
        while len(seen) < 800:
            taken = take(source)
            seen += taken.tick.arrival_us.tolist()
            due += [message.timestamp()[1] * 1000 for message in taken.origin.messages]
    assert seen == due
    assert len(set(seen)) > 1


def test_time_passes_in_empty_ticks_once_everything_was_read(kafka):
    send(kafka, b"1")
    with Source(kafka.bootstrap, "g") as source:
        take(source)
        empty = [source.take(0.05) for _ in range(6)]
    assert all(taken is not None and len(taken.tick.arrival_us) == 0 for taken in empty)
    assert empty[-1].tick.caught_up
    assert not empty[-1].positions


def test_a_replay_that_is_no_longer_kept_starts_with_the_oldest_message(kafka):
    send(kafka, *[str(n).encode() for n in range(100)])
    with Source(kafka.bootstrap, "g") as source:
        taken = take(source)
        ((partition, end),) = taken.positions.items()
        source.commit({partition: Position(60, 10)})
    admin = AdminClient(topics.quiet(kafka.bootstrap))
    for future in admin.delete_records([TopicPartition(names.SAMPLES, partition, 30)]).values():
        future.result(10)
    with Source(kafka.bootstrap, "g") as source:
        replay = take(source)
        assert replay.replay
        assert (replay.start[partition], replay.positions[partition]) == (30, 60)
        live = take(source)
        assert not live.replay
        assert (live.start[partition], live.positions[partition]) == (60, 100)
        assert source.lost == 20
    assert end == 100


def test_the_replay_is_cut_exactly_at_each_partitions_commit(kafka):
    with Sender(kafka.bootstrap) as sender:
        for n in range(50):
            sender.send(names.SAMPLES, [f"s{k}".encode() for k in range(30)], [str(n).encode()] * 30)
    ends = topics.ends_of(kafka.bootstrap, names.SAMPLES)
    commits = {p: Position(end // (p + 1), end // (p + 3)) for p, end in ends.items()}
    with Source(kafka.bootstrap, "g") as source:
        take(source)
        source.commit(commits)
    replayed, live = {p: [] for p in ends}, {p: [] for p in ends}
    with Source(kafka.bootstrap, "g") as source:
        while sum(map(len, live.values())) < sum(end - commits[p].offset for p, end in ends.items()):
            taken = take(source)
            for k in range(len(taken.tick.arrival_us)):
                _, partition, offset = taken.origin.location(k)
                (replayed if taken.replay else live)[partition].append(offset)
    assert replayed == {p: list(range(at.rewind, at.offset)) for p, at in commits.items()}
    assert live == {p: list(range(at.offset, ends[p])) for p, at in commits.items()}


def test_alerts_are_read_back_as_they_stand(kafka):
    states = [("a", b'{"id": "a", "state": "on"}'), ("b", b'{"id": "b", "state": "on"}')]
    states += [("a", b'{"id": "a", "state": "off"}'), ("c", b'{"id": "c", "state": "latched"}'), ("d", None)]
    with Sender(kafka.bootstrap) as sender:
        sender.send(names.ALERTS, [key.encode() for key, _ in states], [value for _, value in states])
    assert {alert["id"] for alert in read_active_alerts(kafka.bootstrap)} == {"b", "c"}


def test_a_missing_topic_is_named(kafka):
    with pytest.raises(UserError, match=rf"expected topic 'ecg\.nothing' at {kafka.bootstrap}"):
        Source(kafka.bootstrap, "g", topic="ecg.nothing")


def test_a_topic_deleted_under_the_monitor_stops_it_with_its_name(kafka):
    send(kafka, b"1")
    with Source(kafka.bootstrap, "g") as source:
        take(source)
        admin = AdminClient(topics.quiet(kafka.bootstrap))
        for future in admin.delete_topics([names.SAMPLES]).values():
            future.result(10)
        with pytest.raises(UserError, match=r"ecg\.samples"):
            take(source, within_s=60.0)


def test_a_graph_that_raises_ends_the_run_and_publishes_nothing(kafka):
    send(kafka, b"1")

    class Broken:
        def reset(self): ...
        def adopt(self, alerts): ...
        def rewind_tick(self, partition):
            return 0

        def emit(self, tick, origin):
            if len(tick.arrival_us):
                raise ZeroDivisionError("broken")
            return []

    with Source(kafka.bootstrap, "g") as source, Sink(kafka.bootstrap) as sink, pytest.raises(ZeroDivisionError):
        Monitor(Broken(), source, sink).run(threading.Event())
    assert commits.group_lag(kafka.bootstrap, "g") == 1


@contextmanager
def one_published(kafka):
    """A source, a sink and positions, after a message was sent, taken and published."""
    send(kafka, b"1")
    with Source(kafka.bootstrap, "g") as source, Sink(kafka.bootstrap) as sink:
        taken = take(source)
        positions = {p: Position(at, at) for p, at in taken.positions.items()}
        sink.publish(beats(b"1"), positions, source, taken.epoch)
        yield source, sink, positions


def test_commits_that_hang_in_a_transaction_are_noticed_and_what_settles_ours_changes_no_commit(kafka, wait):
    with one_published(kafka) as (source, sink, positions):
        with Sender(kafka.bootstrap, {"transactional.id": "other", "transaction.timeout.ms": 60_000}) as other:
            other.producer.init_transactions(20)
            other.producer.begin_transaction()
            offsets = [TopicPartition(names.SAMPLES, p, 0) for p in positions]
            other.producer.send_offsets_to_transaction(offsets, source.group_metadata, 10)
            assert commits.is_unsettled(kafka.bootstrap, "g", names.SAMPLES, positions)
            source.rewind()
            unsettled: list[TopicPartition] = []
            wait(lambda: source.take(0.05) is None and bool(unsettled.extend(source.take_unsettled()) or unsettled), 30)
            sink.settle(unsettled, source)
            assert commits.is_unsettled(kafka.bootstrap, "g", names.SAMPLES, positions)  # the other's is still open
            other.producer.abort_transaction(10)
        assert not commits.is_unsettled(kafka.bootstrap, "g", names.SAMPLES, positions)
        send(kafka, b"2")
        assert take(source).positions == {p: at.offset + 1 for p, at in positions.items()}
        assert values_in(kafka, names.BEATS) == [b"1"]


def test_what_settles_commits_again_although_partitions_that_have_no_messages_wait_as_well(kafka, monkeypatch):
    with one_published(kafka) as (source, sink, positions):
        called: list[str] = []

        class Heard:
            """The producer, and the names of what it is asked to do."""

            def __getattr__(self, name: str):
                called.append(name)
                return getattr(producer, name)

        producer = sink._sender.producer
        with monkeypatch.context() as patched:
            patched.setattr(sink, "_sender", SimpleNamespace(producer=Heard()))
            sink.settle([TopicPartition(names.SAMPLES, p) for p in range(4)], source)
    assert called == ["begin_transaction", "send_offsets_to_transaction", "commit_transaction"]
    found = commits.commits_of(kafka.bootstrap, "g", names.SAMPLES, range(4))
    assert found == dict.fromkeys(range(4), 0) | {p: at.offset for p, at in positions.items()}
