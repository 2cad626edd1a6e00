"""Mutated messages between those of good streams: what each costs, and whether it changes the output of the others.

The same good messages are read twice to the end by one worker with exactly-once output, each time from a topic on a
broker of its own: alone, and with a mutated message (``bench.broker.mutations``) behind each of them. The limits: a
mutated message costs at most ten times a good one, the good streams keep half of their throughput, and no record of
theirs differs.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from beatwire_producers.encode import Encoder
from beatwire_producers.feeds import Feed, Lanes
from beatwire_producers.schedule import chunks_of
from beatwire_producers.ward import ward

from beatwire.bench.broker.mutations import mutated
from beatwire.bench.broker.preloaded import CHUNK, RATE_HZ, monitor_s
from beatwire.bench.chaos.compare import alert_records, beat_records, compare_records
from beatwire.bench.result import Log, Result
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.local import broker
from beatwire.kafka.publishing.sender import Sender
from beatwire.kafka.reading.readers import read_dead_letters, read_to_end
from beatwire.wire import names

STREAMS = 200
CHUNKS = 5_000  # of a stream: a million good messages, and a million mutated ones
STRAYS = 20  # streams whose messages are mutated
_START_US = 1_700_000_000_000_000  # device time, the same in both runs
_BLOCK = 10  # chunks of each stream that are sent together


@dataclass(frozen=True, slots=True)
class Outcome:
    """The seconds that one run took, and what it published for the good streams."""

    seconds: float
    beats: list[bytes]
    alerts: list[bytes]
    letters: int


def good_feeds(streams: int, chunks: int) -> list[Feed]:
    """Return the feeds of the good streams."""
    return list(ward(streams, max(60.0, chunks * CHUNK / RATE_HZ), seed=1, events=(), distinct=16).feeds)


def stray_messages(seed: int = 2) -> list[bytes]:
    """Return valid messages of streams whose ids no few flipped bits turn into that of a good one."""
    beds = ward(STRAYS, 60.0, seed=seed, events=(), distinct=4).feeds
    lanes = Lanes.of([replace(feed, stream=f"~~stray~{n:02}") for n, feed in enumerate(beds)])
    return Encoder.of(lanes, _START_US).messages(chunks_of(lanes, 1000 * CHUNK / RATE_HZ, 0, 100))


def send(cluster: Cluster, feeds: Sequence[Feed], chunks: int, *, garbage: bool) -> int:
    """Fill the topic of samples; return the number of messages."""
    lanes = Lanes.of(feeds)
    encoder = Encoder.of(lanes, _START_US)
    bad = mutated(stray_messages(), len(feeds) * chunks, seed=3) if garbage else None
    sent = 0
    with Sender(cluster) as sender:
        for first in range(0, chunks, _BLOCK):
            rows = chunks_of(lanes, 1000 * CHUNK / RATE_HZ, first, min(first + _BLOCK, chunks))
            keys, values = [lanes.keys[k] for k in rows.lane.tolist()], encoder.messages(rows)
            if bad is not None:  # with the keys of good streams, so between their messages in each partition
                keys = [key for key in keys for _ in range(2)]
                values = [value for good in values for value in (good, next(bad))]
            sender.send(names.SAMPLES, keys, values)
            sent += len(values)
        sender.flush(120.0)
    return sent


def run(feeds: Sequence[Feed], chunks: int, *, garbage: bool) -> Outcome:
    """Send the messages to a new broker and let one worker read them to the end."""
    with broker.LocalKafka() as kafka:
        messages = send(kafka.cluster, feeds, chunks, garbage=garbage)
        seconds = monitor_s(kafka.cluster, messages, "garbage", 1)
        good = {feed.stream for feed in feeds}
        keys = {stream.encode() for stream in good}
        return Outcome(
            seconds,
            [value for key, value in read_to_end(kafka.cluster, names.BEATS) if value and key in keys],
            [value for _, value in read_to_end(kafka.cluster, names.ALERTS) if value],
            sum(1 for _ in read_dead_letters(kafka.cluster)),
        )


def differing(alone: Outcome, mixed: Outcome, feeds: Sequence[Feed]) -> int:
    """Return the number of beats and transitions of alerts of the good streams that are not the same in both."""
    good = {feed.stream for feed in feeds}
    pairs = [(beat_records(alone.beats), beat_records(mixed.beats))]
    alerts = [[r for r in alert_records(outcome.alerts) if r[1]["stream"] in good] for outcome in (alone, mixed)]
    pairs.append((alerts[0], alerts[1]))
    found = [compare_records(expected, published) for expected, published in pairs]
    return sum(c.lost + c.twice + c.unexpected + c.different for c in found)


def measure(log: Log) -> Iterator[Result]:
    """Compare a topic with and without mutated messages."""
    missing = broker.unavailable_reason()
    if missing:
        log(f"garbage: skipped, {missing}")
        return
    yield from results(STREAMS, CHUNKS, log)


def results(streams: int, chunks: int, log: Log) -> Iterator[Result]:
    """Compare so many good messages with as many mutated ones between them."""
    feeds, good = good_feeds(streams, chunks), streams * chunks
    began_s = time.monotonic()
    alone = run(feeds, chunks, garbage=False)
    mixed = run(feeds, chunks, garbage=True)
    log(
        f"garbage: {good:,} good messages, as many mutated: {mixed.letters:,} dead letters, "
        f"{len(mixed.beats):,} beats; {time.monotonic() - began_s:.0f} s"
    )
    good_us = 1e6 * alone.seconds / good
    bad_us = 1e6 * (mixed.seconds - alone.seconds) / good
    yield Result("a mutated message", bad_us, "us", "a good message", good_us, "<= 10")
    yield Result(
        "good streams, as much garbage between", good / mixed.seconds, "messages/s", "without", good / alone.seconds,
        ">= 0.5",
    )  # fmt: skip
    yield Result(
        "records of good streams that differ", differing(alone, mixed, feeds), "", "of", len(alone.beats), "<= 0"
    )
