"""Source and sink on a real Kafka: what is published, and when it becomes visible."""

import threading
import time
from contextlib import closing

import pytest
from beatwire.errors import FatalError, UserError
from beatwire.kafka.consuming import commits
from beatwire.kafka.consuming.batch import PolledTick
from beatwire.kafka.consuming.positions import Position
from beatwire.kafka.consuming.progress import Beginning
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.publishing.sender import LARGEST_BYTES
from beatwire.kafka.publishing.sink import Sink, StaleError
from beatwire.kafka.publishing.transactions import Transactions
from beatwire.kafka.reading.readers import read_to_end
from beatwire.records import Outgoing
from beatwire.service.monitor import Monitor
from beatwire.wire import names
from kafka_messages import beats, positions_after, send, set_topic, take, values_in
from moments import LIMIT_S
from quiet_graph import QuietGraph

pytestmark = pytest.mark.kafka


def test_a_tick_becomes_visible_when_its_transaction_is_committed(kafka):
    send(kafka, b"1")
    with Source(kafka.cluster, "g") as source, Sink(kafka.cluster) as sink:
        polled = take(source)
        sender = sink._output.sender
        producer = sender.producer
        producer.begin_transaction()
        sender.send_all(beats(b"open"), time.time_ns() // 1_000_000)
        producer.flush()
        with pytest.raises(FatalError, match=r"to its end; got nothing for 1 s"):
            values_in_time(kafka, names.BEATS, 1.0)
        producer.abort_transaction()
        assert values_in(kafka, names.BEATS) == []
        sink.publish(beats(b"whole"), positions_after(polled), source, polled.epoch)
        assert values_in(kafka, names.BEATS) == [b"whole"]
        assert commits.group_lag(kafka.cluster, "g") == 0


def values_in_time(kafka, topic, timeout_s):
    return list(read_to_end(kafka.cluster, topic, timeout_s=timeout_s))


@pytest.mark.parametrize("ahead", ["nothing", "messages", "offsets"])
def test_a_transaction_that_the_group_refuses_is_published_once_on_the_second_try(kafka, ahead):
    send(kafka, b"1")
    with Source(kafka.cluster, "other") as stranger, Source(kafka.cluster, "g") as source, Sink(kafka.cluster) as sink:
        polled = take(source)
        take(stranger)

        class Confused:  # returns the membership of another member once
            epoch = polled.epoch
            assigned, group, topic = source.assigned, source.group, source.topic
            offsets, transactional_id = staticmethod(source.offsets), staticmethod(source.transactional_id)
            requests = 0  # the first and the third end what may have been left open

            @property
            def group_metadata(self):
                self.requests += 1
                return FORGED if self.requests == 2 else source.group_metadata

        FORGED = forged(source.group_metadata)
        confused = Confused()
        if ahead == "offsets":
            sink.begin_tick(positions_after(polled), confused, polled.epoch)
        if ahead != "nothing":
            sink.send_ahead(beats(b"a"), confused, polled.epoch)
        tick = [*beats(b"a"), *beats(b"b")]
        sink.publish(tick, positions_after(polled), confused, polled.epoch)
        assert confused.requests == 4
    assert values_in(kafka, names.BEATS) == [b"a", b"b"]


def forged(metadata: bytes) -> bytes:
    """Give a group membership another member id of the same length."""
    raw = bytes(metadata)
    member = raw.rindex(b"\0", 0, len(raw) - 1)
    start = raw.rindex(b"\0", 0, member) + 1
    return raw[:start] + bytes(reversed(raw[start:member])) + raw[member:]


def test_a_member_whose_transactional_id_was_taken_publishes_nothing_until_its_next_epoch(kafka):
    send(kafka, b"1")
    with Source(kafka.cluster, "g") as source, Sink(kafka.cluster) as sink:
        polled = take(source)
        positions = positions_after(polled)
        sink.publish(beats(b"before"), {}, source, polled.epoch)
        taken = Transactions(kafka.cluster, source.transactional_id(min(source.assigned)))
        with closing(taken), pytest.raises(StaleError):
            sink.publish(beats(b"late"), positions, source, polled.epoch)
        source.rewind(anew=True)
        again = take(source)
        sink.publish(beats(b"again"), positions, source, again.epoch)
    assert values_in(kafka, names.BEATS) == [b"before", b"again"]


def test_a_member_that_keeps_its_partitions_goes_on_after_the_tick_taken_last(kafka):
    with Source(kafka.cluster, "g") as source, Sink(kafka.cluster) as sink:
        for value in (b"1", b"2"):
            send(kafka, value)
            polled = take(source)
            assert polled.tick.payload.tobytes() == value
            source.rewind()  # as after a tick of which nobody knows whether it was published
            again = next_tick(source, after=polled.epoch)
            assert (again.beginning, len(again.tick.arrival_us)) == (Beginning.UNPUBLISHED, 0)
            positions = positions_after(polled)
            sink.publish(beats(value), positions, source, again.epoch)
        send(kafka, b"3")
        polled = take(source)
        positions = positions_after(polled)
        sink.publish(beats(b"3"), positions, source, polled.epoch)
        source.rewind()
        again = next_tick(source, after=polled.epoch)
        assert (again.beginning, len(again.tick.arrival_us)) == (Beginning.GOING_ON, 0)
    assert values_in(kafka, names.BEATS) == [b"1", b"2", b"3"]


def test_a_member_that_gave_partitions_up_begins_anew(kafka):
    send(kafka, b"1")
    with Source(kafka.cluster, "g") as source, Sink(kafka.cluster) as sink:
        polled = take(source)
        sink.publish(beats(b"1"), {p: Position(at, 0) for p, at in polled.positions.items()}, source, polled.epoch)
        with Source(kafka.cluster, "g") as other:
            fewer = next_tick(source, after=polled.epoch)
            assert fewer.beginning is Beginning.ANEW
            assert 0 < len(fewer.start) < len(polled.start)
            theirs = next_tick(other)
            assert theirs.start.keys() == polled.start.keys() - fewer.start.keys()
            assert theirs.beginning is Beginning.ANEW
        whole = next_tick(source, after=fewer.epoch)
        assert whole.start.keys() == polled.start.keys()
        assert whole.beginning is Beginning.GOING_ON
        assert {p: whole.start[p] for p in fewer.start} == {p: fewer.start[p] for p in fewer.start}
        assert len(whole.tick.arrival_us) == 0


def next_tick(source: Source, after: int = 0) -> PolledTick:
    """Return the first tick of the next epoch, perhaps without messages; read replays of the last one to their end."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        polled = source.take(0.05)
        if polled is not None and polled.epoch > after and not polled.replay:
            return polled
    raise AssertionError("no tick")


def test_a_tick_of_an_earlier_epoch_is_read_again(kafka):
    send(kafka, b"1")
    with Source(kafka.cluster, "g") as source, Sink(kafka.cluster) as sink:
        polled = take(source)
        source.rewind(anew=True)
        with pytest.raises(StaleError):  # others may have its partitions by now
            sink.publish(beats(b"late"), positions_after(polled), source, polled.epoch)
        again = take(source)
        assert again.epoch > polled.epoch
        assert again.tick.payload.tobytes() == b"1"
        sink.publish(beats(b"b"), positions_after(again), source, again.epoch)
    assert values_in(kafka, names.BEATS) == [b"b"]
    with Source(kafka.cluster, "g") as source:
        send(kafka, b"2")
        assert take(source).tick.payload.tobytes() == b"2"


def test_a_dead_letter_has_key_value_and_headers_and_is_truncated_when_too_large(kafka):
    """The samples may have keys and values that the producer, which takes 1 MB a message, refuses."""
    send(kafka, b"1")
    keys = [b"k", None, bytes(LARGEST_BYTES + 1), bytes(LARGEST_BYTES - 2), bytes(15_000_000), b"last"]
    values = [b"bad", bytes(LARGEST_BYTES + 1), b"long key", b"sum", bytes(15_000_001), b""]
    letters = Outgoing(names.DEAD_LETTERS, keys, values, [[("reason", b"%d" % k)] for k in range(6)])
    with Source(kafka.cluster, "g") as source, Sink(kafka.cluster) as sink:
        sink.publish([letters], {}, source, take(source).epoch)
    with Source(kafka.cluster, "dlq", topic=names.DEAD_LETTERS) as source:
        found = {}
        while len(found) < 6:
            for message in take(source).origin.messages:
                headers = dict(message.headers())
                found[int(headers.pop("reason"))] = (message.key(), message.value(), headers)
    cut = bytes(65_536)
    assert found == {
        0: (b"k", b"bad", {}),
        1: (None, cut, {"cut-from-bytes": b"%d" % (LARGEST_BYTES + 1)}),
        2: (cut, b"long key", {"key-cut-from-bytes": b"%d" % (LARGEST_BYTES + 1)}),
        3: (cut, b"sum", {"key-cut-from-bytes": b"%d" % (LARGEST_BYTES - 2)}),
        4: (cut, cut, {"key-cut-from-bytes": b"15000000", "cut-from-bytes": b"15000001"}),
        5: (b"last", b"", {}),
    }


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("message.timestamp.before.max.ms", "0", r"message\.timestamp\.before\.max\.ms"),
        ("max.message.bytes", "10", "size"),
    ],
)
def test_a_topic_that_takes_no_message_of_the_monitor_ends_it_soon_with_the_cause(own_kafka, name, value, text):
    send(own_kafka, b"1")
    set_topic(own_kafka.cluster, names.BEATS, name, value)
    # A broker of its own: it refuses the ends of transactions, too, and waits to write them.
    for exactly_once in (False, True):
        group = f"exactly once: {exactly_once}"
        with Source(own_kafka.cluster, group) as source, Sink(own_kafka.cluster, exactly_once=exactly_once) as sink:
            polled, began_s = take(source), time.monotonic()
            with pytest.raises(FatalError, match=rf"ecg\.beats: .*{text}"):
                sink.publish(beats(b"of this monitor"), positions_after(polled), source, polled.epoch)
            assert time.monotonic() - began_s < LIMIT_S / 4, group


def test_a_missing_topic_is_named(kafka):
    with pytest.raises(UserError, match=rf"expected topic 'ecg\.nothing' at {kafka.cluster}"):
        Source(kafka.cluster, "g", topic="ecg.nothing")


def test_a_topic_deleted_under_the_monitor_stops_it_with_its_name(kafka):
    send(kafka, b"1")
    with Source(kafka.cluster, "g") as source:
        take(source)
        admin = kafka.cluster.admin()
        for future in admin.delete_topics([names.SAMPLES]).values():
            future.result(60)
        with pytest.raises(UserError, match=r"ecg\.samples"):
            take(source, within_s=60.0)


def test_a_graph_that_raises_ends_the_run_and_publishes_nothing(kafka):
    send(kafka, b"1")

    class Broken(QuietGraph):
        def emit(self, tick, origin, ahead):
            if len(tick.arrival_us):
                raise ZeroDivisionError("broken")
            return []

    with Source(kafka.cluster, "g") as source, Sink(kafka.cluster) as sink, pytest.raises(ZeroDivisionError):
        Monitor(Broken(), source, sink).run(threading.Event())
    assert commits.group_lag(kafka.cluster, "g") == 1
