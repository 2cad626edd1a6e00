"""Arguments of the kernels that compare a beat with its stream's last minute, grouped (``kernels.scores.history``)."""

from typing import NamedTuple

from beatwire.records.arrays import F32, F64, I16, I64, U8, Bool


class BeatRuns(NamedTuple):
    """Which beats belong to which stream.

    run    int64 [n + 1]  where each stream's beats begin in the order
    order  int64 [b]      rows of beats
    """

    run: I64
    order: I64


class TimedBeats(NamedTuple):
    """Beats with the time in their streams' sessions, which have one rate.

    slot     int64 [b]
    time_s   float64 [b]
    rr_s     float64 [b]  NaN: unknown
    restart  bool [b]     remove the stream's history before this beat
    rate_hz  of the samples
    """

    slot: I64
    time_s: F64
    rr_s: F64
    restart: Bool
    rate_hz: float


class SizeHistory(NamedTuple):
    """The sizes of each slot's last beats, in any order.

    last  int64 [slots]           when the last beat with a size was, in ``1 / TICKS`` of a second
    time  int16 [slots, SIZES]    the same of each, see ``kernels.short_times``
    rr_s  float32 [slots, SIZES]  0: unknown
    size  float32 [slots, SIZES]  NaN: no beat
    """

    last: I64
    time: I16
    rr_s: F32
    size: F32


class BeatHistory(NamedTuple):
    """The latents and intervals of each slot's last beats, circular lists.

    time       int16 [slots, BEATS]             in ``1 / TICKS`` of a second, see ``kernels.short_times``
    rr         int16 [slots, BEATS]             samples; 0: unknown; negative: the beat has no latent
    latent     int16 [slots, BEATS, STORED]     in ``1 / LATENT_PARTS``; 0 where the beat has none
    closeness  uint8 [slots, BEATS]             of the reconstruction, in ``1 / CLOSENESS_PARTS``; 0: it has none
    ascending  uint8 [slots, BEATS]             places of the known intervals, these in ascending order
    ring       int64 [slots, RING_COLUMNS]      ``HEAD``, ``COUNT``, ``INTERVAL_COUNT``; ``LAST``: its last beat
    """

    time: I16
    rr: I16
    latent: I16
    closeness: U8
    ascending: U8
    ring: I64


class Comparison(NamedTuple):
    """How beats compare with their streams' last minute, float32 [b] each.

    distance      to the mean latent of the reference beats; NaN with fewer than four of these
    spread        of these about their mean, a root mean square; NaN as well
    prematurity   1 - RR over the 80 % quantile of the intervals before; NaN with fewer than four of these
    irregularity  1 - 20 % quantile over 80 % quantile; NaN as well
    usual_error   of the reconstruction of the reference beats; NaN with fewer than four of these
    """

    distance: F32
    spread: F32
    prematurity: F32
    irregularity: F32
    usual_error: F32
