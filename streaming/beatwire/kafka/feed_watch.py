"""Whether any chunk arrives at all: the newest message of every partition of the samples, whoever reads it.

In: the ends of the partitions of ``ecg.samples``, requested repeatedly. Out: the time of the newest chunk, by the clock
of this machine. State: the ends of the last request. A worker sees its own partitions only, and cannot distinguish a
ward whose feed has failed from a few devices that were switched off.
"""

from __future__ import annotations

import time

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

from beatwire.kafka.cluster import Cluster
from beatwire.wire import names

_REQUEST_S = 2.0
_DISCOVERY_S = 10.0  # between two searches for new partitions
_NO_OFFSET = -1  # of a partition without messages


class FeedWatch:
    """Requests the ends of the samples; for use by one thread, except ``newest_us``.

    Attributes
    ----------
    newest_us : int
        When the newest chunk was seen to have arrived, microseconds since 1970; 0: unknown, or there never was one.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self._admin = cluster, cluster.admin()
        self._ends: dict[int, int] = {}
        self._partitions: list[TopicPartition] = []
        self._searched_s = float("-inf")
        self.newest_us = 0

    def look(self) -> None:
        """Request the ends; without an answer nothing changes."""
        now_us = time.time_ns() // 1000
        try:
            if time.monotonic() - self._searched_s > _DISCOVERY_S:
                self._discover()
            ends = self._request(OffsetSpec.latest())  # type: ignore[no-untyped-call]
            if not self._ends:
                newest = self._request(OffsetSpec.max_timestamp())  # type: ignore[no-untyped-call]
                self.newest_us = max([0, *(1000 * time_ms for _, time_ms in newest.values())])
            elif any(end > self._ends.get(partition, 0) for partition, (end, _) in ends.items()):
                self.newest_us = now_us
            self._ends = {partition: end for partition, (end, _) in ends.items()}
        except (KafkaException, TimeoutError):
            return

    def _discover(self) -> None:
        name = self._cluster.topic(names.SAMPLES)
        found = self._admin.list_topics(name, timeout=_REQUEST_S).topics[name].partitions
        self._partitions = [TopicPartition(name, partition) for partition in found]
        self._searched_s = time.monotonic()

    def _request(self, spec: OffsetSpec) -> dict[int, tuple[int, int]]:
        """Return partition -> offset and timestamp (ms, -1: none) of what a specification names."""
        asked = dict.fromkeys(self._partitions, spec)
        found = self._admin.list_offsets(asked, request_timeout=_REQUEST_S) if asked else {}
        answers = {at.partition: future.result(_REQUEST_S) for at, future in found.items()}
        return {partition: (answer.offset, answer.timestamp) for partition, answer in answers.items()}
