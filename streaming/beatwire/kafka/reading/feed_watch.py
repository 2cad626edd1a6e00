"""Whether any chunk arrives at all: the newest message of every partition of the samples, whoever reads it.

In: the ends of the partitions of ``ecg.samples``, requested repeatedly. Out: for how long no chunk has arrived, by the
monotonic clock of this machine alone; and the same by a clock that advances only while a broker answers (`watched`).
State: the last known end of each partition, and when it was known. A worker sees its own partitions only, and cannot
distinguish a ward whose feed has failed from a few devices that were switched off.

Invariant: only what brokers have answered counts as silence, and of all partitions. While one of several brokers is
away, or this process stood still, the silence does not grow. Each broker is requested by itself: no answer waits for
that of another.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

from beatwire.kafka.cluster import Cluster
from beatwire.kafka.topics import stated
from beatwire.records.feed import Watched
from beatwire.stages.support.alerts.service_alerts import FEED_S, FORGOTTEN_S
from beatwire.wire import names

_Futures = dict[TopicPartition, Future[Any]]
_LOGGER = logging.getLogger("beatwire")
_REQUEST_S = 2.0
_INTERVAL_S = 0.1  # between two looks
_PATIENCE_S = 0.2  # for which a look waits for answers; those that come later are found by a later look
_DISCOVERY_S = 10.0  # between two searches for new partitions
_UNWATCHED_S = 1.0  # between two answers, from which on that is an outage and does not count as time
_AHEAD_S = 0.4  # since the last answer, before the next: so much counts as time, also of an outage
_AWAY_S = 3.0  # without an answer about a partition, after which that is logged
_AWAY_AGAIN_S = 60.0  # between two such lines
_SILENCE_S = 10.0  # without any answer, after which the client is replaced: it can lose its broker for good


class FeedWatch:
    """Requests the ends of the samples; for use by one thread, except its properties."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self._admin = cluster, cluster.admin()
        self._partitions: list[TopicPartition] = []
        self._leaders: dict[int, list[TopicPartition]] = {}  # the partitions by their broker
        self._requests: dict[int, tuple[float, _Futures]] = {}  # by broker: since when, and what is not answered yet
        self._ends: dict[int, int] = {}
        self._newest_s: float | None = None  # when the newest chunk arrived; None: there never was one
        self._known_s = float("-inf")  # the time up to which all ends are known
        self._has_arrived = False  # a chunk, since the first look
        self._searched_s = float("-inf")
        self._answered_s = time.monotonic()
        self._answered_at_s: dict[int, float] = {}  # by partition
        self._began_s = time.monotonic()
        self._away_since_s: float | None = None  # logged
        self._away_logged_s = float("-inf")
        # The clock of `watched` at the last answer, that of this machine then, and the times of `Watched`.
        self._watched: tuple[float, float, float, float] | None = None
        self._given_s = 0.0  # the largest time of `watched` so far

    @property
    def silent_s(self) -> float | None:
        """Return for how long no chunk has arrived, seconds; None: not known yet, or there never was a chunk.

        Time for which no answer has come does not count. What was before the first look is not known: the message that
        was the newest then was stamped by another clock. It tells only whether the feed has been off for a day.
        """
        if self._newest_s is None:
            return None
        silent_s = max(0.0, self._known_s - self._newest_s)
        return silent_s if self._has_arrived or silent_s > FEED_S else None

    @property
    def watched(self) -> Watched:
        """Return what is known of the feed; before the first answer all time counts: a broker may refuse it."""
        if self._watched is None:
            self._given_s = 1.0 + time.monotonic() - self._began_s
            return Watched(round(self._given_s * 1e6))
        at_s, answered_s, newest_s, resumed_s = self._watched
        now_s = self._given_s = max(self._given_s, at_s + min(time.monotonic() - answered_s, _AHEAD_S))
        newest_s = newest_s if self.silent_s is not None else 0.0
        return Watched(round(now_s * 1e6), round(newest_s * 1e6), round(resumed_s * 1e6))

    @property
    def partitions(self) -> int:
        """Return the number of partitions, 0: unknown."""
        return len(self._partitions)

    def run(self, stop: threading.Event) -> None:
        """Look until `stop` is set."""
        while not stop.is_set():
            self.look()
            stop.wait(_INTERVAL_S)

    def look(self) -> None:
        """Request the ends; of partitions without an answer nothing changes."""
        now_s = time.monotonic()
        with contextlib.suppress(KafkaException, TimeoutError):
            if time.monotonic() - self._searched_s > _DISCOVERY_S:
                self._discover()
            if not self._partitions:
                return
            if not self._ends:
                newest = self._request(OffsetSpec.max_timestamp())  # type: ignore[no-untyped-call]
                newest_ms = max([0, *(time_ms for _, time_ms in newest.values())])
                age_s = time.time() - newest_ms / 1000
                self._newest_s = now_s - (age_s if age_s > FORGOTTEN_S else 0.0) if newest_ms else None
            for asked_s, ends in self._answers():
                self._note(ends, asked_s)
        self._log_away()
        if time.monotonic() - self._answered_s > _SILENCE_S:
            self._admin, self._answered_s = self._cluster.admin(), time.monotonic()
            self._requests.clear()

    def _answers(self) -> list[tuple[float, dict[int, int]]]:
        """Request the ends from each broker that owes no answer; return the answers there are, and as of when."""
        latest: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        for leader, partitions in self._leaders.items():
            if leader not in self._requests:
                futures = self._admin.list_offsets(dict.fromkeys(partitions, latest), request_timeout=_REQUEST_S)
                self._requests[leader] = time.monotonic(), futures
        answers, until_s = [], time.monotonic() + _PATIENCE_S
        for leader, (asked_s, futures) in sorted(self._requests.items(), key=lambda one: one[1][0], reverse=True):
            found = {}
            try:
                for at, future in futures.items():
                    with contextlib.suppress(KafkaException):
                        found[at.partition] = stated(future, max(0.0, until_s - time.monotonic())).offset
            except TimeoutError:
                if time.monotonic() - asked_s <= 2 * _REQUEST_S:
                    continue
            del self._requests[leader]
            if found:
                answers.append((asked_s, found))
                self._answered_s = time.monotonic()
        return sorted(answers, key=lambda one: one[0])

    def _note(self, ends: Mapping[int, int], asked_s: float) -> None:
        """Note the ends of partitions as of a time; an answer that was requested before the last one sets none back."""
        at_s, answered_s, newest_s, resumed_s = self._watched or (
            max(1.0 + asked_s - self._began_s, self._given_s), asked_s, 0.0, 0.0
        )  # fmt: skip
        now_s = max(asked_s, answered_s)
        was_away = now_s - answered_s > _UNWATCHED_S
        at_s += _AHEAD_S if was_away else now_s - answered_s
        if any(end > self._ends.get(partition, end) for partition, end in ends.items()):
            self._newest_s, self._has_arrived = now_s, True
            newest_s = at_s
        self._watched = at_s, now_s, newest_s or at_s, at_s if was_away else resumed_s
        self._ends.update(ends)
        self._answered_at_s.update(dict.fromkeys(ends, asked_s))
        self._known_s = min(self._answered_at_s.get(at.partition, float("-inf")) for at in self._partitions)

    def _log_away(self) -> None:
        """Log that brokers are away, once, and that they are back."""
        now_s, answered_at_s = time.monotonic(), self._answered_at_s
        away = [p for p, answered_s in sorted(answered_at_s.items()) if now_s - answered_s > _AWAY_S]
        if self._away_since_s is None and away and now_s - self._away_logged_s > _AWAY_AGAIN_S:
            self._away_since_s, self._away_logged_s = min(answered_at_s[p] for p in away), now_s
            _LOGGER.warning(
                "no broker has answered about partitions %s of %s for %.0f s: their samples are read when one does",
                ", ".join(map(str, away)), names.SAMPLES, now_s - self._away_since_s,
                extra={"event": "broker away", "fields": {"partitions": away}},
            )  # fmt: skip
        elif self._away_since_s is not None and not away:
            away_s, self._away_since_s = now_s - self._away_since_s, None
            _LOGGER.warning(
                "brokers answer again about all partitions of %s, after %.0f s", names.SAMPLES, away_s,
                extra={"event": "broker back", "fields": {"away_s": round(away_s, 1)}},
            )  # fmt: skip

    def _discover(self) -> None:
        name = self._cluster.topic(names.SAMPLES)
        found = self._admin.list_topics(name, timeout=_REQUEST_S).topics[name].partitions
        self._partitions = [TopicPartition(name, partition) for partition in found]
        self._leaders = {}
        for at in self._partitions:
            self._leaders.setdefault(found[at.partition].leader, []).append(at)
        if found:  # those that a topic created again does not have are not waited for
            self._answered_at_s = {p: at_s for p, at_s in self._answered_at_s.items() if p in found}
        self._searched_s = time.monotonic()

    def _request(self, spec: OffsetSpec) -> dict[int, tuple[int, int]]:
        """Return partition -> offset and timestamp (ms, -1: none) of what a specification names, where it is answered.

        Raises
        ------
        KafkaException, TimeoutError
            No partition has an answer.
        """
        found: _Futures = self._admin.list_offsets(dict.fromkeys(self._partitions, spec), request_timeout=_REQUEST_S)
        until_s, answers, missing = time.monotonic() + _REQUEST_S, {}, None
        for at, future in found.items():
            try:
                answer = stated(future, max(0.0, until_s - time.monotonic()))
                answers[at.partition] = answer.offset, answer.timestamp
            except (KafkaException, TimeoutError) as error:
                missing = error
        if missing is not None and not answers:
            raise missing
        self._answered_s = time.monotonic()
        return answers
