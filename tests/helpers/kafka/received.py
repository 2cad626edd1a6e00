"""Messages as they were received, without a broker, and the dead letters that become of them."""

from collections.abc import Iterable, Sequence

from beatwire.records import Outgoing
from beatwire.records.letters import Addresses, Letter
from beatwire.wire.dead_letters import letters_of
from beatwire.wire.names import DEAD_LETTERS


class Received:
    """The messages of a tick, at consecutive offsets from ``first`` on; keys contain the offset."""

    def __init__(self, values: list[bytes], first: int = 0) -> None:
        self.values, self.first = values, first

    def addresses(self, numbers: Sequence[int]) -> Addresses:
        offsets = [self.first + k for k in numbers]
        return Addresses("ecg.samples", offsets, [b"key %d" % offset for offset in offsets])


def letters_among(published: Iterable[Outgoing]) -> list[Letter]:
    """Return the dead letters of a tick, packed or alone."""
    return [letter for messages in published if messages.topic == DEAD_LETTERS for letter in letters_of(messages)]
