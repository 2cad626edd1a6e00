"""Why align rejects a chunk, in one line: what its stream has, and what the chunk has."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from beatwire.kernels.intake import arrivals
from beatwire.records import I64, Bank
from beatwire.records.alignment import AlignChunks
from beatwire.records.columns import (
    CHUNK_FIRST,
    CHUNK_LEAD_NAMES,
    CHUNK_LEADS,
    CHUNK_RATE_HZ,
    CHUNK_SESSION,
    CHUNK_UV_PER_UNIT,
)
from beatwire.wire.avro import lead_names

KINDS = {
    arrivals.BACKWARDS: "backwards",
    arrivals.REFUSED: "no_memory",
    arrivals.NO_BANK: "no_memory",
}  # of the rejects; the other codes: "changed"


MOST_NAMES = 1_000  # sets of names of leads that are remembered


@dataclass(slots=True)
class LeadNames:
    """What leads are called, by the hash of their names: for reasons only, so what is forgotten changes no result."""

    by_hash: dict[int, str] = field(default_factory=dict)

    def note(self, chunks: AlignChunks, i: int) -> None:
        """Remember the names of a stream that begins."""
        digest = int(chunks.ints[i, CHUNK_LEAD_NAMES])
        if digest not in self.by_hash and len(self.by_hash) < MOST_NAMES:
            self.by_hash[digest] = _listed(lead_names(chunks.payload, chunks.ints[i]))

    def note_known(self, chunks: AlignChunks, digests: I64) -> None:
        """Remember the names of these hashes that chunks of this tick have."""
        if len(digests) == 0 or len(self.by_hash) >= MOST_NAMES:
            return
        known = np.array([*self.by_hash], np.int64)
        for digest in np.setdiff1d(digests, known)[:MOST_NAMES]:
            for at in np.flatnonzero(chunks.ints[:, CHUNK_LEAD_NAMES] == digest)[:1].tolist():
                self.note(chunks, at)


def _listed(names: list[str]) -> str:
    """Return names of leads for a reason, with at most 16 characters of each."""
    return ", ".join(repr(name[:16]) for name in names)


def reason_of(
    stream: str, code: int, expected: float, chunks: AlignChunks, i: int, banks: Sequence[Bank], names: LeadNames
) -> str:
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
    if code == arrivals.LEADS_RENAMED:
        known = names.by_hash.get(int(expected), "others")
        return f"{name} has the leads {known}; this chunk says {_listed(lead_names(chunks.payload, ints))}"
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
