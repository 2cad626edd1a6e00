"""The messages whose chunks wait for a bank, as they were received: for dead letters in a later tick.

In:    each tick and its origin, and what entered and left the waiting room in it
Out:   the messages that wait, by their negative numbers
State: these messages
"""

import numpy as np

from beatwire.records import RawTick
from beatwire.records.letters import Letter
from beatwire.stages.support.streams.waiting import WaitingRoom
from beatwire.wire.dead_letters import Origin


class Held(dict[int, Letter]):
    """The messages that wait, by the numbers that the waiting room gave them; their reasons are empty."""

    def enter(self, waiting: WaitingRoom, tick: RawTick, origin: Origin) -> None:
        """Take in the messages of a tick that wait from now on."""
        if not waiting.entered:
            return
        rows = np.array(list(waiting.entered.values()), np.int64)
        topic, offsets, keys = origin.addresses(tick.messages(rows))
        columns = zip(waiting.entered.items(), offsets, keys, tick.chunks(rows), strict=True)
        for (number, k), offset, key, chunk in columns:
            value = tick.payload[tick.start[k] : tick.start[k + 1]].tobytes()
            self[number] = Letter("", topic, int(tick.partition[k]), offset, key, value, chunk)

    def leave(self, waiting: WaitingRoom) -> None:
        """Forget those that do not wait any longer."""
        for number in waiting.left:
            self.pop(number, None)
