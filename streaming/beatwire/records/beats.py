"""Records of heartbeats: from classified peaks to messages."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, SupportsIndex

import numpy as np

from beatwire.records.arrays import F32, F64, I16, I64, U8, Bool
from beatwire.records.rhythm import Rhythm
from beatwire.records.samples import Aligned, Fresh
from beatwire.records.ventricular import Ventricular

RISK_PER_ERROR, MOST_ERRORS = 0.001, 10.0  # of a beat that looks certain, for each error that the trees expect


@dataclass(frozen=True, slots=True)
class Beats:
    """Heartbeats of one bank and pass, ``b`` of them, by lane and in order (all xp, see ``backends.base.Table``).

    fresh, watermark        the lanes of the pass, and the sample before which the beats of each are complete
    total                   ``b``, a number of the host or of the device
    first                   int64 [n + 1], first beat of each row of ``fresh``
    x                       int16 [lanes, leads, R], the rings
    lane, slot, base        int64 [b], row in the rings, slot and first sample of the lane of each beat
    listed                  the following columns as a table, see ``records.selection.ListedBeats``
    row                     int64 [b], row of its lane in ``fresh``
    sample                  int64 [b], R
    decided                 int64 [b], newest sample that the decision depends on
    rr_s, median_rr_s       float64 [b], NaN: none
    response, quality       float32 [b]
    expected_errors         float32 [b], in the ten seconds up to the beat; NaN: unknown
    disturbance             float32 [b], those that the trees alone expect; the rules and judges read it
    restart                 bool [b], the first beat since its lane began
    blocks                  table of the blocks that became complete, see ``records.selection.ListedBlocks``
    """

    fresh: Fresh
    watermark: I64
    total: SupportsIndex
    first: Any
    x: Any
    listed: Any
    blocks: Any
    lane: I64
    slot: I64
    base: I64
    row: I64
    sample: I64
    decided: I64
    rr_s: F64
    median_rr_s: F64
    response: F32
    quality: F32
    expected_errors: F32
    disturbance: F32
    restart: Bool


@dataclass(frozen=True, slots=True)
class Windows:
    """What was cut out of the rings around each beat (all xp).

    windows    float32 [b, 256], the input of the network, see ``kernels.detection.windows``
    amplitude  float32 [b], of the windows
    shapes     table of one column, int16 [b, SHAPE_LEADS, COLUMNS], see ``kernels.classes.beat_shape``
    """

    beats: Beats
    windows: Any
    amplitude: Any
    shapes: Any


class Terms(NamedTuple):
    """The terms of the score of ``b`` beats (``stages.score``), as kernels take them; NaN: unknown.

    population, history, prematurity, rate_term  float32 [b]
    early                                        float32 [b]  prematurity as people read it: 1 - RR / usual RR
    reconstruction_error                         float32 [b]  of the network, from which ``population`` is computed
    latent                                       float32 [b, 8]
    """

    population: F32
    history: F32
    prematurity: F32
    rate_term: F32
    early: F32
    reconstruction_error: F32
    latent: F32


@dataclass(frozen=True, slots=True)
class HistoryFeatures:
    """The beats of a pass, the table of their ``Terms`` and that of their shapes, see ``Windows``.

    overloaded  the scoring model has not seen them
    """

    beats: Beats
    terms: Any
    shapes: Any
    overloaded: bool = False


@dataclass(frozen=True, slots=True)
class TickBeats:
    """All heartbeats of a tick, ``b`` of them, by pass, bank and lane: those of a stream in order.

    slot, session, sample, decided   int64 [b]
    time_us, arrived_us              int64 [b], device time of R, arrival of its stream's last chunk
    rate_hz, rr_s, median_rr_s       float64 [b]
    response, quality                float32 [b]
    expected_errors                  float32 [b], in the ten seconds up to the beat; NaN: unknown
    disturbance                      float32 [b], those that the trees alone expect; the rules and judges read it
    restart                          bool [b], the first beat after a restart of its stream
    terms                            of the score of each beat
    shape                            int16 [b, SHAPE_LEADS, COLUMNS], see ``kernels.classes.beat_shape``
    events                           int64 [e, 6], columns ``ORDERED_...``: all events, by slot and in order
    run                              int64 [n + 1], first event of each stream that has events, and their number; None:
                                     unknown
    overloaded                       beats are not scored

    From the score stage on (``None`` before):

    score, prematurity               float32 [b], NaN: none
    scored_by                        uint8 [b], see ``stages.score``
    anomalous                        bool [b]
    latent                           float32 [b, 8], of the network; NaN: none
    reconstruction_error             float32 [b], of the network; NaN: none
    beat_class                       uint8 [b], see ``kernels.classes.beat_class``; from the beat_class stage on
    class_probability                float32 [b], of that class; NaN: unknown
    class_measures                   float32 [b, MEASURED], see ``kernels.classes.beat_class``
    normal_measures                  float32 [b, NORMAL_MEASURES], of the normal beat, see
                                     ``kernels.classes.normal_beat``

    From the ventricular stage on (``None`` before):

    ventricular                      whether the last beats are a ventricular run, for each beat

    From the rhythm stage on (``None`` before):

    rhythm                           rates and atrial fibrillation, of each beat
    """

    aligned: Aligned
    slot: I64
    session: I64
    sample: I64
    decided: I64
    time_us: I64
    arrived_us: I64
    rate_hz: F64
    rr_s: F64
    median_rr_s: F64
    response: F32
    quality: F32
    expected_errors: F32
    disturbance: F32
    restart: Bool
    terms: Terms
    shape: I16
    events: I64
    run: I64 | None = None
    overloaded: bool = False
    score: F32 | None = None
    prematurity: F32 | None = None
    scored_by: U8 | None = None
    anomalous: Bool | None = None
    latent: F32 | None = None
    reconstruction_error: F32 | None = None
    beat_class: U8 | None = None
    class_probability: F32 | None = None
    class_measures: F32 | None = None
    normal_measures: F32 | None = None
    ventricular: Ventricular | None = None
    rhythm: Rhythm | None = None

    @property
    def most_errors(self) -> F32:
        """Return the errors that the trees expect, or those that are left, whichever are more; NaN: unknown."""
        most: F32 = np.maximum(self.disturbance, self.expected_errors)
        return most

    @property
    def published_quality(self) -> F32:
        """Return the quality as people read it: what looks certain is less so in a disturbance.

        The rules and judges read ``quality``, which looks back less far.
        """
        errors = np.minimum(np.nan_to_num(self.disturbance), MOST_ERRORS)
        reduced: F32 = (self.quality * (1 - RISK_PER_ERROR * errors)).astype(np.float32, copy=False)
        return reduced


@dataclass(frozen=True, slots=True)
class Alerts:
    """Transitions of alerts in a tick, one dict for JSON each, and the beats of the tick.

    slots, stretches  one for each transition: of its stream, and restarts of the stream in the tick up to it; from the
           lifecycle stage on they are empty
    audit  records of the audit log, one dict for JSON each
    """

    beats: TickBeats
    transitions: list[dict[str, Any]]
    slots: list[int] = field(default_factory=list)
    stretches: list[int] = field(default_factory=list)
    audit: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Messages of one topic: keys, values and headers of each; they may be made when they are taken.

    ``records`` is the number of records that they contain, where that is not one each (``wire.dead_letters``).
    ``tombstones``: they have no values, and remove what compacted topics have under their keys. ``at_us`` is the time
    of their tick by the broker's clock, which becomes that of those with headers; 0: they have that of their sending.
    """

    topic: str
    keys: Sequence[bytes | None]
    values: Sequence[bytes]
    headers: list[list[tuple[str, bytes]]] | None = None
    records: int | None = None
    tombstones: bool = False
    at_us: int = 0

    def __len__(self) -> int:
        if self.tombstones:
            return 0
        return len(self.values) if self.records is None else self.records
