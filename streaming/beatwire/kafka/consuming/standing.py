"""Partitions that stand still: they end beyond the position, and nothing of them is received.

In: the position and the end of each partition that is not read to its end, after every poll that found no more. Out:
the partitions that stand still. State: since when each has been at its position.

What lies there may be an open or aborted transaction, of which nothing is received, or a batch that cannot be read.
These cannot be told apart without a request for each partition. In none of them does a sample of the partition come, so
no stream of it is covered, and those of the other partitions must not wait for it.
"""

import logging
from collections.abc import Mapping
from typing import NamedTuple

_LOGGER = logging.getLogger("beatwire")
STILL_S = 2.0  # a fetch takes milliseconds, through a slow network a second
SAID_S = 10.0  # a transaction that ends by then is not worth a line
_GAP_S = 1.0  # since the last poll: what has been fetched in it has not been read


class _Still(NamedTuple):
    """A partition at an offset, since a time of the monotonic clock."""

    offset: int
    since_s: float


class Standing:
    """The partitions that stand still.

    Parameters
    ----------
    topic
        The topic, for the log.

    Examples
    --------
    >>> standing = Standing("ecg.samples")
    >>> [standing.note({0: 7}, {0: 12}, now_s) for now_s in (0.0, 0.8, 1.6)]
    [frozenset(), frozenset(), frozenset()]
    >>> standing.note({0: 7, 1: 3}, {0: 12, 1: 9}, 2.4)
    frozenset({0})
    >>> standing.note({0: 12}, {}, 2.5)
    frozenset()
    """

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._still: dict[int, _Still] = {}
        self._said: dict[int, _Still] = {}
        self._noted_s = 0.0

    def note(self, position: Mapping[int, int], ends: Mapping[int, int], now_s: float) -> frozenset[int]:
        """Note the positions after a poll; return the partitions that stand still.

        Parameters
        ----------
        position
            partition -> the next offset to poll, of all partitions that are read.
        ends
            partition -> its end, of those that end beyond it.
        now_s
            The time by a clock that never decreases, seconds.
        """
        if now_s - self._noted_s > _GAP_S:
            self._still.clear()
        self._noted_s = now_s
        kept = self._still
        self._still = {p: kept.get(p, _Still(position[p], now_s)) for p in ends}
        for p, still in self._still.items():
            if still.offset != position[p]:
                self._still[p] = _Still(position[p], now_s)
            elif now_s - still.since_s > SAID_S and (p not in self._said or self._said[p].offset != still.offset):
                self._said[p] = still
                self._log("stands still", p, f"stands still at offset {still.offset} and ends at {ends[p]}: an open or "
                          "aborted transaction, or a batch that cannot be read; the others are read on")  # fmt: skip
        self._end(position, now_s)
        return frozenset(p for p, still in self._still.items() if now_s - still.since_s > STILL_S)

    def clear(self) -> None:
        """Begin to measure again: for a while nothing could be received."""
        self._still.clear()

    def _end(self, position: Mapping[int, int], now_s: float) -> None:
        """Log what goes on, and forget what is not read here any more."""
        for p, still in list(self._said.items()):
            if position.get(p, still.offset + 1) > still.offset:
                del self._said[p]
            if position.get(p, 0) > still.offset:
                seconds = now_s - still.since_s
                self._log("goes on", p, f"goes on from offset {still.offset} to {position[p]}, after {seconds:.0f} s")

    def _log(self, event: str, partition: int, text: str) -> None:
        fields = {"partition": partition}
        _LOGGER.warning("partition %d of %s %s", partition, self._topic, text, extra={"event": event, "fields": fields})
