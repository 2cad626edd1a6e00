"""What a sink sends to a real Kafka before all of a tick is known."""

import pytest
from beatwire.errors import FatalError
from beatwire.kafka.consuming import commits
from beatwire.kafka.consuming.batch import PolledTick
from beatwire.kafka.consuming.positions import Position
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.publishing.sink import Sink, StaleError
from beatwire.kafka.reading.readers import read_to_end
from beatwire.records import Outgoing
from beatwire.wire import names
from kafka_messages import beats, positions_after, send, take, values_in

pytestmark = pytest.mark.kafka


def sent_ahead(kafka, source: Source, sink: Sink) -> tuple[PolledTick, list[Outgoing]]:
    """Return a tick, and its messages, of which the dead letter is at the broker already."""
    send(kafka, b"1")
    polled = take(source)
    tick = [Outgoing(names.DEAD_LETTERS, [None], [b"ahead"], [[]]), *beats(b"rest")]
    sink.send_ahead(tick[:1], source, polled.epoch)
    sink._output.sender.producer.flush()
    return polled, tick


def test_what_was_sent_ahead_becomes_visible_with_the_rest_of_its_tick(kafka):
    with Source(kafka.cluster, "g") as source, Sink(kafka.cluster) as sink:
        polled, tick = sent_ahead(kafka, source, sink)
        with pytest.raises(FatalError, match=r"to its end; got nothing for 1 s"):
            list(read_to_end(kafka.cluster, names.DEAD_LETTERS, timeout_s=1.0))
        sink.publish(tick, positions_after(polled), source, polled.epoch)
        assert (values_in(kafka, names.DEAD_LETTERS), values_in(kafka, names.BEATS)) == ([b"ahead"], [b"rest"])
        assert commits.group_lag(kafka.cluster, "g") == 0


def test_what_was_sent_ahead_in_an_epoch_that_is_over_is_aborted(kafka):
    with Source(kafka.cluster, "g") as source, Sink(kafka.cluster) as sink:
        polled, tick = sent_ahead(kafka, source, sink)
        source.rewind(anew=True)
        with pytest.raises(StaleError):
            sink.publish(tick, positions_after(polled), source, polled.epoch)
        assert list(read_to_end(kafka.cluster, names.DEAD_LETTERS, timeout_s=1.0)) == []
        again = take(source)
        sink.publish(tick, positions_after(again), source, again.epoch)
    assert (values_in(kafka, names.DEAD_LETTERS), values_in(kafka, names.BEATS)) == ([b"ahead"], [b"rest"])


def test_what_a_tick_was_begun_with_is_committed_with_it_and_not_before(kafka):
    send(kafka, b"1")
    with Source(kafka.cluster, "g") as source, Sink(kafka.cluster) as sink:
        polled = take(source)
        positions = {p: Position(offset, 0) for p, offset in polled.positions.items()}
        sink.begin_tick(positions, source, polled.epoch)
        sink._output._sending.join()
        assert commits.has_pending_commits(kafka.cluster, "g", names.SAMPLES, positions)
        sink.publish(beats(b"a"), positions, source, polled.epoch)
        assert (values_in(kafka, names.BEATS), commits.group_lag(kafka.cluster, "g")) == ([b"a"], 0)
        send(kafka, b"2")
        polled = take(source)
        positions = {p: Position(offset, 0) for p, offset in polled.positions.items()}
        sink.begin_tick(positions, source, polled.epoch)
        later = {p: at._replace(banks=frozenset({(250.0, 1)})) for p, at in positions.items()}
        sink.publish(beats(b"b"), later, source, polled.epoch)
    with Source(kafka.cluster, "g") as source:
        replayed = take(source)
        assert [replayed.tick.open_banks[p] for p in positions] == [frozenset({(250.0, 1)})]
    assert values_in(kafka, names.BEATS) == [b"a", b"b"]


def test_a_tick_that_was_begun_in_an_epoch_that_is_over_commits_nothing(kafka):
    send(kafka, b"1")
    with Source(kafka.cluster, "g") as source, Sink(kafka.cluster) as sink:
        polled = take(source)
        sink.begin_tick(positions_after(polled), source, polled.epoch)
        source.rewind(anew=True)
        with pytest.raises(StaleError):
            sink.publish(beats(b"a"), positions_after(polled), source, polled.epoch)
        again = take(source)
        assert again.positions == polled.positions
        sink.begin_tick(positions_after(again), source, again.epoch)
        sink.publish(beats(b"a"), positions_after(again), source, again.epoch)
        assert commits.group_lag(kafka.cluster, "g") == 0
    assert values_in(kafka, names.BEATS) == [b"a"]


def test_a_sink_that_is_closed_after_a_tick_was_begun_leaves_nothing_behind(kafka):
    send(kafka, b"1")
    with Source(kafka.cluster, "g") as source:
        polled = take(source)
        with Sink(kafka.cluster) as sink:
            sink.begin_tick(positions_after(polled), source, polled.epoch)
        with Sink(kafka.cluster) as sink:
            sink.publish(beats(b"a"), positions_after(polled), source, polled.epoch)
    assert (values_in(kafka, names.BEATS), commits.group_lag(kafka.cluster, "g")) == ([b"a"], 0)
