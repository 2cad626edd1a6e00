"""The thread that reads the topics for the page, and the acknowledgements that it publishes.

In: a cluster. Out: messages, added to a ``Ward``. State: two followers, which join no group, and a watch over lost
alerts. An outage of the broker ends nothing: the thread goes on when the broker answers again.
"""

import threading
import time
from typing import Any

from beatwire.errors import UserError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.publishing.sender import Sender
from beatwire.kafka.reading.follower import BEGINNING, END, MOST_MESSAGES, Follower
from beatwire.page.beat_log import KEPT_S
from beatwire.page.lost_alerts import LostAlerts
from beatwire.page.ward import Ward
from beatwire.wire.cloud_events import ack_headers
from beatwire.wire.names import ACKS, ALERTS, BEATS, SAMPLES
from beatwire.wire.staff import ack_entry, encode_entry

_EVERY_S = 0.05  # what comes meanwhile is one tick, which costs about as much for one message as for fifty
_FORGET_S = 60.0
_DELIVERY_S = 10.0


class Reader:
    """Reads until it is closed.

    Parameters
    ----------
    ward
        Gets what is read.
    """

    def __init__(self, cluster: Cluster, ward: Ward) -> None:
        self._cluster, self._ward = cluster, ward
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="page-reader", daemon=True)
        self._lost = LostAlerts(cluster, ward)
        self.failure: BaseException | None = None

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()
        self._lost.start()

    def close(self) -> None:
        """Stop the thread and wait for its end."""
        self._stop.set()
        self._lost.close()
        self._thread.join(10.0)

    def _run(self) -> None:
        try:
            with (
                Follower(self._cluster, {SAMPLES: END}) as samples,
                Follower(self._cluster, {ALERTS: BEGINNING, ACKS: BEGINNING, BEATS: KEPT_S}) as others,
            ):
                forgot_s = time.monotonic()
                while not self._stop.is_set():
                    tick = samples.ticks(0.0)
                    if tick is not None:
                        self._ward.add_samples(tick)
                    records = [*others.records(0.0), *self._lost.take()]
                    if records:
                        self._ward.add_records(records)
                    self._ward.connected = samples.connected and others.connected
                    if time.monotonic() - forgot_s > _FORGET_S:
                        forgot_s = time.monotonic()
                        self._ward.forget_silent(time.time_ns() // 1000)
                    if (tick is None or tick.caught_up) and len(records) < MOST_MESSAGES:
                        self._stop.wait(_EVERY_S)
        except BaseException as error:
            self.failure = error
            self._ward.connected = False
            if not isinstance(error, UserError):  # which is raised by `Dashboard.check`, as one line
                raise


class Acknowledger:
    """Publishes acknowledgements; one at a time."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._lock = threading.Lock()
        self._sender: Sender | None = None

    def publish(self, alert: str, stream: str, by: str, at_us: int) -> dict[str, Any]:
        """Publish an acknowledgement; return it when the broker has stored it.

        Parameters
        ----------
        alert, stream
            Ids of the alert and of its stream.
        by
            Who acknowledges: a name, see `beatwire.wire.staff.is_name`.
        at_us
            When, microseconds since 1970.

        Raises
        ------
        FatalError
            The broker did not store it within ten seconds.
        """
        ack = ack_entry(alert, stream, by, at_us)
        with self._lock:
            sender, self._sender = self._sender or Sender(self._cluster, {"linger.ms": 0}), None
            try:
                sender.send_with_headers(ACKS, [alert.encode()], [encode_entry(ack)], [ack_headers(ack)])
                sender.flush(_DELIVERY_S)
            except BaseException:
                sender.close()  # what it holds would be published later, when nobody expects it
                raise
            self._sender = sender
        return ack

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            if self._sender is not None:
                self._sender.close()
                self._sender = None
