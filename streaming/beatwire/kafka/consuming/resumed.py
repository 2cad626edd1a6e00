"""Partitions that were resumed, and of which nothing has come since: what waits of them at the broker is not known.

In: the partitions that are resumed, and those whose messages arrive. Out: whether the end of each is known. State: the
partitions without a message since, and the time of the last resumption. librdkafka knows the end of a partition from
its last fetch, which was before the pause: by that nothing waits, although the samples of a whole replay do, and every
stream of the partition would have no data. A partition without messages is quiet for ``QUIET_S``.
"""

from collections.abc import Iterable

QUIET_S = 1.0  # a fetch takes milliseconds


class Resumed:
    """The partitions of which nothing has come since they were resumed.

    Examples
    --------
    >>> resumed = Resumed()
    >>> resumed.add({0, 1}, 5.0)
    >>> resumed.hear({0})
    >>> resumed.are_known(5.2), resumed.are_known(6.1)
    (False, True)
    """

    def __init__(self) -> None:
        self._unheard: set[int] = set()
        self._since_s = 0.0

    def add(self, partitions: Iterable[int], now_s: float) -> None:
        """Note partitions that are resumed; the time is in seconds, by a clock that never decreases."""
        self._unheard.update(partitions)
        self._since_s = now_s

    def hear(self, partitions: Iterable[int]) -> None:
        """Note that messages of partitions have come."""
        self._unheard.difference_update(partitions)

    def are_known(self, now_s: float) -> bool:
        """Return True if a message of each has come, or none for long enough."""
        if now_s - self._since_s > QUIET_S:
            self._unheard.clear()
        return not self._unheard
