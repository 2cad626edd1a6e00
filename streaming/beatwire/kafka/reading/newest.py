"""Which message of a key is the newest where a topic was given more partitions, so that the key is in two of them.

In: the partition and the time of each message as it is read. Out: whether it is newer, or its place. State: of each key
the partition and the time of its newest message. In one partition offsets order the messages, whatever their times;
nothing but their times orders those of two, and readers receive them in any order.
"""

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

Content = TypeVar("Content")


class Read(NamedTuple, Generic[Content]):
    """What was read: its partition, the timestamp of the message in microseconds since 1970, and its content."""

    partition: int
    time_us: int
    content: Content


class Newest:
    """The newest message of each key.

    Parameters
    ----------
    most
        Keys that are kept; of those that had no message for longest it is forgotten. None: all are.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._known: dict[bytes, tuple[int, int]] = {}

    def takes(self, key: bytes, partition: int, time_us: int) -> bool:
        """Return whether a message that was read is newer than those of its key that were read before."""
        known = self._known.pop(key, (partition, time_us))
        is_newer = known[0] == partition or known[1] <= time_us
        self._known[key] = (partition, time_us) if is_newer else known
        if self._most is not None and len(self._known) > self._most:
            del self._known[next(iter(self._known))]
        return is_newer


def place_of(one: Read[Content], known: Sequence[Read[Content]]) -> int:
    """Return the place of what was read among what was read before, in order.

    >>> known = [Read(0, 5, "a"), Read(1, 7, "b"), Read(1, 6, "c")]
    >>> place_of(Read(0, 4, "d"), known), place_of(Read(2, 4, "d"), known), place_of(Read(1, 1, "d"), known)
    (1, 0, 3)
    """
    place = len(known)
    while place and known[place - 1].partition != one.partition and known[place - 1].time_us > one.time_us:
        place -= 1
    return place
