"""Whether a broker answers, over a connection of its own, and whether the addresses that it gives can be reached.

In: a cluster. Out: True or False, or the refusal as an error. State: since when a client at work has been refused.
"""

import logging
import socket
import time

from confluent_kafka.admin import ClusterMetadata  # type: ignore[attr-defined]

from beatwire.errors import UserError, reason
from beatwire.kafka.certificates import places_in
from beatwire.kafka.cluster import Cluster, UnansweredError

WAITING = logging.getLogger("beatwire.waiting")  # what each command prints, not the service alone
BUSY_S = 60.0  # for the first answer of a broker that takes connections


def first_metadata(cluster: Cluster, timeout_s: float) -> ClusterMetadata:
    """Return brokers and topics; one that takes connections, and does not answer yet, is waited for.

    Raises
    ------
    UserError
        The brokers refuse the connection.
    UnansweredError
        Nothing listens, or it does not answer as Kafka within `timeout_s` seconds; or nothing comes for `BUSY_S` more.
    """
    try:
        return cluster.metadata(timeout_s)
    except UnansweredError as error:
        if str(error) or error.unreachable or not _listens(cluster):
            raise
    WAITING.warning(
        "kafka: %s takes connections and has not answered for %g s: waiting, up to %g s more",
        cluster, timeout_s, BUSY_S, extra={"event": "waiting"},
    )  # fmt: skip
    try:
        return cluster.metadata(BUSY_S)
    except UnansweredError as error:
        hint = str(error) or f"nor in {BUSY_S:g} s more, although it takes connections"
        raise UnansweredError(hint, error.unreachable) from None


def _listens(cluster: Cluster, timeout_s: float = 1.0) -> bool:
    """Return True if an address of a cluster takes connections."""
    for place in places_in(cluster.bootstrap):
        try:
            socket.create_connection(place, timeout_s).close()
        except (OSError, OverflowError, UnicodeError):
            continue
        return True
    return False


def broker_responds(cluster: Cluster, *, timeout_s: float = 1.0) -> bool:
    """Return True if a broker answers at `cluster` within `timeout_s` seconds.

    Raises
    ------
    UserError
        It answers and refuses the connection.
    """
    try:
        return bool(cluster.metadata(timeout_s).brokers)
    except UnansweredError:
        return False


def check_addresses(cluster: Cluster, found: ClusterMetadata, *, timeout_s: float = 2.0) -> None:
    """Check that one of the brokers can be reached by the address that it gives: clients use no other.

    Raises
    ------
    UserError
        None can.
    """
    places = [(str(broker.host), int(broker.port)) for broker in found.brokers.values()]
    if any(cluster.has_address(f"[{host}]:{port}" if ":" in host else f"{host}:{port}") for host, port in places):
        return
    failed = ""
    for host, port in places:
        try:
            with socket.create_connection((host, port), timeout_s):
                return
        except OSError as error:
            failed = f"{host}:{port}: {reason(error)}"
    if failed:
        raise cluster.misnamed(failed)


class Reachability:
    """Whether brokers answer a client at work, which a short refusal does not end: a provider of tokens may be away.

    Parameters
    ----------
    patience_s
        For how long a refusal is waited for, seconds.
    """

    def __init__(self, cluster: Cluster, *, patience_s: float = 30.0) -> None:
        self._cluster, self._patience_s = cluster, patience_s
        self._refused_s: float | None = None

    def responds(self) -> bool:
        """Return True if a broker answers over a fresh connection.

        Raises
        ------
        UserError
            The brokers have refused the connection for longer than `patience_s`.
        """
        try:
            answered = broker_responds(self._cluster)
        except UserError:
            now_s = time.monotonic()
            self._refused_s = now_s if self._refused_s is None else self._refused_s
            if now_s - self._refused_s > self._patience_s:
                raise
            return False
        if answered:
            self._refused_s = None
        return answered
