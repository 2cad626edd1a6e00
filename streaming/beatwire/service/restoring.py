"""What topics have lost is written again, as far as this worker has it, and said.

In: the topics that have lost messages. Out: the alerts that are not off, with the next tick, in its transaction; the
limits of streams, from a thread: reading their topic must not stop the loop. State: that thread.
"""

import logging
import threading

from beatwire.errors import FatalError, UserError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.publishing.orders import restore_limits
from beatwire.records import LimitChange
from beatwire.service.interfaces import Graph, Staff
from beatwire.service.observing.logs import log_event
from beatwire.wire import names

_LOST = "expected {topic} to keep its messages; it was created anew, or messages were deleted: "
_MOST_NAMED = 5  # streams in a line of the log


class Restoring:
    """Restores what the topics of alerts and of limits have lost."""

    def __init__(self, cluster: Cluster, staff: Staff, graph: Graph) -> None:
        self._cluster, self._staff, self._graph = cluster, staff, graph
        self._thread: threading.Thread | None = None

    def turn(self) -> None:
        """Restore what was lost since the last call; the graph has the alerts of the log."""
        lost = self._staff.take_lost()
        if names.ALERTS in lost:
            _log(
                self._cluster.topic(names.ALERTS),
                f"alerts in force are published again ({self._graph.repeat_alerts()})",
            )
        if names.AUDIT in lost:
            _log(self._cluster.topic(names.AUDIT), "its older records are gone")
        if names.SETTINGS in lost:
            self._thread = threading.Thread(
                target=self._restore, args=(self._staff.changes,), name="restoring", daemon=True
            )
            self._thread.start()

    def _restore(self, changes: list[LimitChange]) -> None:
        topic = self._cluster.topic(names.SETTINGS)
        try:
            streams = restore_limits(self._cluster, changes)
        except (UserError, FatalError) as error:
            _log(topic, f"limits hold until another worker takes their streams over, they cannot be written: {error}")
            return
        named = ", ".join(map(repr, streams[:_MOST_NAMED])) + (", ..." if len(streams) > _MOST_NAMED else "")
        again = f"limits in force are written again ({len(streams)}): {named}"
        _log(topic, again if streams else "no limits are lost")


def _log(topic: str, what: str) -> None:
    log_event("lost messages", _LOST.format(topic=topic) + what, level=logging.WARNING, topic=topic)
