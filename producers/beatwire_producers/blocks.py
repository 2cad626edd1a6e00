"""The schedule of a replay in blocks, with faults, in the order in which messages are due.

In: feeds, the length of a chunk, faults. Out: `Schedule` blocks. State: messages that a fault delays beyond their
block, and the clocks of the devices. Invariant: the concatenated blocks are the schedule made in one piece.
"""

from collections.abc import Iterator

import numpy as np
from beatwire.errors import UserError

from beatwire_producers.faults import Clocks, Faults, inject
from beatwire_producers.feeds import LEADS, Lanes
from beatwire_producers.schedule import Schedule, chunks_of, joined, lengths_of

_BLOCK_ROWS = 8192  # messages scheduled and encoded together: beyond this, larger blocks are no faster
_MAX_CHUNK_BYTES = 60_000  # of samples: a message stays below 64 kB


def schedule_blocks(
    lanes: Lanes,
    chunk_ms: float,
    faults: Faults | None,
    seed: int,
    seconds: float | None,
    fault_counts: dict[str, int],
    *,
    live: bool = False,
) -> Iterator[Schedule]:
    """Yield the schedule of a replay in blocks.

    Parameters
    ----------
    lanes
        The feeds.
    chunk_ms
        Length of a chunk, 1-10000 ms.
    faults, seed
        The faults to inject, and the seed that selects the chunks.
    seconds
        Seconds of signal to send of each stream; None: all.
    fault_counts
        Fault -> number of chunks so far; updated with each block.
    live
        Yield blocks of one second, so that a message is encoded just before it is due; otherwise large blocks.

    Raises
    ------
    UserError
        The chunks would be too long, or there is nothing to send.
    """
    if not 1 <= chunk_ms <= 10_000:
        raise UserError(f"--chunk-ms: expected 1-10000; got {chunk_ms:g}")
    longest = float(np.max(2 * lanes.ints[:, LEADS] * lanes.rate_hz)) * chunk_ms / 1000.0
    if longest > _MAX_CHUNK_BYTES:
        raise UserError(f"--chunk-ms: expected messages below 64 kB; {chunk_ms:g} ms would be {longest:.0f} bytes")
    if seconds is not None and not seconds > 0:
        raise UserError(f"--seconds: expected more than 0; got {seconds:g}")
    signal_s = float(np.max(lengths_of(lanes, seconds) / lanes.rate_hz))
    last = int(np.ceil(signal_s * 1000.0 / chunk_ms - 1e-9))
    at_once = max(1, round(1000.0 / chunk_ms) if live else _BLOCK_ROWS // len(lanes.feeds))
    if live and at_once * len(lanes.feeds) > _BLOCK_ROWS:
        at_once = 1
    clocks = Clocks(np.zeros(len(lanes.feeds), np.int64))
    delayed: list[Schedule] = []
    for begin in range(0, last, at_once):
        stop = min(last, begin + at_once)
        rows = chunks_of(lanes, chunk_ms, begin, stop, seconds)
        if faults:
            rows, injected = inject(rows, faults, chunk_ms, lanes.ints[:, LEADS], seed, clocks)
            for kind, count in injected.counts.items():
                fault_counts[kind] += count
            rows = joined(*delayed, rows).by_due()
            ready = rows.due_us < round((stop + 1) * chunk_ms * 1000.0)  # before every message of the next block
            delayed = [rows.take(~ready)]
            rows = rows.take(ready)
        if len(rows):
            yield rows
    rows = joined(*delayed) if delayed else chunks_of(lanes, chunk_ms, 0, 0)
    if len(rows):
        yield rows
