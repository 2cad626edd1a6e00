"""What travels between the stages: one frozen structure of arrays per hop.

========== ============ ================================================================
record     made by      holds
========== ============ ================================================================
RawTick    source       the joined payloads of one poll
Chunks     decode       the columns of its valid messages, and the rejects
Placement  align        for one bank and one pass: which bytes go to which ring position
Fresh      ring         for one bank and one pass: which lanes have which new samples
Peaks      nms          local maxima of the response, with the level around them
Beats      beats        accepted peaks, with their windows still in the ring
TickBeats  score        all beats of the tick, in order, scored
Alerts     alert        transitions of alerts
Outgoing   publish      messages, ready to send
========== ============ ================================================================

Words: a *slot* is a stream's number for as long as it is known; a *lane* is its row in the
rings of its *bank* (one bank per sampling rate and number of leads); a *pass* is a part of a
tick small enough for the rings. Sample indices are absolute in a stream's session, int64.
Everything is on the host except the rings and what is marked ``xp`` (NumPy or CuPy).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

type_ = type
U8 = NDArray[np.uint8]
I16 = NDArray[np.int16]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
Bool = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RawTick:
    """The messages of one poll, ``m`` of them.

    payload      uint8 [bytes]   all message values joined
    start        int64 [m + 1]   message k is ``payload[start[k]:start[k + 1]]``
    arrival_us   int64 [m]       when each message arrived at the broker
    partition    int32 [m]       the partition it came from (0 without a broker)
    now_us       the clock when the tick was taken; microseconds since 1970
    caught_up    nothing more was waiting at the broker: silence is the device's, not ours
    """

    payload: U8
    start: I64
    arrival_us: I64
    partition: I32
    now_us: int
    caught_up: bool = True

    @staticmethod
    def of(
        values: Sequence[bytes],
        *,
        now_us: int = 0,
        arrival_us: Sequence[int] | I64 | None = None,
        partition: Sequence[int] | I32 | None = None,
        caught_up: bool = True,
    ) -> RawTick:
        """Join message values into a tick; arrival defaults to ``now_us``."""
        m = len(values)
        start = np.zeros(m + 1, np.int64)
        np.cumsum(np.fromiter(map(len, values), np.int64, m), out=start[1:])
        return RawTick(
            payload=np.frombuffer(b"".join(values), np.uint8),
            start=start,
            arrival_us=np.full(m, now_us, np.int64) if arrival_us is None else np.asarray(arrival_us, np.int64),
            partition=np.zeros(m, np.int32) if partition is None else np.asarray(partition, np.int32),
            now_us=now_us,
            caught_up=caught_up,
        )
