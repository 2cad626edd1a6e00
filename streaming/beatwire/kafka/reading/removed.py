"""Whether topics have lost messages that they should keep: created anew, emptied, or their ends are gone.

In: ids, beginnings and ends of topics, as brokers state them. Out: the topics that have lost some (`take`). State: what
was stated last, and the topics that nobody has taken yet. Compaction moves no beginning, so one that has moved means
that retention, or somebody, has deleted what was before it.

An end may be stated too early while a broker starts: it counts when it is stated twice.
"""

import contextlib
import threading
from collections.abc import Iterable, Mapping, Sequence

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

from beatwire.kafka.cluster import Cluster
from beatwire.kafka.reading.topic_ids import answered_ids, request_ids
from beatwire.kafka.topics import stated

_INTERVAL_S = 2.0
_REQUEST_S = 2.0
_SILENCE = 5  # looks without an answer, after which the client is replaced: it can lose its broker for good

_Offsets = dict[TopicPartition, int]


class Removed:
    """Compares what brokers state about topics; `run` is for one thread, `take` for another.

    Parameters
    ----------
    kept
        The topics, of which none should lose a message but by compaction.
    """

    def __init__(self, cluster: Cluster, kept: Sequence[str]) -> None:
        self._cluster, self._kept = cluster, kept
        self._admin = cluster.admin()
        self._ids: dict[str, str] = {}
        self._begins: _Offsets = {}
        self._ends: _Offsets = {}
        self._lower: set[TopicPartition] = set()  # ends that were lower when they were stated last
        self._lost: set[str] = set()
        self._lock = threading.Lock()
        self._unanswered = 0

    def run(self, stop: threading.Event) -> None:
        """Look until `stop` is set."""
        while not stop.is_set():
            self.look()
            stop.wait(_INTERVAL_S)

    def take(self) -> set[str]:
        """Return the topics that have lost messages since the last call."""
        with self._lock:
            taken, self._lost = self._lost, set()
        return taken

    def look(self) -> None:
        """Ask the brokers once; of what they do not answer nothing changes."""
        partitions: list[TopicPartition] = []
        with contextlib.suppress(KafkaException, TimeoutError):
            there = [self._cluster.topic(name) for name in self._kept]
            ids = answered_ids(request_ids(self._admin, there, _REQUEST_S), _REQUEST_S)
            existing = self._admin.list_topics(timeout=_REQUEST_S).topics
            partitions = [
                TopicPartition(name, p) for name in there if name in existing for p in existing[name].partitions
            ]
            earliest: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
            latest: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
            begins, ends = self._offsets(partitions, earliest), self._offsets(partitions, latest)
            self._compare(ids, begins, ends)
        self._unanswered = 0 if partitions else self._unanswered + 1
        if self._unanswered > _SILENCE:
            self._admin, self._unanswered = self._cluster.admin(), 0

    def _compare(self, ids: Mapping[str, str], begins: _Offsets, ends: _Offsets) -> None:
        """Note what is stated, and the topics in which it shows a loss."""
        anew = {name for name, of in ids.items() if self._ids.get(name, of) != of}
        for known in (self._begins, self._ends):
            for at in [at for at in known if at.topic in anew]:
                del known[at]
        later = [at for at, offset in begins.items() if offset > self._begins.get(at, offset)]
        lower = {at for at, offset in ends.items() if offset < self._ends.get(at, offset)}
        sure = lower & self._lower
        self._lower = lower - sure
        self._ids |= ids
        self._begins |= begins
        self._ends |= {at: offset for at, offset in ends.items() if at not in self._lower}
        with self._lock:
            self._lost |= {self._cluster.name(topic) for topic in (*anew, *topics_of(later), *topics_of(sure))}

    def _offsets(self, partitions: Sequence[TopicPartition], spec: OffsetSpec) -> _Offsets:
        """Return the offsets that a specification names, where they are answered."""
        found: _Offsets = {}
        for at, future in self._admin.list_offsets(dict.fromkeys(partitions, spec), request_timeout=_REQUEST_S).items():
            with contextlib.suppress(KafkaException, TimeoutError):
                found[TopicPartition(at.topic, at.partition)] = stated(future, _REQUEST_S).offset
        return found


def topics_of(partitions: Iterable[TopicPartition]) -> set[str]:
    """Return the topics of partitions."""
    return {at.topic for at in partitions}
