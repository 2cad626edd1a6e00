"""Bodies that decide from beats and blocks whether a heart is silent, and since when its signal cannot be judged.

In:    the blocks of a stream with their kinds (``kernels.rhythms.rhythm``), its last beat, its active time
Out:   steps, in order of samples: ``ASYSTOLE_BEGINS``, ``IS_JUDGED``, ``CANNOT_ANALYSE``, ``CANNOT_FOR_LONG``
State: int64 ``own[COLUMNS]``, a part of the state of ``kernels.alerts.rules``

Asystole: no beat for so long; a faint beat is none, and a wave of another size may be one. If the detector was not sure
of the last beat, or errors were expected around it, the silence may be an electrode that came off: then a block without
a beat must be at rest (``kernels.rhythms.rest``), later two in a row. If it was not sure of five in a row before, the
stream shows no rhythm, and the silence has to be six seconds longer. A silence in which one wave follows the other, as
steep as the beats were, may be a rhythm too fast to be counted: it must be at rest as well, and so must one with a peak
that the trees call a beat and the network does not. Where samples were missing a beat may have been: the last
``WHOLE_BLOCKS`` of a silence have no hole, and a block with one is not at rest. A silence in which a lead has lost its
values must be at rest as well, on a living lead: the heart may beat on the other. Where no lead changes its value
nothing is measured: before the first beat of a lane that is no silence, unless there was a beat in the minute before. A
stretch is judged up to a beat with an interval and without expected errors, to a block of a flat line or of
fibrillation, and throughout an asystole: each is published, or its alert is on. One flat block alone says nothing.

Within a lane samples count how long nothing could be judged. Across restarts and sessions, and where samples come more
slowly than their rate says, the active time of the stream does (``kernels.intake.senders``): a *mark* is a sample up to
which everything had come at some active time. A mark is used when the next one comes: where they are far apart, a mark
counts for what the next ones would say. While sessions take turns it does not count: that is an alert of its own.

A block is used when everything up to its end is decided, and a mark likewise: until then they are pending. So no cut
changes a step.
"""

from beatwire.kernels.rhythms.flutter import BLIND, BUSY, FLAT, REST, STILL, TOO_FAST, WAVES
from beatwire.records import I64
from beatwire.records.columns import ASYSTOLE_SAMPLES, BLOCK_SAMPLES, LONG_UNJUDGED_SAMPLES, UNJUDGED_SAMPLES

MOST_GAPS = 12  # stored: they are at least 0.25 s apart, so these reach back farther than any step is late
# Columns of the state:
#   JUDGED_UNTIL  sample up to which the signal could be judged
#   IS_SURE       1 if the last beat was certain and in a clean signal, or if there was none since the lane began
#   RESTS         blocks at rest in a row since the last beat, at most ``RESTS_NEEDED``
#   IS_TESTED     1 if the silence after the last beat has reached the limit of asystole
#   PENDING_END, PENDING_KIND  the block that is pending; its end is 0 if there is none
#   AT            sample of the step that was returned last
#   LARGE_AT      sample of the last beat that is not faint
#   SURE_ROW      certain beats in a row, at most ``RHYTHM_BEATS``, with less than ``ROW_BLOCKS`` between them
#   RHYTHM_BY     sample up to which the last row of ``RHYTHM_BEATS`` is remembered
#   GAP_COUNT     holes of the lane so far; those that are less than 0.25 s apart are one
#   FIRST_GAP     the last ``MOST_GAPS`` of them in a ring: first sample, and the sample after them
#   MARK_AT, MARK the mark that is pending, and the value of its event; 0: none
#   WAS_JUDGED    1 if the signal could be judged since the last mark
#   JUDGED_US     active time at the last mark before which it could be; 0: there was no mark
#   ABSENT_UNTIL  end of the first block of those in a row in which a lead lacks values; 0: the last one had all
#   MARKED_US     active time at the last mark; 0: there was none
#   HAS_BEGUN     1 if a lane has begun: 0 of a stream that is known from the log alone
#   IS_LIVING     1 if there was a beat since the lane began, or in the minute before
#   STILL_UNTIL   end of the last block before it in which no lead changed its value; 0: there was none
#   WAS_LIVING    1 if there was a beat since the last mark
#   LIVING_US     active time at the last mark before which there was one; 0: there was none
#   FAST_BY       end of the last block whose waves are too fast to be counted, 0: there was none
#   RESIZED_BY    the last wave of another size that may be a beat (``kernels.alerts.resized_waves``), 0: none
(
    JUDGED_UNTIL, IS_SURE, RESTS, IS_TESTED, PENDING_END, PENDING_KIND, AT, LARGE_AT, SURE_ROW, RHYTHM_BY, MARK_AT,
    MARK, GAP_COUNT, WAS_JUDGED, JUDGED_US, MARKED_US, HAS_BEGUN, ABSENT_UNTIL, FAST_BY, IS_LIVING,
    STILL_UNTIL, WAS_LIVING, LIVING_US, RESIZED_BY, FIRST_GAP,
) = range(25)  # fmt: skip
BEHIND_DROPPED = FIRST_GAP + 2 * MOST_GAPS  # sample after the last hole that is no longer stored
COLUMNS = BEHIND_DROPPED + 1
BLOCK_US = 2_000_000
LIVING_FOR_US = 60_000_000  # how long after its last beat a stream is living where a lane begins
OFTEN_US = 1_900_000  # twice what is between two marks of a sender that keeps to its rate
WHOLE_BLOCKS = 1  # 2 s: without a beat in so long a heart is below 30/min
NEAR_PER_BLOCK = 8  # 0.25 s

NOTHING, ASYSTOLE_BEGINS, IS_JUDGED, CANNOT_ANALYSE, CANNOT_FOR_LONG = range(5)
RESTS_NEEDED = 2  # 4 s, as the default limit of asystole
RHYTHM_BEATS, ROW_BLOCKS = 5, 5  # a row takes 40 s at most: a heart that stands still at times has one
MEMORY_BLOCKS = 22  # 44 s: how long a row is remembered
GAP_BLOCKS = 2  # 4 s behind a hole, which a loose electrode makes, no beat is certain
DOUBT_BLOCKS = 3  # 6 s: how much longer a silence is if there was no rhythm
NEVER = 1 << 62


def begin_signal(own: I64, sample: int) -> None:
    """Begin the state of a lane whose first sample is ``sample``."""
    judged, judged_us, marked_us = int(own[WAS_JUDGED]), int(own[JUDGED_US]), int(own[MARKED_US])
    living, living_us = int(own[WAS_LIVING]), int(own[LIVING_US])
    for column in range(COLUMNS):
        own[column] = 0
    own[WAS_JUDGED] = judged
    own[JUDGED_US] = judged_us
    own[MARKED_US] = marked_us
    own[WAS_LIVING] = living
    own[LIVING_US] = living_us
    own[IS_LIVING] = int(living > 0 or (living_us > 0 and marked_us - living_us <= LIVING_FOR_US))
    own[HAS_BEGUN] = 1
    own[JUDGED_UNTIL] = sample
    own[LARGE_AT] = sample
    own[IS_SURE] = 1


def pass_beat(own: I64, sample: int, passed: int, sure: bool, judged: bool, lengths: I64) -> None:
    """Take a beat, ``passed`` samples after the last: ``judged`` if no errors are expected or it ended an asystole."""
    block = int(lengths[BLOCK_SAMPLES])
    sure = sure and not has_gap(own, sample - GAP_BLOCKS * block, sample)
    own[IS_SURE] = int(sure)
    row = int(own[SURE_ROW]) if passed < ROW_BLOCKS * block else 0
    own[SURE_ROW] = min(RHYTHM_BEATS, row + 1) if sure else 0
    if own[SURE_ROW] == RHYTHM_BEATS:
        own[RHYTHM_BY] = sample + MEMORY_BLOCKS * block
    own[RESTS] = 0
    own[IS_TESTED] = 0
    own[IS_LIVING] = own[WAS_LIVING] = 1
    if judged:
        judge(own, sample)


def judge(own: I64, at: int) -> None:
    """Note that the signal could be judged up to ``at``."""
    own[JUDGED_UNTIL] = at
    own[WAS_JUDGED] = 1


def forget_marks(own: I64) -> None:
    """Let the next mark begin the time in which nothing is judged."""
    own[MARK] = 0
    own[WAS_JUDGED] = 0
    own[JUDGED_US] = 0
    own[MARKED_US] = 0
    own[WAS_LIVING] = 0
    own[LIVING_US] = 0


def add_mark(own: I64, sample: int, value: int) -> None:
    """Take a mark: it is pending."""
    own[MARK_AT] = sample
    own[MARK] = value


def settle_mark(own: I64, lengths: I64, in_asystole: bool, cannot: bool, for_long: bool) -> int:
    """Use the pending mark; return the step that follows from it."""
    value = int(own[MARK])
    active_us = value >> 1
    early_us = 0 if own[MARKED_US] == 0 else max(0, 2 * (active_us - int(own[MARKED_US])) - OFTEN_US)
    own[MARK] = 0
    own[MARKED_US] = active_us
    if own[WAS_LIVING] > 0:
        own[WAS_LIVING] = 0
        own[LIVING_US] = active_us
    if own[WAS_JUDGED] > 0 or own[JUDGED_US] == 0 or in_asystole or value & 1 > 0:
        own[WAS_JUDGED] = 0
        own[JUDGED_US] = active_us
        return NOTHING
    blocks = (active_us + early_us - int(own[JUDGED_US])) * int(lengths[BLOCK_SAMPLES])
    if blocks > BLOCK_US * int(lengths[LONG_UNJUDGED_SAMPLES]):
        return NOTHING if for_long else CANNOT_FOR_LONG
    if blocks > BLOCK_US * int(lengths[UNJUDGED_SAMPLES]):
        return NOTHING if cannot or for_long else CANNOT_ANALYSE
    return NOTHING


def add_block(own: I64, end: int, kind: int) -> None:
    """Take a block: it is pending. It is ``FLAT`` if the alert of a flat line is on."""
    own[PENDING_END] = end
    own[PENDING_KIND] = kind


def silent_from(own: I64, last_beat: int, lengths: I64) -> int:
    """Return the sample at which a silence after the last beat reaches the limit of asystole."""
    late, block = max(last_beat, int(own[RESIZED_BY])) + int(lengths[ASYSTOLE_SAMPLES]), int(lengths[BLOCK_SAMPLES])
    if own[IS_LIVING] == 0:
        late = max(late, still_until(own, last_beat, lengths))
    if own[IS_SURE] == 0 and last_beat >= own[RHYTHM_BY]:  # there was no rhythm
        late += DOUBT_BLOCKS * block
    if own[BEHIND_DROPPED] > last_beat:
        late = max(late, int(own[BEHIND_DROPPED]) + WHOLE_BLOCKS * block)
    count = int(own[GAP_COUNT])
    for k in range(max(0, count - MOST_GAPS), count):
        at = FIRST_GAP + 2 * (k % MOST_GAPS)
        if own[at] < late:
            late = max(late, int(own[at + 1]) + WHOLE_BLOCKS * block)
    return late


def still_until(own: I64, begin: int, lengths: I64) -> int:
    """Return until when a lane that began at ``begin`` and had no beat is no silence: no lead has changed its value."""
    block = int(lengths[BLOCK_SAMPLES])
    still = int(own[PENDING_END]) if own[PENDING_KIND] & STILL > 0 else 0
    still = max(still, int(own[STILL_UNTIL]))
    if still > 0:
        return still + int(lengths[ASYSTOLE_SAMPLES]) + block  # what changes may be in the response of the block before
    return (-(-begin // block) + 1) * block  # the end of its first block


def add_gap(own: I64, start: int, stop: int, lengths: I64) -> None:
    """Take a hole of the samples that was bridged, in which a beat may have been."""
    block, count = int(lengths[BLOCK_SAMPLES]), int(own[GAP_COUNT])
    last = FIRST_GAP + 2 * ((count - 1) % MOST_GAPS)
    if count > 0 and NEAR_PER_BLOCK * (start - own[last + 1]) < block:
        own[last + 1] = max(int(own[last + 1]), stop)
        return
    at = FIRST_GAP + 2 * (count % MOST_GAPS)
    own[BEHIND_DROPPED] = own[at + 1]
    own[at] = start
    own[at + 1] = stop
    own[GAP_COUNT] = count + 1


def has_gap(own: I64, start: int, stop: int) -> bool:
    """Return True if a hole lies in a stretch."""
    count = int(own[GAP_COUNT])
    for k in range(max(0, count - MOST_GAPS), count):
        at = FIRST_GAP + 2 * (k % MOST_GAPS)
        if own[at] < stop and start < own[at + 1]:
            return True
    return False


def is_filled(own: I64, last_beat: int, lengths: I64) -> bool:
    """Return True if more than half of a block that is too fast lies behind the last beat: that is no silence."""
    return bool(own[FAST_BY] > 0 and 2 * own[FAST_BY] - lengths[BLOCK_SAMPLES] > 2 * last_beat)


def is_silence(own: I64) -> bool:
    """Return True if a silence that has reached its limit is an asystole; if not, blocks at rest will say so."""
    own[IS_TESTED] = 1
    return bool(own[IS_SURE] > 0 or own[RESTS] > 0)


def next_step(
    own: I64, last_beat: int, sample: int, lengths: I64, in_asystole: bool, cannot: bool, for_long: bool
) -> int:
    """Return the next step before ``sample``, up to which everything is decided; ``AT`` is where it belongs.

    Parameters
    ----------
    lengths
        The bank's row of the durations, in samples.
    in_asystole, cannot, for_long
        Whether these alerts are on.
    """
    while True:
        late, end = silent_from(own, last_beat, lengths), int(own[PENDING_END])
        if in_asystole or own[IS_TESTED] > 0:
            late = NEVER
        if end == 0:
            end = NEVER
        limit, step = NEVER, CANNOT_ANALYSE
        if not for_long:
            limit, step = int(own[JUDGED_UNTIL]) + int(lengths[LONG_UNJUDGED_SAMPLES]), CANNOT_FOR_LONG
            if not cannot:
                limit, step = int(own[JUDGED_UNTIL]) + int(lengths[UNJUDGED_SAMPLES]), CANNOT_ANALYSE
        mark = int(own[MARK_AT]) if own[MARK] > 0 else NEVER
        at = min(late, end, limit, mark)
        if at >= sample:
            return NOTHING
        own[AT] = at
        if late == at:
            if is_silence(own):
                judge(own, at)
                return ASYSTOLE_BEGINS
        elif end == at:
            step = settle_block(own, last_beat, lengths, in_asystole)
            if step != NOTHING:
                return step
        elif limit != at:
            step = settle_mark(own, lengths, in_asystole, cannot, for_long)
            if step != NOTHING:
                return step
        elif in_asystole:
            judge(own, at)
        else:
            return step


def settle_block(own: I64, last_beat: int, lengths: I64, in_asystole: bool) -> int:
    """Use the pending block; return the step that follows from it."""
    end, kind = int(own[PENDING_END]), int(own[PENDING_KIND])
    own[PENDING_END] = 0
    still = own[IS_LIVING] == 0 and kind & STILL > 0
    if still:
        own[STILL_UNTIL] = end
    begin = end - int(lengths[BLOCK_SAMPLES])
    if kind & BLIND == 0:
        own[ABSENT_UNTIL] = 0
    elif own[ABSENT_UNTIL] == 0:
        own[ABSENT_UNTIL] = end
    if kind & TOO_FAST > 0:
        own[FAST_BY] = end
    busy = (kind & BUSY > 0 and begin >= last_beat) or is_filled(own, last_beat, lengths)
    if busy or last_beat < own[ABSENT_UNTIL]:  # the lead that showed it may have been lost
        own[IS_SURE] = 0
    silent = begin >= last_beat and not still and not has_gap(own, begin, end)
    own[RESTS] = min(RESTS_NEEDED, int(own[RESTS]) + 1) if silent and kind & REST > 0 else 0
    begins = own[IS_TESTED] > 0 and not in_asystole and own[RESTS] == RESTS_NEEDED
    if begins or in_asystole or kind & (FLAT | WAVES) > 0:
        judge(own, end)
        return ASYSTOLE_BEGINS if begins else IS_JUDGED
    return NOTHING
