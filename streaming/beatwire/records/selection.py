"""Arguments of the kernels that select beats and list them, grouped."""

from typing import NamedTuple

from beatwire.records.arrays import F32, F64, I32, I64, Bool


class BeatSettings(NamedTuple):
    """What makes a peak a beat, for a bank.

    floor        least response of a beat in a stream of one microvolt per unit
    probability  float64 [knots], see ``kernels.peaks.risk.beat_probability``; [1]: the rule decides, logits are not
                 read
    durations    int64 [3], columns ``QUIET_MARGIN``, ``LONGEST_RR``, ``RATE_WINDOW``
    marking      int64 [5], see ``kernels.detection.r_peak.mark_r``
    taps         int32 [2, half + 1], see ``kernels.detection.r_peak.mark_r``
    links        int64 [7], columns ``SHORTEST``, ... of ``kernels.detection.fast_rhythm``
    """

    floor: float
    probability: F64
    durations: I64
    marking: I64
    taps: I32
    links: I64


class LaneBeats(NamedTuple):
    """The beats of the lanes of a pass; only the first ``counts`` entries of a row are set.

    counts  int64 [n]
    listed  int64 [n]             blocks that became complete, and denied peaks
    denied  int64 [n, most]       peaks that the trees call beats and the network does not; of a fast rhythm none. One
                                  of another size than the beats but of their shape: ``~`` its sample
    ints    int64 [n, most, 3]    R, peak of the response, whether the lane began since the last beat
    floats  float64 [n, most, 5]  RR and median RR in samples, response, quality, and the errors expected in the ten
                                  seconds up to the peak; NaN: unknown
    """

    counts: I64
    listed: I64
    denied: I64
    ints: I64
    floats: F64


class BeatPlaces(NamedTuple):
    """Where the samples around the beats of a pass are: int64 [b] each; ``base`` is the first sample of the lane."""

    lane: I64
    slot: I64
    base: I64


class ListedBeats(NamedTuple):
    """The beats of a pass, by lane and in order: the columns of ``records.Beats``."""

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


class ListedBlocks(NamedTuple):
    """The blocks of a pass that became complete, int64 [k] each, by lane and in order.

    row   of the lane in the pass
    end   sample after the block
    kind  0, or what ``kernels.rhythms.flutter`` found: ``FLAT``, ``WAVES``; ``NO_BLOCK``: a denied peak is at ``end``;
          ``RESIZED``: one of another size than the beats but of their shape
    """

    row: I64
    end: I64
    kind: I64


class FlatLimits(NamedTuple):
    """Below which size a block is flat.

    unit_response  response of a beat-shaped wave of one unit
    flat_uv        size in microvolts, of a calibrated stream
    flat_units     size in units, of another
    """

    unit_response: float
    flat_uv: float
    flat_units: float
