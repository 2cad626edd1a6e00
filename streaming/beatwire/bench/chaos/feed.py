"""Recordings as live streams, again and again until they are stopped: each time as a new session of each stream.

In: recordings, or a synthetic ward with planted events. Out: messages on the topic of samples, from a thread; between
them, where wanted, some that nobody can use.
"""

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from beatwire_producers.faults import parse_faults
from beatwire_producers.feeds import Feed, feeds_of
from beatwire_producers.replay import play, read_sources
from beatwire_producers.ward import ward

from beatwire.bench.broker.garbage import stray_messages
from beatwire.bench.broker.mutations import REJECTED, mutated
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.publishing.live_sender import LiveSender

WARD_S = 120.0  # of the synthetic ward: each of its kinds of events fits in
CHUNK_MS = 250.0


def feeds_for(sources: Sequence[str], streams: int, seed: int) -> list[Feed]:
    """Return feeds that play recordings, or without recordings those of a synthetic ward.

    Raises
    ------
    UserError
        A recording cannot be read.
    """
    if sources:
        return feeds_of(read_sources(sources), streams)
    return list(ward(streams, WARD_S, seed=seed, distinct=16).feeds)


class LitteringSender(LiveSender):
    """A sender that sends unusable messages between the others, with the same keys.

    Parameters
    ----------
    share
        How many unusable messages for each that is given.
    seed
        Random seed.
    """

    def __init__(self, cluster: Cluster, share: float, seed: int) -> None:
        super().__init__(cluster)
        self._garbage = mutated(stray_messages(), None, seed, kinds=REJECTED)
        self._share, self._due = share, 0.0

    def send(self, topic: str, keys: Sequence[bytes | None], values: Sequence[bytes | None]) -> None:
        """Queue messages, and unusable ones behind each; wait while the buffer is full."""
        all_keys, all_values = list[bytes | None](), list[bytes | None]()
        for key, value in zip(keys, values, strict=True):
            self._due += self._share
            count = int(self._due)
            self._due -= count
            all_keys += [key] * (1 + count)
            all_values += [value, *islice(self._garbage, count)]
        super().send(topic, all_keys, all_values)


class LiveFeed:
    """A thread that plays feeds until it is stopped.

    Parameters
    ----------
    feeds
        What is played.
    cluster
        The brokers.
    speed
        A multiple of real time.
    seconds
        Signal to play of each stream; None: no limit.
    bundle
        Streams of a gateway, which sends their chunks in one message; 1: no gateways.
    garbage, faults, seed
        Unusable messages between the others, for each of them; faults as `parse_faults` takes them; the seed of both.

    Attributes
    ----------
    messages : int
        Sent so far in the sessions that are over.
    """

    def __init__(
        self, feeds: Sequence[Feed], cluster: Cluster, speed: float, seconds: float | None = None, *,
        bundle: int = 1, garbage: float = 0.0, faults: str | None = None, seed: int = 1,
    ) -> None:  # fmt: skip
        self._feeds, self._cluster, self._speed = list(feeds), cluster, speed
        self._bundle, self._garbage, self._faults, self._seed = bundle, garbage, parse_faults(faults), seed
        self._resumes_s = 0.0  # until when it is paused, of the monotonic clock
        self._left_s = float("inf") if seconds is None else seconds
        self._stop = threading.Event()
        self._begun = threading.Event()
        self._failure: BaseException | None = None
        self.messages = 0
        self._thread = threading.Thread(target=self._run, name="chaos-feed", daemon=True)

    def start(self) -> None:
        """Start to play."""
        self._thread.start()

    def pause(self, seconds: float) -> None:
        """Send nothing for so many seconds, and then at once what has become due."""
        self._resumes_s = time.monotonic() + seconds

    @property
    def begun(self) -> bool:
        """Return True from the first message on."""
        return self._begun.is_set()

    @property
    def over(self) -> bool:
        """Return True if everything was played, or the thread has failed."""
        return not self._thread.is_alive()

    def stop(self) -> None:
        """Stop playing and wait until every message is at the broker.

        Raises
        ------
        UserError, FatalError
            What ended the thread.
        """
        self._stop.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            with self._sender() as sender:
                while self._left_s > 0 and not self._stop.is_set():
                    self._play_session(sender)
        except BaseException as error:
            self._failure = error

    def _sender(self) -> LiveSender:
        if not self._garbage:
            return LiveSender(self._cluster)
        return LitteringSender(self._cluster, self._garbage, self._seed)

    def _is_stopped(self) -> bool:
        self._begun.set()
        return self._stop.wait(max(0.0, self._resumes_s - time.monotonic()))

    def _play_session(self, sender: LiveSender) -> None:
        session = time.time_ns() // 1000
        longest_s = max(feed.recording.seconds for feed in self._feeds)
        seconds = min(longest_s, self._left_s)
        feeds = [replace(feed, session=session) for feed in self._feeds]
        summary = play(
            feeds, sender, speed=self._speed, chunk_ms=CHUNK_MS, bundle=self._bundle, seconds=seconds,
            faults=self._faults, seed=self._seed, stop=self._is_stopped,
        )  # fmt: skip
        self.messages += summary.messages
        self._left_s -= seconds
