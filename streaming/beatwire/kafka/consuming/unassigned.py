"""Partitions that the group coordinator assigns to nobody, although the group has members; and members that differ.

In: a group that uses the protocol ``consumer``. Out: the partitions of others in which messages wait and nothing has
been committed for long; lines in the log about commits of other programs, and of monitors with other settings. State:
since when nothing has been committed in each partition, and what was said.

A coordinator of Kafka 4.3.1 that starts beside its members may read its log of the group in part: members that left
long ago then keep their partitions, the log repeats it at every later start, and the assignor ``uniform`` gives what is
left to the living. Nothing in the group ends that. The assignor ``range`` divides all partitions among the living; one
member that asks for it is enough, and afterwards ``uniform`` is right again.

The members of a group are not asked for: an admin client that describes a group while a broker starts may end the
process (librdkafka 2.16), as for its commits (see `beatwire.kafka.consuming.commits`).
"""

import logging
import random
import time
from collections.abc import Callable, Collection

from beatwire.errors import FatalError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.commits import LagReader
from beatwire.kafka.consuming.differing import Differing
from beatwire.kafka.reading.readers import look_ahead

_LOGGER = logging.getLogger("beatwire")
EVERY_S = 10.0  # between two requests
LONG_S = 90.0  # twice the session timeout of Kafka's default: the streams of a killed member go on much sooner
SPREAD_S = 30.0  # members wait for different times: when one has acted, the others see commits again
PAUSE_S = 300.0  # after an attempt: the cause may be another one
_ANSWER_S = 2.0

ASSIGNOR = "range"


class Unassigned:
    """The partitions of a topic that no member of a group works on.

    Parameters
    ----------
    cluster, group, topic
        The cluster, the group, and the topic that its members read.
    clock_s
        Returns a time that only grows, seconds.
    settings
        Of this monitor, as `Position` has them; None: they are not compared.
    """

    def __init__(
        self,
        cluster: Cluster,
        group: str,
        topic: str,
        clock_s: Callable[[], float] = time.monotonic,
        *,
        settings: str | None = None,
    ) -> None:
        self._cluster, self._group, self._topic, self._clock_s = cluster, group, topic, clock_s
        self._differing = Differing(group, topic, settings)
        self._patience_s = LONG_S + random.uniform(0.0, SPREAD_S)  # noqa: S311
        self._next_s = clock_s() + EVERY_S
        self._foreign: set[int] = set()
        self._last: dict[int, tuple[int, float]] = {}  # partition -> commit, and since when it is the same

    def find(self, own: Collection[int]) -> list[int]:
        """Return the partitions of others in which messages have waited for long without a commit; then wait longer.

        Requests are rare. One that is not answered changes nothing.

        Parameters
        ----------
        own
            The partitions of this member.
        """
        now_s = self._clock_s()
        if now_s < self._next_s:
            return []
        self._next_s = now_s + EVERY_S
        try:
            with LagReader(self._cluster, self._group, self._topic) as reader:
                found = reader.positions(timeout_s=_ANSWER_S)
                self._note_foreign(reader.foreign - set(own))
                settings = reader.settings
        except FatalError:
            return []
        for gone in self._last.keys() - found.keys():  # the topic was created again with fewer partitions
            del self._last[gone]
        moved = {p for p, (commit, _) in found.items() if p in self._last and commit > self._last[p][0]}
        self._differing.note({p: settings.get(p) for p in moved - set(own)}, own)
        for partition, (commit, end) in found.items():
            before, since_s = self._last.get(partition, (-1, now_s))
            waits = partition not in own and end > commit + 1  # the end of a transaction takes an offset
            self._last[partition] = (commit, since_s if waits and commit == before else now_s)
        silent = {p: found[p][0] for p, (_, since_s) in self._last.items() if now_s - since_s >= self._patience_s}
        if not silent:
            return []
        long = sorted(p for p, waits in look_ahead(self._cluster, self._topic, silent).items() if waits)
        self._last |= {p: (commit, now_s) for p, commit in silent.items()}
        if long:
            self._last.clear()
            self._next_s = now_s + PAUSE_S
        return long

    def _note_foreign(self, partitions: set[int]) -> None:
        """Log, once a partition, that a program that is no monitor commits for the group: it has what it reads."""
        if new := sorted(partitions - self._foreign):
            _LOGGER.warning(
                "expected monitors alone in group %r; got a commit of another program in partitions %s of %s: streams "
                "that it reads are not analysed. Give it a group of its own",
                self._group, ", ".join(map(str, new)), self._topic,
                extra={"event": "foreign commit", "fields": {"partitions": new}},
            )  # fmt: skip
        self._foreign = partitions
