"""Partitions that wait: the next message of such a partition has a schema that is being looked up.

In: the messages of a poll. Out: the messages before the first one that has to wait, and the offsets of those that wait.
State: the partitions, and the schema ids that they wait for. Invariant: no message is skipped; a partition continues
with the message at which it stopped. Without a registry nothing waits.
"""

import numpy as np
from confluent_kafka import Message

from beatwire.kafka.consuming.batch import Part, join_messages, truncate
from beatwire.kafka.schemas.writer_schemas import WriterSchemas
from beatwire.records import I64, RawTick
from beatwire.stages import unbundle
from beatwire.wire.writers import framed_ids


class Holding:
    """The partitions that wait.

    Parameters
    ----------
    schemas
        The answers of the registry; None: messages of any id pass.

    Attributes
    ----------
    partitions : dict of int to set of int
        partition -> the schema ids of its own messages that are being looked up.
    """

    def __init__(self, schemas: WriterSchemas | None) -> None:
        self._schemas = schemas
        self.partitions: dict[int, set[int]] = {}

    def admit(self, messages: list[Message]) -> tuple[Part, dict[int, int]]:
        """Join the messages that need not wait.

        Parameters
        ----------
        messages
            Of one poll, without error events.

        Returns
        -------
        Part, dict
            The messages that pass, and partition -> offset of the first one that waits: the partition is to be paused,
            and to be read again from there when `released` returns it.
        """
        part = join_messages(messages)
        if self._schemas is None or not messages:
            return part, {}
        start = np.zeros(len(messages) + 1, np.int64)
        np.cumsum(part.length, out=start[1:])
        ids, number = _ids_of(part, start)
        missing = self._schemas.missing(np.unique(ids[ids >= 0]).tolist())
        if not missing:
            return part, {}
        rows = np.flatnonzero(np.isin(ids, list(missing)))
        of_row = part.partition[number[rows]]
        waiting, first = np.unique(of_row, return_index=True)
        held = {}
        for partition, row in zip(waiting.tolist(), rows[first].tolist(), strict=True):
            held[partition] = messages[int(number[row])].offset() or 0
            self.partitions[partition] = set(ids[rows[of_row == partition]].tolist())
        return join_messages(truncate(messages, held)), held

    def released(self) -> set[int]:
        """Return the partitions that need not wait any longer, once."""
        if self._schemas is None or not self.partitions:
            return set()
        done = {partition for partition, ids in self.partitions.items() if not self._schemas.waiting(ids)}
        for partition in done:
            del self.partitions[partition]
        return done

    def clear(self) -> None:
        """Forget all partitions: their messages will be polled again."""
        self.partitions.clear()


def _ids_of(part: Part, start: I64) -> tuple[I64, I64]:
    """Return the schema ids in a part, -1: none, and the message that has each, ascending.

    Chunks in a bundle have ids of their own. Those in a bundle of another schema are not seen: that has to be converted
    first.
    """
    ids = framed_ids(part.payload, start)
    number = np.arange(len(ids))
    if not (unbundle.bodies(part.payload, start) >= 0).any():
        return ids, number
    _, tick = unbundle.step(unbundle.State(), RawTick(part.payload, start, part.arrival_us, part.partition, 0))
    if tick.bundled is not None:
        inner = np.where(tick.bundled.chunk >= 0, framed_ids(tick.payload, tick.start), -1)
        ids, number = np.concatenate([ids, inner]), np.concatenate([number, tick.bundled.message])
        order = np.argsort(number, kind="stable")
        ids, number = ids[order], number[order]
    return ids, number
