"""The output of an undisturbed monitor: all messages of the topic of samples, once, through one graph.

In: a broker. Out: the values of beats, alerts and dead letters that must have been published. No state: nothing is
published, and nothing is committed. Nothing is decided by the clock: a stream that ``no data`` finds silent at the end
of the feed would end the alerts that are held.
"""

from collections.abc import Sequence
from dataclasses import replace

from beatwire.bench.chaos.compare import Output
from beatwire.errors import FatalError
from beatwire.kafka import topics
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.source import Source
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import Outgoing
from beatwire.wire import names
from beatwire.wire.dead_letters import letters_of

GROUP = "undisturbed"
_QUIET_S = 60.0  # without a message, before it is an error


def undisturbed_output(cluster: Cluster) -> Output:
    """Return what one undisturbed monitor publishes for all messages at the broker.

    Raises
    ------
    FatalError
        The broker sends no more messages before the end of the topic.
    """
    ends = topics.end_offsets(cluster, names.SAMPLES)
    output: Output = {topic: [] for topic in (names.BEATS, names.ALERTS, names.DEAD_LETTERS)}
    read, quiet_s, epoch = dict.fromkeys(ends, 0), 0.0, -1
    pipeline = Pipeline(Settings())
    with Source(cluster, GROUP) as source:
        while any(read[partition] < end for partition, end in ends.items()):
            polled = source.take(0.1)
            messages = 0 if polled is None else len(polled.tick.arrival_us)
            quiet_s = 0.0 if messages else quiet_s + 0.1
            if quiet_s > _QUIET_S:
                raise FatalError(f"chaos: expected {names.SAMPLES} to its ends {ends}; got {read} in {_QUIET_S:g} s")
            if polled is None or not messages:
                continue
            if polled.epoch != epoch:  # it begins with the oldest messages, as nothing is committed
                epoch, pipeline, read = polled.epoch, Pipeline(Settings()), dict.fromkeys(ends, 0)
                output = {topic: [] for topic in output}
            read.update(polled.positions)
            for outgoing in pipeline.emit(replace(polled.tick, caught_up=False), polled.origin):
                output[outgoing.topic] += _values(outgoing)
    return output


def _values(outgoing: Outgoing) -> Sequence[object]:
    """Return the values of messages, or the dead letters in them."""
    return list(letters_of(outgoing)) if outgoing.topic == names.DEAD_LETTERS else outgoing.values
