"""Arguments of the kernel that judges the rhythm of streams, and what it finds: see ``kernels.rhythms.rhythm``."""

from typing import NamedTuple

from beatwire.records.arrays import F32, F64, I32, I64, U8, U16, Bool


class RhythmBeats(NamedTuple):
    """The beats that events of kind BEAT name, as far as the judges read them.

    rr_s                      float64 [b]  NaN: unknown
    quality, expected_errors  float32 [b]; the errors are those that the trees expect
    most_errors               float32 [b], those of the trees or of the detector, whichever are more: rates read these
    normal                    float32 [b, NORMAL_MEASURES], of the normal beat, see ``kernels.classes.normal_beat``
    """

    rr_s: F64
    quality: F32
    expected_errors: F32
    most_errors: F32
    normal: F32


class RhythmMemory(NamedTuple):
    """The last beats and blocks of every slot.

    interval uint16 [slots, BEATS]    samples from the beat before to each of the last beats, a ring
    flags    uint8 [slots, BEATS]     of each, see ``kernels.rhythms.beat_ring``
    numbers  int64 [slots, NUMBERS]   see ``kernels.rhythms.rhythm``
    past     int32 [slots, COLUMNS]   slopes and artefacts of the last blocks, see ``kernels.rhythms.rest``
    """

    interval: U16
    flags: U8
    numbers: I64
    past: I32


class Rhythm(NamedTuple):
    """What was found of the beats of a tick.

    typical_rr_s  float64 [b, 3]  median of the last 16, 8 and 4 intervals; NaN: too few, or too much noise
    atrial        bool [b]        in atrial fibrillation
    certain       bool [b]        in atrial fibrillation by the last ``AF_CERTAIN`` decisions; ``atrial``: four
    possible      bool [b]        one of these four was for atrial fibrillation: what has begun goes on
    """

    typical_rr_s: F64
    atrial: Bool
    certain: Bool
    possible: Bool


class Judged(NamedTuple):
    """What the kernel writes.

    events    int64 [e, ORDERED_COLUMNS]  those given; the value of a BLOCK is the sum of what holds: ``FLAT``, ...
    rhythm    of the beats
    features  float32 [1 or e, FEATURES]  of each decision, in the row of its event if there are so many rows
    logit     float64 [e]                 of each decision; NaN: none
    """

    events: I64
    rhythm: Rhythm
    features: F32
    logit: F64
