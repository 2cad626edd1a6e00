"""Why align rejects a chunk, in one line: what its stream has, and what the chunk has."""

from collections.abc import Sequence

from beatwire.kernels.intake import arrivals
from beatwire.records import Bank
from beatwire.records.alignment import AlignChunks
from beatwire.records.columns import CHUNK_FIRST, CHUNK_LEADS, CHUNK_RATE_HZ, CHUNK_SESSION, CHUNK_UV_PER_UNIT

KINDS = {
    arrivals.BACKWARDS: "backwards",
    arrivals.REFUSED: "no_memory",
    arrivals.NO_BANK: "no_memory",
}  # of the rejects; the other codes: "changed"


def reason_of(stream: str, code: int, expected: float, chunks: AlignChunks, i: int, banks: Sequence[Bank]) -> str:
    """Return why chunk ``i`` of a stream is rejected.

    Parameters
    ----------
    code, expected
        As in ``AlignVerdicts``; if there is no memory ``expected`` is the number of streams that have a lane, and if
        there are too many banks, that of the banks.
    """
    name, ints, floats = f"stream {stream!r}", chunks.ints[i], chunks.floats[i]
    if code == arrivals.RATE_CHANGED:
        return f"{name} is {banks[int(expected)].rate_hz:g} Hz; this chunk says {floats[CHUNK_RATE_HZ]:g} Hz"
    if code == arrivals.LEADS_COUNT_CHANGED:
        return f"{name} has {banks[int(expected)].leads} leads; this chunk says {ints[CHUNK_LEADS]}"
    if code == arrivals.UNITS_CHANGED:
        return f"{name} has {expected / 1000:g} microvolts per unit; this chunk says {floats[CHUNK_UV_PER_UNIT]:g}"
    if code == arrivals.REFUSED:
        return f"{name} is refused: no memory for more than {expected:.0f} streams"
    if code == arrivals.NO_BANK:
        return (
            f"{name} is refused: {floats[CHUNK_RATE_HZ]:g} Hz and {ints[CHUNK_LEADS]} leads; expected one of the "
            f"{expected:.0f} kinds of streams there are"
        )
    return (
        f"{name} is at sample {expected:.0f} of session {ints[CHUNK_SESSION]}; this chunk goes back to "
        f"{ints[CHUNK_FIRST]}; a device that counts anew must change its session"
    )
