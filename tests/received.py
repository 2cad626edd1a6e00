"""Messages as they were received, without a broker, and the dead letters that become of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from beatwire.records import Outgoing
from beatwire.wire.dead_letters import Originals
from beatwire.wire.names import DEAD_LETTERS

Letter = tuple[bytes | None, bytes, dict[str, bytes]]  # key, value, headers


class Received:
    """The messages of a tick, at consecutive offsets of partition 3 from ``first`` on; keys contain the offset."""

    def __init__(self, values: list[bytes], first: int = 0) -> None:
        self.values, self.first = values, first

    def originals(self, numbers: Sequence[int]) -> Originals:
        offsets = [self.first + k for k in numbers]
        keys = [b"key %d" % offset for offset in offsets]
        return Originals("ecg.samples", [3] * len(numbers), offsets, keys, [self.values[k] for k in numbers])


def letters_among(published: Iterable[Outgoing]) -> list[Letter]:
    """Return the dead letters of a tick."""
    return [
        letter
        for messages in published
        if messages.topic == DEAD_LETTERS
        for letter in zip(messages.keys, messages.values, map(dict, messages.headers or []), strict=True)
    ]
