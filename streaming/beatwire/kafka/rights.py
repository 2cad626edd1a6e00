"""Which topics this client may not see or write to, as brokers state it: asked before work, and when it is refused.

In: a cluster and topics. Out: their names, or an error. No state.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AclOperation  # type: ignore[attr-defined]

from beatwire.kafka.cluster import DENIED, Cluster

_WRITES = {AclOperation.WRITE, AclOperation.ALL}


def not_writable(cluster: Cluster, topics: Iterable[str], *, timeout_s: float = 5.0) -> list[str]:
    """Return the topics, by their names at the brokers, that this client may not write to; [] if they do not say.

    Who may write may also describe: a topic that this client may not see is one of them.
    """
    found = []
    for name, answer in _described(cluster, topics, timeout_s, include_authorized_operations=True):
        allowed = None if isinstance(answer, Exception) else answer.authorized_operations
        if _is_hidden(answer) or (allowed and not _WRITES & set(allowed)):
            found.append(name)
    return found


def check_writable(cluster: Cluster, topics: Iterable[str]) -> None:
    """Check that this client may write to topics that it can see.

    Raises
    ------
    UserError
        It may not; the message names them.
    """
    found = not_writable(cluster, topics)
    if found:
        error = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
        raise cluster.denied(f"write to {', '.join(found)}", error)


def check_visible(cluster: Cluster, topics: Iterable[str], *, timeout_s: float = 5.0) -> None:
    """Check that this client may see topics: a broker leaves those that it may not see out of its list.

    Raises
    ------
    UserError
        It may not see one of them.
    """
    for name, answer in _described(cluster, topics, timeout_s):
        if _is_hidden(answer):
            raise cluster.denied(f"describe topic {name!r}", answer.args[0]) from answer


def _is_hidden(answer: Any) -> bool:
    """Return whether a description is refused: this client may not see the topic."""
    return isinstance(answer, KafkaException) and answer.args[0].code() in DENIED


def _described(cluster: Cluster, topics: Iterable[str], timeout_s: float, **asked: bool) -> Iterator[tuple[str, Any]]:
    """Yield the names of topics at the brokers, each with its description or the error in its place."""
    admin = cluster.admin()  # its requests end with it
    names = TopicCollection([cluster.topic(name) for name in topics])
    for name, future in admin.describe_topics(names, request_timeout=timeout_s, **asked).items():
        try:
            yield name, future.result(timeout_s)
        except (KafkaException, TimeoutError) as error:
            yield name, error
