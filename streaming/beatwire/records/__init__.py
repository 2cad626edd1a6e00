"""Records between the stages: frozen structures of arrays.

================ ========= =====================================================================================
record           from      contents
================ ========= =====================================================================================
RawTick          source    the joined messages of one poll; from unbundle one chunk a row
Chunks           decode    the columns of its valid messages, and the rejects
Aligned          align     the placements of a tick, its events, and the position of each stream
Placement        align     for one bank and one pass: samples of the payload and their place in the rings
Fresh            align     for one bank and one pass: the lanes with new samples
Ringed           ring      the rings of a bank with the new samples
Response         ricker    the response to the new samples
Peaks            nms       peaks of the response with the level around each; from classify also their logits
Beats            beats     classified peaks with R and RR
Windows          windows   256 samples around each beat
HistoryFeatures  history   the terms of the score of each beat
TickBeats        gather    all beats and events of the tick, in order; from score also their scores
Alerts           alert     transitions of alerts
Outgoing         publish   messages to send
================ ========= =====================================================================================

A *slot* is the number of a stream until it is evicted. A *lane* is its row in the rings of its *bank*: streams of one
sampling rate and number of leads. A *pass* is a part of a tick that fits the rings. Sample indices are absolute in a
session of a stream, int64. All arrays are on the host except the rings and those marked ``xp`` (NumPy or CuPy).

``records.samples``, ``records.rejects`` and ``records.beats`` describe the records, ``records.columns`` names columns
of integer tables, the other modules have the NamedTuples that kernels take.
"""

from beatwire.records.arrays import F32, F64, I16, I32, I64, U8, U16, U64, Bool
from beatwire.records.beats import Alerts, Beats, HistoryFeatures, Outgoing, Terms, TickBeats, Windows
from beatwire.records.rejects import REJECT_KINDS, Fault, Rejects
from beatwire.records.retention import Expired
from beatwire.records.samples import EACH_LEAD, Aligned, Bank, Chunks, Event, Fresh, Peaks, Placement, Response, Ringed
from beatwire.records.staff import Acknowledgement, LimitChange
from beatwire.records.ticks import Bundled, RawTick

__all__ = [
    "EACH_LEAD",
    "F32",
    "F64",
    "I16",
    "I32",
    "I64",
    "REJECT_KINDS",
    "U8",
    "U16",
    "U64",
    "Acknowledgement",
    "Alerts",
    "Aligned",
    "Bank",
    "Beats",
    "Bool",
    "Bundled",
    "Chunks",
    "Event",
    "Expired",
    "Fault",
    "Fresh",
    "HistoryFeatures",
    "LimitChange",
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
