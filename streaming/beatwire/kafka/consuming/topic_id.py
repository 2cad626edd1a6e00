"""The id of the topic: a topic that is deleted and created again has another one, and its offsets begin anew.

In: the broker's description of the topic. Out: its id. State: the newest request, and the id before it. The broker is
asked before the group is joined, at the start of an epoch, and when offsets go back. Only who compares the id of a
commit waits for the answer: embedded brokers give none, and a client may not be allowed to ask.
"""

import re
from concurrent.futures import Future

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, TopicDescription  # type: ignore[attr-defined]

from beatwire.kafka.cluster import Cluster

_ANSWER_S = 2.0  # takes 20 ms
_ID = re.compile("[A-Za-z0-9+/_-]{22}")  # 16 bytes in base 64
_NONE = "A" * 22


class TopicId:
    """The id of one topic.

    Parameters
    ----------
    cluster, topic
        The cluster, and the topic by its name at the brokers.
    """

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self._cluster, self._topic = cluster, topic
        self._admin: AdminClient | None = None  # its requests end with it
        self._answer: Future[TopicDescription] | None = None
        self._before: str | None = None
        self.ask()

    def ask(self, *, doubted: bool = False) -> None:
        """Ask the broker, in the background, unless it is being asked; `doubted`: the id before may not hold."""
        self._before = None if doubted else self.known
        if self._answer is None or self._answer.done():
            self._admin = self._cluster.admin()
            asked = self._admin.describe_topics(TopicCollection([self._topic]), request_timeout=_ANSWER_S)
            self._answer = asked[self._topic]

    @property
    def known(self) -> str | None:
        """Return the id; before the answer, and without one, the id before; None without that."""
        return self._result(0.0) or self._before

    def wait(self) -> str | None:
        """Return the id as the broker answers now; None without an answer."""
        return self._result(_ANSWER_S)

    def _result(self, timeout_s: float) -> str | None:
        try:
            answer = None if self._answer is None else self._answer.result(timeout_s)
        except (KafkaException, TimeoutError):
            return None
        return None if answer is None else as_kafka_writes(str(answer.topic_id))


def as_kafka_writes(topic_id: str) -> str | None:
    """Return an id as Kafka's commands write it, 22 characters; librdkafka writes + and /. None: a broker without ids.

    >>> as_kafka_writes("hTyvOpw1SH+QJxRHbT/TUw"), as_kafka_writes("AAAAAAAAAAAAAAAAAAAAAA")
    ('hTyvOpw1SH-QJxRHbT_TUw', None)
    """
    return topic_id.translate({ord("+"): "-", ord("/"): "_"}) if _ID.fullmatch(topic_id) and topic_id != _NONE else None
