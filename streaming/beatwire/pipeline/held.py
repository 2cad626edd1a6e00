"""The messages whose chunks wait for a bank, as they were received: for dead letters in a later tick.

In:    the origin of each tick, and what entered and left the waiting room in it
Out:   the origin of a tick's rejects, those of earlier ticks included
State: the messages that wait
"""

from __future__ import annotations

from collections.abc import Sequence

from beatwire.stages.support.waiting import WaitingRoom
from beatwire.wire.dead_letters import Origin, Originals

Row = tuple[int, int, bytes | None, bytes]  # partition, offset, key, value


class Held:
    """The messages that wait, by the numbers that the waiting room gave them."""

    def __init__(self) -> None:
        self._topic = ""
        self._rows: dict[int, Row] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def enter(self, waiting: WaitingRoom, origin: Origin) -> None:
        """Take in the messages of a tick that wait from now on."""
        if waiting.entered:
            originals = origin.originals(list(waiting.entered.values()))
            self._topic = originals.topic
            self._rows.update(zip(waiting.entered, _rows(originals), strict=True))

    def leave(self, waiting: WaitingRoom) -> None:
        """Forget those that do not wait any longer."""
        for number in waiting.left:
            self._rows.pop(number, None)

    def beside(self, origin: Origin) -> Origin:
        """Return the messages of a tick, by their numbers in it, and those that wait."""
        return _Both(self._topic, self._rows, origin)


class _Both:
    """The messages of a tick, and those that wait."""

    def __init__(self, topic: str, rows: dict[int, Row], origin: Origin) -> None:
        self._topic, self._waiting, self._origin = topic, rows, origin

    def originals(self, numbers: Sequence[int]) -> Originals:
        """Return the messages with these numbers; negative ones are of those that wait."""
        if min(numbers, default=0) >= 0:
            return self._origin.originals(numbers)
        of_tick = self._origin.originals([number for number in numbers if number >= 0])
        rows = iter(_rows(of_tick))
        both = [next(rows) if number >= 0 else self._waiting[number] for number in numbers]
        partitions, offsets, keys, values = zip(*both, strict=True)
        return Originals(of_tick.topic or self._topic, list(partitions), list(offsets), list(keys), list(values))


def _rows(originals: Originals) -> list[Row]:
    return list(zip(originals.partitions, originals.offsets, originals.keys, originals.values, strict=True))
