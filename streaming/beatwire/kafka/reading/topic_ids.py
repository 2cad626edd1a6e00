"""The ids that a broker gives to topics: one that was deleted and created anew has another.

In: names. Out: ids. No state. Nothing waits unless it is told to: a broker that knows no ids may not answer.
"""

from collections.abc import Collection, Mapping
from concurrent.futures import Future

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, TopicDescription  # type: ignore[attr-defined]


def request_ids(admin: AdminClient, names: Collection[str], timeout_s: float) -> dict[str, "Future[TopicDescription]"]:
    """Request descriptions of topics, by their names at the broker; each is there within `timeout_s` or fails."""
    return dict(admin.describe_topics(TopicCollection(list(names)), request_timeout=timeout_s))


def answered_ids(asked: Mapping[str, "Future[TopicDescription]"], wait_s: float = 0.0) -> dict[str, str]:
    """Return name -> id of what is answered within `wait_s` each, without the topics of which the broker gave none."""
    ids: dict[str, str] = {}
    for name, future in asked.items():
        try:
            ids[name] = str(future.result(wait_s).topic_id)
        except (KafkaException, TimeoutError):  # missing, or no answer
            continue
    return ids
