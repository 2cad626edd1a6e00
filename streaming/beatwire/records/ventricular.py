"""Arguments of the kernel that judges whether the last beats of a stream are ventricular."""

from typing import NamedTuple

from beatwire.records.arrays import F32, F64, I64


class VentricularBeats(NamedTuple):
    """The beats that events of kind BEAT name, as far as the judge reads them.

    rr_s, median_rr_s         float64 [b]            NaN: unknown
    quality, expected_errors  float32 [b]            NaN of the second: unknown
    measures                  float32 [b, MEASURED]  see ``kernels.classes.beat_class``
    """

    rr_s: F64
    median_rr_s: F64
    quality: F32
    expected_errors: F32
    measures: F32


class VentricularMemory(NamedTuple):
    """The last beats of every slot.

    beats   float32 [slots, PAST, COLUMNS]           the oldest first, see ``kernels.rhythms.ventricular``
    recent  float32 [slots, RECENT, RECENT_COLUMNS]  further measures of the last of them
    sample  int64 [slots, PAST]                      of each
    kept    int64 [slots]                            how many there are
    """

    beats: F32
    recent: F32
    sample: I64
    kept: I64


class Ventricular(NamedTuple):
    """What was found of the beats of a tick.

    tachycardia  float64 [b]  logit that the last beats are of a ventricular tachycardia; NaN: not judged
    run          float64 [b]  logit that the last three beats are a ventricular run; NaN: not judged
    mean_rr_s    float64 [b]  mean of the last four intervals; NaN: unknown
    """

    tachycardia: F64
    run: F64
    mean_rr_s: F64
