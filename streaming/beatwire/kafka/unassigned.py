"""Partitions that the group coordinator assigns to nobody, although the group has members.

In: a group that uses the protocol ``consumer``. Out: the partitions that have had no member for long, for one of the
members, which is to rejoin. State: since when each partition has been without a member.

A coordinator of Kafka 4.3.1 that starts beside its members may read its log of the group in part: members that left
long ago then keep their partitions, the log repeats it at every later start, and the assignor ``uniform`` gives what is
left to the living. Nothing in the group ends that. The assignor ``range`` divides all partitions among the living; one
member that asks for it is enough, and afterwards ``uniform`` is right again.
"""

from __future__ import annotations

import time

from confluent_kafka import KafkaException

from beatwire.kafka.cluster import Cluster

EVERY_S = 10.0  # between two requests
LONG_S = 25.0  # a partition changes its member in a second; that of a killed one is listed until its session ends
_ANSWER_S = 2.0

ASSIGNOR = "range"


class Unassigned:
    """The partitions of a topic without a member.

    Parameters
    ----------
    cluster, group, topic
        The cluster, the group, and the topic that its members read.
    """

    def __init__(self, cluster: Cluster, group: str, topic: str) -> None:
        self._cluster, self._group, self._topic = cluster, group, cluster.topic(topic)
        self._asked_s = time.monotonic()
        self._since_s: dict[int, float] = {}

    def find(self, member: str) -> list[int]:
        """Return the partitions that have had no member for ``LONG_S`` if `member` is the one to rejoin; else none.

        Requests are rare. One that is not answered changes nothing.

        Parameters
        ----------
        member
            The id of this member of the group. The one with the least id rejoins.
        """
        now_s = time.monotonic()
        if now_s - self._asked_s < EVERY_S:
            return []
        self._asked_s = now_s
        try:
            members, without = self._request()
        except (KafkaException, TimeoutError, KeyError):
            return []
        self._since_s = {partition: self._since_s.get(partition, now_s) for partition in without}
        long = sorted(partition for partition, since_s in self._since_s.items() if now_s - since_s >= LONG_S)
        if not long or member != min(members, default=""):
            return []
        self._since_s.clear()  # the next attempt is that much later
        return long

    def _request(self) -> tuple[list[str], set[int]]:
        """Return the ids of the members, and the partitions that none has and none is to have."""
        admin = self._cluster.admin()
        topic = admin.list_topics(self._topic, timeout=_ANSWER_S).topics[self._topic]
        futures = admin.describe_consumer_groups([self._group], request_timeout=_ANSWER_S)
        found = futures[self._group].result(_ANSWER_S)
        assignments = [a for m in found.members for a in (m.assignment, m.target_assignment) if a is not None]
        given = {at.partition for a in assignments for at in a.topic_partitions if at.topic == self._topic}
        return [m.member_id for m in found.members], set(topic.partitions) - given
