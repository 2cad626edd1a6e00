"""Gateways: the chunks of neighbouring streams in one message.

In: the chunks of a schedule, or their values. Out: the schedule with the times at which gateways send, or keys and
values of bundles. No state. Streams are given to gateways in their order: the first ``size`` to the first, and so on. A
gateway sends when the chunk of its last stream is due.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from beatwire.errors import UserError
from beatwire.kernels.intake.bundles import MAX_BUNDLE_BYTES, MOST_CHUNKS
from beatwire.records import I64
from beatwire.wire import encode_bundle

from beatwire_producers.schedule import Schedule

_SPARE_BYTES = 1024  # for the mark and the counts
_LENGTH_BYTES = 4  # of the length of a chunk, at most


def check_bundle(size: int) -> None:
    """Check the number of streams of a gateway.

    Raises
    ------
    UserError
        It is not 1-1000.
    """
    if not 1 <= size <= MOST_CHUNKS:
        raise UserError(f"bundle: expected 1-{MOST_CHUNKS} streams; got {size}")


def sent_together(rows: Schedule, phase_us: I64, size: int) -> Schedule:
    """Return the schedule with the chunks of a gateway due together.

    Parameters
    ----------
    rows
        The chunks.
    phase_us : int64 [lanes]
        By how much the chunks of each stream are due later than those of the first.
    size
        The streams of a gateway.
    """
    last = np.minimum((rows.lane // size + 1) * size, len(phase_us)) - 1
    return replace(rows, due_us=rows.due_us + phase_us[last] - phase_us[rows.lane]).by_due()


def bundles_of(lane: I64, values: Sequence[bytes], size: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield key and value of the bundles of the chunks of some streams.

    Parameters
    ----------
    lane : int64 [n]
        The stream of each chunk.
    values
        The chunks, in the order in which they are sent.
    size
        The streams of a gateway.
    """
    gateway = lane // size
    order = np.argsort(gateway, kind="stable")
    edges = np.flatnonzero(np.diff(gateway[order])) + 1
    for rows in np.split(order, edges):
        key = b"gateway-%d" % gateway[rows[0]]
        for chunks in _fitting([values[k] for k in rows.tolist()]):
            yield key, encode_bundle(chunks)


def _fitting(chunks: list[bytes]) -> Iterator[list[bytes]]:
    """Yield chunks in as few messages as their limits allow."""
    begin, size = 0, 0
    for k, chunk in enumerate(chunks):
        size += len(chunk) + _LENGTH_BYTES
        if k > begin and (size > MAX_BUNDLE_BYTES - _SPARE_BYTES or k - begin == MOST_CHUNKS):
            yield chunks[begin:k]
            begin, size = k, len(chunk) + _LENGTH_BYTES
    yield chunks[begin:]
