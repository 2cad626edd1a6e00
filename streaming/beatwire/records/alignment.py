"""Arguments of the kernels of decode, align, gather and publish, grouped. All arrays are arrays of the host."""

from typing import NamedTuple

from beatwire.records.arrays import F32, F64, I32, I64, U8


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
    """What align writes of a tick; ``sizes`` counts the rows that are set, in each group of streams.

    place  int64 [., 8]  columns ``PLACE_...`` of ``records.columns``: samples and where they go
    fresh  int64 [., 9]  columns ``FRESH_...``: lanes with new samples
    event  int64 [., 6]  columns ``EVENT_...``: restarts, gaps, changes of the lead-off mask or of the limits, device
                         times that had to give way to newer ones
    sizes  int64 [groups, SIZES or more] or of one group [SIZES], see ``records.slot_columns``
    """

    place: I64
    fresh: I64
    event: I64
    sizes: I64


class AlignGroups(NamedTuple):
    """The chunks of a tick by groups of streams, ``g`` of them.

    chunk        int64 [n]         numbers of the chunks, by group, those of a group in order of arrival
    begin, stop  int64 [g]         where those of each group are in ``chunk``
    at           int64 [g]         where each goes on
    room         int64 [g + 1]     where its rows in ``AlignRows`` begin, and their end
    wrote        int64 [n or 0, 3] rows that each chunk wrote of ``place``, ``fresh`` and ``event``; 0: not needed
    """

    chunk: I64
    begin: I64
    stop: I64
    at: I64
    room: I64
    wrote: I64


class StreamState(NamedTuple):
    """What align keeps of each stream, by slot.

    slots    int64 [slots, SLOT_COLUMNS]    position of the stream, see ``records.slot_columns``
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
    """Beats and blocks of a pass, by lane and in order.

    first, first_block  int64 [n + 1]  where those of each lane begin, and the end
    sample              int64 [b]      of the beats
    end, kind           int64 [k]      of the blocks
    """

    first: I64
    first_block: I64
    sample: I64
    end: I64
    kind: I64


class EventPlaces(NamedTuple):
    """Where the events of each stream go.

    first   int64 [slots + 1]  row of its first event
    at      int64 [slots]      row of the next one
    number  int64 [e]          passes of the events that are there
    """

    first: I64
    at: I64
    number: I64


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
    """The numbers of beats in a message: int64, float64 and float32 [b], NaN: null.

    latent, plane  float32 [b, 8] and [8, 2]: the place of a beat in the plane is their product
    floats, raw    float32 [b, 10], written, and the same as uint8 [b, 40]: RR (ms), rate (1/min), response, quality,
                   score, prematurity, expected errors, place in the plane (2), probability of the class
    """

    slot: I64
    session: I64
    sample: I64
    time_us: I64
    arrived_us: I64
    rr_s: F64
    median_rr_s: F64
    response: F32
    quality: F32
    score: F32
    prematurity: F32
    expected_errors: F32
    class_probability: F32
    latent: F32
    plane: F32
    floats: F32
    raw: U8


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
