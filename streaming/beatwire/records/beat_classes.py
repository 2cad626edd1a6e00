"""Arguments of the kernels that classify beats, grouped (``kernels.classes.beat_class``)."""

from typing import NamedTuple

from beatwire.records.arrays import F32, F64, I16, I32, I64, U8


class ClassBeats(NamedTuple):
    """The beats that events of kind BEAT name, as far as their class depends on them.

    rr_s, median_rr_s       float64 [b]  NaN: unknown
    prematurity             float32 [b]  1 - RR / usual RR; NaN: unknown
    quality                 float32 [b]
    expected_errors         float32 [b]  NaN: unknown
    shape                   int16 [b, SHAPE_LEADS, COLUMNS], see ``kernels.classes.beat_shape``
    """

    rr_s: F64
    median_rr_s: F64
    prematurity: F32
    quality: F32
    expected_errors: F32
    shape: I16


class ClassSettings(NamedTuple):
    """Limits in samples by bank, int64 [banks] each, and thresholds.

    block    after which the normal beat is found again
    memory   how long a beat is stored
    leads    of a bank, at most ``SHAPE_LEADS``
    least    float64 [2]  probability from which on a beat is ventricular, and supraventricular
    """

    block: I64
    memory: I64
    leads: I64
    least: F64


class ClassHistory(NamedTuple):
    """The last beats of each slot, circular lists, and its normal beat.

    sample   int32 [slots, PAST]                          R, see ``kernels.short_times``
    rr_s     float32 [slots, PAST]                        0: unknown
    ratio    float32 [slots, PAST]                        RR over the median of the RRs before it; 1: unknown
    usual    float32 [slots]                              the same over the usual RR of a minute, of the last beat
    match    float32 [slots, PAST]                        correlation of the QRS complex with that of the normal beat
    shape    uint8 [slots, PAST, SHAPE_LEADS, STORED_COLUMNS]  see ``kernels.classes.stored_shape``
    ring     int64 [slots, 3]                             ``HEAD``, ``COUNT``, ``BLOCK``
    normal   int16 [slots, SHAPE_LEADS, COLUMNS]          the normal beat
    known    float32 [slots, KNOWN]                       ``SHARE`` of the beats that it is the mean of (0: there is
                                                          none), ``SPREAD`` of the beats, ``USUAL_RR`` of them, and
                                                          ``REACH``: their squared distance from each other;
                                                          from ``STEADINESS`` on, of each lead, that of their P waves;
                                                          from ``P_SIZE`` on, of each lead, the size of that wave
    """

    sample: I32
    rr_s: F32
    ratio: F32
    usual: F32
    match: F32
    shape: U8
    ring: I64
    normal: I16
    known: F32


class ClassScratch(NamedTuple):
    """Scratch.

    shape     float32 [POINTS]                    of the beat, one lead, in units of the device
    normal    float32 [POINTS]                    the same of the normal beat
    total     int32 [POINTS]                      sum of shapes, in parts of a unit
    measures  float64 [SHAPE_LEADS, MEASURES]     of each lead
    shapes    int16 [PAST, SHAPE_LEADS, COLUMNS]  of the last beats
    numbers   float64 [2 + CANDIDATES, PAST]
    rows      int64 [PAST]
    chosen    int64 [CANDIDATES]
    features  float32 [b or 1, FEATURES]          of each beat, or of the last one
    """

    shape: F32
    normal: F32
    total: I32
    measures: F64
    shapes: I16
    numbers: F64
    rows: I64
    chosen: I64
    features: F32


class BeatClasses(NamedTuple):
    """The classes of ``b`` beats, and what other judgements read of them.

    beat_class    uint8 [b]              one of ``kernels.classes.beat_class``
    probability   float32 [b]            of the class; NaN: unknown
    measures      float32 [b, MEASURED]  see ``kernels.classes.beat_class``
    normal        float32 [b, NORMAL_MEASURES]  of the normal beat of the stream, see ``kernels.classes.normal_beat``
    """

    beat_class: U8
    probability: F32
    measures: F32
    normal: F32
