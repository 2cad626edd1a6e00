"""Messages that cannot be used, as columns: a tick may have tens of thousands of them, with few different faults."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from beatwire.records.arrays import I32, I64

# Kinds of faults, for counting: not Avro, or bytes that do not fit; JSON that is no SampleChunk; another schema; a
# number out of its range; a stream id that cannot be used, or one stream too many; rate, leads or units changed within
# a session; a sample count that went back; no memory for another stream, or too many rates; a stray
# (``stages.support.streams.waiting``).
REJECT_KINDS = ("malformed", "json", "schema", "field", "stream", "changed", "backwards", "no_memory", "stray")


LONGEST_REASON = 300  # characters: a reason is one header of a dead letter and a part of a line of the log


class Fault(NamedTuple):
    """Why a message cannot be used: one of ``REJECT_KINDS``, and a reason of one line."""

    kind: str
    reason: str

    @staticmethod
    def of(kind: str, reason: str) -> Fault:
        r"""Return a fault whose reason is one short line of printable characters, whatever a message has put into it.

        >>> Fault.of("json", "got 'a\nb'").reason, len(Fault.of("json", "x" * 50_000).reason)
        ("got 'a\\nb'", 300)
        """
        line = reason[: LONGEST_REASON + 1]
        if not line.isprintable():
            line = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in line)
        return Fault(kind, line if len(line) <= LONGEST_REASON else f"{line[: LONGEST_REASON - 3]}...")


@dataclass(frozen=True, slots=True)
class Rejects:
    """Messages that cannot be used, ``n`` of them.

    number  int64 [n]  number of the message in its tick; negative: it has waited since an earlier tick
                       (``stages.support.streams.waiting``)
    fault   int32 [n]  index into ``faults``
    faults  each once or more
    """

    number: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    fault: I32 = field(default_factory=lambda: np.zeros(0, np.int32))
    faults: tuple[Fault, ...] = ()

    @staticmethod
    def of(rows: Iterable[tuple[int, Fault]]) -> Rejects:
        """Make the columns of single messages: number and fault of each.

        >>> Rejects.of([(4, Fault("json", "no JSON")), (2, Fault("json", "no JSON"))]).fault
        array([0, 0], dtype=int32)
        """
        found = list(rows)
        index = {fault: k for k, fault in enumerate(dict.fromkeys(fault for _, fault in found))}
        return Rejects(
            np.array([number for number, _ in found], np.int64),
            np.array([index[fault] for _, fault in found], np.int32),
            tuple(index),
        )

    @staticmethod
    def joined(parts: Sequence[Rejects]) -> Rejects:
        """Return the rejects of all parts, in their order."""
        parts = [part for part in parts if len(part)]
        if len(parts) <= 1:
            return parts[0] if parts else Rejects()
        before = np.cumsum([0, *(len(part.faults) for part in parts[:-1])])
        return Rejects(
            np.concatenate([part.number for part in parts]),
            np.concatenate([part.fault + first for part, first in zip(parts, before.astype(np.int32), strict=True)]),
            tuple(fault for part in parts for fault in part.faults),
        )

    def __len__(self) -> int:
        return len(self.number)

    @property
    def message(self) -> list[int]:
        """Return the number of each message."""
        numbers: list[int] = self.number.tolist()
        return numbers

    @property
    def reason(self) -> list[str]:
        """Return the reason of each message."""
        reasons = [fault.reason for fault in self.faults]
        return [reasons[k] for k in self.fault.tolist()]

    @property
    def kind(self) -> list[str]:
        """Return the kind of each message."""
        kinds = [fault.kind for fault in self.faults]
        return [kinds[k] for k in self.fault.tolist()]

    def counts(self) -> list[tuple[Fault, int]]:
        """Return how many messages have each fault; a fault may stand there twice."""
        return list(zip(self.faults, np.bincount(self.fault, minlength=len(self.faults)).tolist(), strict=True))
