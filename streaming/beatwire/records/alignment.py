"""Arguments of the kernels of decode, align, gather and publish, grouped. All arrays are arrays of the host."""

from __future__ import annotations

from typing import NamedTuple

from beatwire.records.arrays import F64, I32, I64, U8


class AlignChunks(NamedTuple):
    """The chunks of a tick as align reads them, ``n`` of them.

    payload  uint8 [bytes]      of all messages
    ints     int64 [n, 11]      columns ``CHUNK_...`` of ``records.columns``
    floats   float64 [n, 3]     columns ``CHUNK_RATE_HZ``, ...
    slot     int64 [n]          slot of the stream; negative: the chunk is passed over
    bank     int64 [n]          bank of its rate and number of leads; -1: no stream has had these
    limits   int64 [n]          number of the limits that are in force when the chunk arrives
    """

    payload: U8
    ints: I64
    floats: F64
    slot: I64
    bank: I64
    limits: I64


class AlignVerdicts(NamedTuple):
    """What became of each chunk.

    code      int64 [n]    ``kernels.intake.arrivals.PLACED``, or why the chunk is rejected
    expected  float64 [n]  of a rejected chunk: what its stream has in place of what the chunk says
    """

    code: I64
    expected: F64


class AlignRows(NamedTuple):
    """What align writes of a tick; ``sizes`` counts the rows that are set.

    place  int64 [., 8]  columns ``PLACE_...`` of ``records.columns``: samples and where they go
    fresh  int64 [., 9]  columns ``FRESH_...``: lanes with new samples
    event  int64 [., 6]  columns ``EVENT_...``: restarts, gaps, changes of the lead-off mask or of the limits, device
                         times that had to give way to newer ones
    sizes  int64 [SIZES] see ``kernels.intake.align``
    """

    place: I64
    fresh: I64
    event: I64
    sizes: I64


class StreamState(NamedTuple):
    """What align keeps of each stream, by slot.

    slots    int64 [slots, SLOT_COLUMNS]    position of the stream, see ``kernels.intake.align``
    anchors  int64 [slots, ANCHOR_COLUMNS]  its device times, see ``kernels.intake.clock``
    """

    slots: I64
    anchors: I64


class SampleRun(NamedTuple):
    """Consecutive samples of a chunk, each with a value on some lead.

    first, stop  samples [first, stop) of the stream
    at           position of the first one in the payload; -1: none
    stride       bytes from one lead to the next
    marked       True if each of them has no value on some lead, False if each has one on every lead
    """

    first: int
    stop: int
    at: int
    stride: int
    marked: bool


class StreamIds(NamedTuple):
    """Stream ids by slot: uint8 [slots, 64] and their lengths, int32 [slots]; a length of 0: no stream has the slot."""

    ids: U8
    size: I32


class PassLanes(NamedTuple):
    """Lanes of a pass.

    bank           number of the bank
    slot, session  int64 [n]
    watermark      int64 [n]  every beat before this sample is decided
    """

    bank: int
    slot: I64
    session: I64
    watermark: I64


class PassBeats(NamedTuple):
    """Beats of a pass, by lane and in order: row of its lane and its sample, int64 [b]."""

    row: I64
    sample: I64


class BeatMessages(NamedTuple):
    """Where Avro messages of beats are written.

    buffer  uint8 [b * width]
    stop    int64 [b]  end of each message in ``buffer``; it begins at ``i * width``
    width   bytes that a message has at most
    """

    buffer: U8
    stop: I64
    width: int


class BeatFields(NamedTuple):
    """The numbers of beats in a message.

    ints    int64 [b, 5]   slot, session, sample, device time (us), arrival (us)
    floats  uint8 [b, 40]  bytes of ten float32: RR (ms), rate (1/min), response, quality, score, prematurity,
                           expected errors, place in the plane (2), probability of the class
    absent  uint8 [b, 10]  non-zero where a number is null
    """

    ints: I64
    floats: U8
    absent: U8


class BeatLabels(NamedTuple):
    """The texts of beats in a message.

    texts   uint8 [k, 16]  of ``scored_by``
    size    int32 [k]      their lengths
    label   int32 [b]      the text of each beat
    letter  uint8 [b]      the class of each beat as an ASCII letter; 0: null
    """

    texts: U8
    size: I32
    label: I32
    letter: U8
