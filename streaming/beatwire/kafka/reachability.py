"""Whether a broker answers, over a connection of its own.

In: a cluster. Out: True or False, or the refusal as an error. State: since when a client at work has been refused.
"""

import time

from beatwire.errors import UserError
from beatwire.kafka.cluster import Cluster, UnansweredError


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
