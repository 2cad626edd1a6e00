"""What a follower has returned before: dropped where a broker refuses an offset that it has, as the group's members do.

In: the messages of a poll, and the next offset of each partition. Out: those that are new, and whether the follower has
to go back to where it was. State: the leader epochs by topic (`beatwire.kafka.consuming.repeated`). Without it a page
that a broker refuses once would show the samples of a whole retention again, as if they came now.
"""

from collections.abc import Callable, Mapping

from confluent_kafka import Message, TopicPartition
from confluent_kafka.admin import AdminClient

from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.repeated import Repeated, newest
from beatwire.kafka.reading.topic_ids import answered_ids, request_ids

_ANSWER_S = 2.0


class Reread:
    """The leader epochs of what a follower has returned.

    Parameters
    ----------
    ids
        Logical name of a topic -> its id, as the follower knows it.
    client
        Returns a client that asks for the present ones.
    """

    def __init__(self, cluster: Cluster, ids: Mapping[str, str], client: Callable[[], AdminClient]) -> None:
        self._cluster, self._ids, self._client = cluster, ids, client
        self._of: dict[str, Repeated] = {}

    def drop(
        self, messages: list[Message], due: Mapping[tuple[str, int], int], now_s: float
    ) -> tuple[list[Message], bool]:
        """Return the messages that are new, and True if what is due has to be read again.

        Parameters
        ----------
        messages
            Of one poll, without error events.
        due
            Logical name of the topic, and partition -> the next offset.
        now_s
            The time by a clock that never decreases, seconds.
        """
        polled: dict[str, list[Message]] = {}
        for message in messages:
            polled.setdefault(message.topic() or "", []).append(message)
        dropped, again = set[int](), False
        for topic, of_topic in polled.items():
            name = self._cluster.name(topic)
            repeated = self._repeated(name)
            kept, set_back = repeated.drop(of_topic, {p: at for (of, p), at in due.items() if of == name}, now_s)
            dropped |= {id(one) for one in of_topic} - {id(one) for one in kept} if len(kept) < len(of_topic) else set()
            again = again or bool(set_back)
            last = {one.partition() or 0: one.leader_epoch() for one in kept}
            epochs = {p: epoch for p, epoch in last.items() if epoch is not None}
            repeated.leader_epoch.update(newest(epochs, repeated.leader_epoch))
        return [one for one in messages if id(one) not in dropped] if dropped else messages, again

    def at(self, name: str, partition: int, offset: int) -> TopicPartition:
        """Return where to read on: with its epoch, by which librdkafka finds out that a log was cut before it."""
        return self._repeated(name).at(partition, offset)

    def forget(self, name: str, partition: int) -> None:
        """Forget what was returned of a partition that is read from its beginning."""
        self._repeated(name).leader_epoch.pop(partition, None)

    def _repeated(self, name: str) -> Repeated:
        if name not in self._of:
            topic = self._cluster.topic(name)
            self._of[name] = Repeated(topic, _Id(topic, lambda: self._ids.get(name), self._client))
        return self._of[name]


class _Id:
    """The id of a topic: the last that the follower knows, and the present one."""

    def __init__(self, topic: str, known: Callable[[], str | None], client: Callable[[], AdminClient]) -> None:
        self._topic, self._known, self._client = topic, known, client

    @property
    def known(self) -> str | None:
        return self._known()

    def ask(self, *, doubted: bool = False) -> None:
        """Nothing: `wait` asks."""

    def wait(self) -> str | None:
        return answered_ids(request_ids(self._client(), [self._topic], _ANSWER_S), _ANSWER_S).get(self._topic)
