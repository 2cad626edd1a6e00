"""Arguments of the kernels of drift and of the alert rules, grouped."""

from typing import NamedTuple

from beatwire.records.arrays import F32, F64, I64, U8, Bool


class Borders(NamedTuple):
    """The quantities of a beat as the reference measures them; a quantity has one bin more than borders.

    centre                float64 [8]     of the latents
    whitener              float64 [8, 8]  ``(latent - centre) @ whitener`` has unit covariance
    score                 float64 [s]
    latents               float64 [8, l]
    radius                float64 [q]
    reconstruction_error  float64 [q]
    """

    centre: F64
    whitener: F64
    score: F64
    latents: F64
    radius: F64
    reconstruction_error: F64


class DriftState(NamedTuple):
    """The beats of the last blocks of every slot, and the last comparison.

    counts    uint8 [slots, DRIFT_BLOCKS, bins]  of the current block, the one before, ...
    block     int64 [slots]                      number of the current block
    distance  float64 [slots]                    last comparison, -1: too few beats
    above     bool [slots]                       whether that was above the limit
    """

    counts: U8
    block: I64
    distance: F64
    above: Bool


class Crossings(NamedTuple):
    """Events of drift; those of run ``i`` begin in row ``BLOCKS_TO_EMPTY * run[i]``.

    counts int64 [runs]   events of each run
    place  int64 [.]      before which event of the tick each belongs
    rows   int64 [., 5]   slot, session, kind, sample, value (distance in thousandths, negative where drift ends)
    """

    counts: I64
    place: I64
    rows: I64


class RuleBeats(NamedTuple):
    """The beats that events of kind BEAT name, as far as rules read them.

    rr_s          float64 [b]     NaN: unknown, or in too much noise for a pause
    typical_rr_s  float64 [b, 3]  median of the last 16, 8 and 4 intervals; NaN: unknown
    atrial        bool [b]        in atrial fibrillation
    atrial_possible  bool [b]     one of the last decisions was for it
    anomalous     bool [b]        scored as anomalous
    errors        float32 [b]     expected in the ten seconds before; NaN: unknown
    noisy         bool [b]        with so many errors that no rule of beats begins
    sure          bool [b]        certainly a beat, and few errors: silence after it is silence of the heart
    faint         bool [b]        far smaller than the normal beat of the stream, and of another shape
    unrelated     bool [b]        half of the stream's beats are as unlike each other as unrelated signals
    beat_class    uint8 [b]       see ``kernels.classes.beat_class``
    tachycardia   float64 [b]     logit that the last beats are of a ventricular tachycardia; NaN: not judged
    run           float64 [b]     logit that the last three beats are a ventricular run; NaN: not judged
    mean_rr_s     float64 [b]     mean of the last four intervals; NaN: unknown
    """

    rr_s: F64
    typical_rr_s: F64
    atrial: Bool
    atrial_possible: Bool
    anomalous: Bool
    errors: F32
    noisy: Bool
    sure: Bool
    faint: Bool
    unrelated: Bool
    beat_class: U8
    tachycardia: F64
    run: F64
    mean_rr_s: F64


class Transitions(NamedTuple):
    """Transitions of the alerts of a stream.

    rows    int64 [., TRANSITION_COLUMNS]
    value   float64 [.]                    what was found, in the unit of the rule's limit
    """

    rows: I64
    value: F64


class TransitionRoom(NamedTuple):
    """Room for the transitions of each stream of a tick; the first ones of all streams are beside each other.

    Few streams have transitions in a tick. So few pages of ``rows`` are ever used, though each stream has room for
    more than an event can cause.

    counts    int64 [runs]                          transitions of each run, written
    rows      int64 [room, lanes, TRANSITION_COLUMNS]  row ``k`` of run ``i`` is ``rows[k, i]``
    value     float64 [room, lanes]
    progress  int64 [lanes, 4]                      of a run that needs more room: its events that have been applied,
                                                    its restarts among them, limits and bank in force; of another 0
    """

    counts: I64
    rows: I64
    value: F64
    progress: I64
