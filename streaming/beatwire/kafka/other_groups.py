"""Whether another group monitors the same topics: each would adopt, and end, the alerts of the other.

In: a cluster and a group. Out: names of other groups. No state. Ids of alerts do not name the group that raised them:
a group that begins anew finds them. One set of topics has one group of monitors; another one needs a prefix of its
own. A group of monitors is known by its commits, whose metadata say where a replay begins.
"""

from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions, KafkaException
from confluent_kafka.admin import AdminClient

from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.positions import is_monitors
from beatwire.wire import names

_MOST = 100  # groups that are looked at


def other_monitors(cluster: Cluster, group: str, *, timeout_s: float = 3.0) -> list[str]:
    """Return the other groups with members that have committed as monitors do; empty if the broker does not say."""
    admin, topic = cluster.admin(), cluster.topic(names.SAMPLES)
    try:
        active = admin.list_consumer_groups(
            states={ConsumerGroupState.STABLE, ConsumerGroupState.PREPARING_REBALANCING}, request_timeout=timeout_s
        ).result(timeout_s)
        others = sorted(found.group_id for found in active.valid if found.group_id != group)[:_MOST]
        return [other for other in others if _commits_as_monitor(admin, other, topic, timeout_s)]
    except (KafkaException, TimeoutError, ValueError):
        return []


def _commits_as_monitor(admin: AdminClient, group: str, topic: str, timeout_s: float) -> bool:
    try:
        asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)], request_timeout=timeout_s)
        found = asked[group].result(timeout_s).topic_partitions or []
    except (KafkaException, TimeoutError):  # not allowed to see it
        return False
    return any(at.topic == topic and is_monitors(at.metadata) for at in found)
