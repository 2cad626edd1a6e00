"""Alerts that the page has and their topic has not any more: it was created anew, or has lost its end.

In: the topic of alerts, watched; what the page has in force. Out: records of topic ``LOST``, one an alert to remove.
State: a thread, and what it has found. Monitors write again what is in force (`beatwire.service.restoring`): what is
not there ``PATIENCE_S`` later is nobody's, nobody would ever end it, and a page that is opened now does not show it.
"""

import threading
import time
from typing import Any

from beatwire.errors import FatalError, UserError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.reading.readers import read_active_alerts
from beatwire.kafka.reading.record import Record
from beatwire.kafka.reading.removed import Removed
from beatwire.page.alerts import LOST
from beatwire.page.ward import Ward
from beatwire.wire.names import ALERTS

PATIENCE_S = 15.0  # monitors look every two seconds, and write with their next tick
_LOOK_S = 2.0
_STOP_S = 1.0


class LostAlerts:
    """Looks until it is closed.

    Parameters
    ----------
    ward
        What the page has.
    """

    def __init__(self, cluster: Cluster, ward: Ward) -> None:
        self._cluster, self._ward, self._removed = cluster, ward, Removed(cluster, [ALERTS])
        self._stop = threading.Event()
        self._due_s = float("inf")
        self._lost: dict[str, dict[str, Any]] = {}
        self._thread = threading.Thread(target=self._run, name="page-lost-alerts", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Stop the thread, and wait for its end for a moment: a broker that is away holds requests up."""
        self._stop.set()
        self._thread.join(_STOP_S)

    def take(self) -> list[Record]:
        """Return what to remove, once; called by the thread that adds to the ward. What has come since stays."""
        if not self._lost:
            return []
        lost, self._lost = self._lost, {}
        present = self._ward.in_force
        return [Record(LOST, name.encode(), None) for name, alert in lost.items() if present.get(name) is alert]

    def look(self) -> None:
        """Ask the brokers once, and compare if it is time."""
        self._removed.look()
        if self._removed.take():
            self._due_s = time.monotonic() + PATIENCE_S
        if time.monotonic() < self._due_s:
            return
        before = self._ward.in_force
        try:
            kept = {alert["id"] for alert in read_active_alerts(self._cluster, given_up=self._stop)}
        except (FatalError, UserError):  # compared at the next look
            return
        self._lost, self._due_s = {name: alert for name, alert in before.items() if name not in kept}, float("inf")

    def _run(self) -> None:
        while not self._stop.is_set():
            self.look()
            self._stop.wait(_LOOK_S)
