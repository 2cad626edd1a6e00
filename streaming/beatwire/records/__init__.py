"""What travels between the stages: one frozen structure of arrays per hop.

========== ============ ================================================================
record     made by      holds
========== ============ ================================================================
RawTick    source       the joined payloads of one poll
Chunks     decode       the columns of its valid messages, and the rejects
Placement  align        for one bank and one pass: which bytes go to which ring position
Fresh      ring         for one bank and one pass: which lanes have which new samples
Peaks      nms, accept  local maxima of the response, with the level around them, and how sure they are
Beats      beats        accepted peaks, with R and RR
Windows    window       what the model looks at of each
HistoryFeatures   recall       what it saw, and how that compares with the stream's own last minute
TickBeats  gather       all beats of the tick, in order; then scored, then compared
Alerts     alert        transitions of alerts
Outgoing   publish      messages, ready to send
========== ============ ================================================================

Words: a *slot* is a stream's number for as long as it is known; a *lane* is its row in the
rings of its *bank* (one bank per sampling rate and number of leads); a *pass* is a part of a
tick small enough for the rings. Sample indices are absolute in a stream's session, int64.
Everything is on the host except the rings and what is marked ``xp`` (NumPy or CuPy).

Samples are described in ``records.samples``, heartbeats in ``records.beats``.
"""

from beatwire.records.arrays import F32, F64, I16, I32, I64, U8, U64, Bool
from beatwire.records.beats import Alerts, Beats, HistoryFeatures, Outgoing, Terms, TickBeats, Windows
from beatwire.records.samples import (
    Aligned,
    Bank,
    Chunks,
    Event,
    Fresh,
    Peaks,
    Placement,
    RawTick,
    Rejects,
    Response,
    Ringed,
)

__all__ = [
    "F32",
    "F64",
    "I16",
    "I32",
    "I64",
    "U8",
    "U64",
    "Alerts",
    "Aligned",
    "Bank",
    "Beats",
    "Bool",
    "Chunks",
    "Event",
    "Fresh",
    "HistoryFeatures",
    "Outgoing",
    "Peaks",
    "Placement",
    "RawTick",
    "Rejects",
    "Response",
    "Ringed",
    "Terms",
    "TickBeats",
    "Windows",
]
