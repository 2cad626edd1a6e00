"""Beats: which peaks are heartbeats, where exactly their R is, and their intervals.

In:    Peaks, classified or not
Out:   Beats, and the blocks that became complete
State: for each bank int64 ``lanes[lanes, BEAT_STATE_COLUMNS]`` (``kernels.detection.intervals``; xp): the last beat,
       the last eight intervals, the last eight stretches in which no beat may be, and whether the rhythm is fast

With trees, a peak is a beat if its logit is above 0 and its response exceeds 0.09 of the 80 % quantile of the last ten
2-s maxima. Without trees it is one if its response exceeds 0.3 of the level: the median of the last five maxima, or 0.3
of that quantile if that is more. In a calibrated stream it also exceeds the response to a wave of ``floor_uv``.

In a fast rhythm, above 200 a minute, beats follow each other faster than peaks can: then waves between peaks are beats
too, and what belongs to the rhythm is one whatever its logit (``kernels.detection.fast_rhythm``).
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from beatwire.backends.base import Backend, Table
from beatwire.backends.cpu import CPU
from beatwire.kernels.detection.fast_rhythm import APART, LINK_S
from beatwire.kernels.detection.intervals import BEAT_STATE_COLUMNS
from beatwire.kernels.detection.r_peak import PADDING
from beatwire.kernels.rhythms.flutter import POINTS
from beatwire.records import F64, I32, Bank, Beats, Peaks
from beatwire.records.columns import BEAT_FLOATS, BEAT_INTS, LOGIT_COLUMNS
from beatwire.records.selection import BeatPlaces, BeatSettings, FlatLimits, LaneBeats, ListedBeats, ListedBlocks
from beatwire.stages.support.filters import Design, filter_for, half_up
from beatwire.stages.support.room import grown_of

LINE = 16  # int32 of a line of the CPU's cache: rows of scratch begin with one
BLOCK_TYPES = (np.int64, np.int64, np.int64)  # of ``ListedBlocks``
PLACE_TYPES = (np.int64, np.int64, np.int64)  # of ``BeatPlaces``
BEAT_TYPES = (np.int64, np.int64, np.int64, np.float64, np.float64, *(np.float32,) * 4, np.bool_)


@dataclass(frozen=True, slots=True)
class Settings:
    """What makes a peak a beat; times in seconds.

    design             of the filter whose peaks these are
    probability        of a beat by its logit, see ``kernels.peaks.risk.beat_probability``; [1]: the rule decides
    narrow, wide       wavelets of the same length by which R is marked, see ``kernels.detection.r_peak``
    before_s, after_s  how far R may lie before and after its peak
    near_s             how far the wide wavelet may move it
    quiet_margin_s     on both sides of a stretch in which no beat may be
    longest_rr_s       a longer interval is unknown
    rate_window_s      age of the oldest interval in the median
    floor_uv           size of the smallest Ricker-shaped wave that is a beat, in a calibrated stream
    flat_uv            size of the largest wave of a block without signal; ``flat_units`` if it is not calibrated
    block_s            length of a block
    right_s            what a peak is compared with behind it, see ``stages.detection.nms``
    """

    design: Design
    probability: F64 = field(default_factory=lambda: np.zeros(1))
    narrow: Design = field(default_factory=lambda: Design(0.018, 0.050))
    wide: Design = field(default_factory=lambda: Design(0.030, 0.050))
    before_s: float = 0.04
    after_s: float = 0.02
    near_s: float = 0.008
    quiet_margin_s: float = 0.06
    longest_rr_s: float = 30.0
    rate_window_s: float = 40.0
    floor_uv: float = 60.0
    flat_uv: float = 4.0
    flat_units: float = 1.0
    block_s: float = 2.0
    right_s: float = 0.22


@dataclass(frozen=True, slots=True)
class BankSettings:
    """The settings of a bank, in samples.

    selection     arrays are xp
    flat          limits of a block without signal
    before        how far R may lie before its peak
    quiet_margin  on both sides of a stretch in which no beat may be
    block         length of a block
    apart         least distance of two beats
    scratch       columns of the scratch in which R is marked
    """

    selection: BeatSettings
    flat: FlatLimits
    before: int
    quiet_margin: int
    block: int
    apart: int
    scratch: int


@dataclass(slots=True)
class State:
    """By number of the bank, settings and lanes (xp); ``work``, ``points``: scratch."""

    settings: Settings
    backend: Backend = CPU
    banks: dict[int, BankSettings] = field(default_factory=dict)
    lanes: dict[int, Any] = field(default_factory=dict)
    work: I32 = field(default_factory=lambda: np.zeros((3, 0), np.int32))
    points: I32 = field(default_factory=lambda: np.zeros((1, POINTS), np.int32))


def step(state: State, peaks: Peaks) -> tuple[State, Beats]:
    """Select the beats among the peaks of one pass."""
    fresh, bank, backend = peaks.fresh, peaks.fresh.bank, state.backend
    if len(state.settings.probability) > 1 and peaks.logits is None:
        raise ValueError("beats: expected peaks with logits; got peaks that were not classified")
    if bank.number not in state.banks:
        state.banks[bank.number] = _bank_settings(state, bank)
    s = state.banks[bank.number]
    found = _select(state, s, peaks)
    n = len(fresh.lane)
    most = fresh.most_in(s.apart)
    first, total = backend.positions("beats", n, found.counts, most)
    places = backend.table("lanes of beats", total, PLACE_TYPES)
    listed = backend.table("beats", total, BEAT_TYPES)
    delay = int((fresh.stop - peaks.watermark)[0]) if n else 0
    backend.kernels.list_beats(
        n, first, found, fresh.lanes, bank.rate_hz, delay, BeatPlaces(*places.columns), ListedBeats(*listed.columns)
    )
    return state, Beats(
        fresh, peaks.watermark - s.before, total, first, peaks.rings.x, listed, _blocks(state, s, peaks, found),
        *places.columns, *listed.columns,
    )  # fmt: skip


def _select(state: State, s: BankSettings, peaks: Peaks) -> LaneBeats:
    """Return the beats of each lane, and store the quiet stretches of the pass."""
    fresh, backend, number = peaks.fresh, state.backend, peaks.fresh.bank.number
    lanes = grown_of(state.lanes, number, backend, (len(peaks.rings.f), BEAT_STATE_COLUMNS), np.int64)
    if state.work.shape[1] < s.scratch:
        state.work = np.zeros((3, s.scratch), np.int32)
    quiet = fresh.quiet
    n, most = len(fresh.lane), fresh.longest // s.apart + 2
    found = LaneBeats(
        backend.buffer("count", (n,), np.int64),
        backend.buffer("blocks and denied", (n,), np.int64),
        backend.buffer("denied", (n, peaks.table.peaks.shape[1]), np.int64),
        backend.buffer("samples", (n, most, BEAT_INTS), np.int64),
        backend.buffer("floats", (n, most, BEAT_FLOATS), np.float64),
    )
    logits = backend.buffer("no logits", (n, 1, LOGIT_COLUMNS), np.float64) if peaks.logits is None else peaks.logits
    backend.kernels.select_beats(
        n,
        fresh.lanes,
        peaks.table,
        quiet,
        fresh.uv_per_unit,
        logits,
        s.selection,
        peaks.rings,
        lanes,
        state.work,
        found,
    )
    if len(quiet):
        backend.kernels.store_quiet(len(quiet), quiet, s.quiet_margin, lanes)
    return found


def _blocks(state: State, s: BankSettings, peaks: Peaks, found: LaneBeats) -> Table:
    """Return the table of ``ListedBlocks``: blocks of the pass that became complete, their kinds, and denied peaks."""
    fresh, backend = peaks.fresh, state.backend
    n = len(fresh.lane)
    first, total = backend.positions("blocks", n, found.listed, sum(peaks.most))
    table = backend.table("blocks", total, BLOCK_TYPES)
    blocks = ListedBlocks(*table.columns)
    backend.kernels.list_blocks(n, first, peaks.table, found, fresh.uv_per_unit, s.flat, blocks)
    backend.kernels.find_waves(total, blocks, fresh.lanes, s.block, peaks.rings.x, state.points)
    return table


def _bank_settings(state: State, bank: Bank) -> BankSettings:
    """Turn seconds into the samples of a bank."""
    s, constant = state.settings, state.backend.constant
    detection = filter_for(s.design, bank.rate_hz, bank.leads)
    before, after, near = (half_up(d * bank.rate_hz) for d in (s.before_s, s.after_s, s.near_s))
    marking = np.array([before, after, near, 2 * detection.box + 1, detection.shift], np.int64)
    durations = [half_up(d * bank.rate_hz) for d in (s.quiet_margin_s, s.longest_rr_s, s.rate_window_s)]
    taps = np.stack([filter_for(d, bank.rate_hz, 1).taps for d in (s.narrow, s.wide)])
    links = [half_up(d * bank.rate_hz) for d in LINK_S] + [detection.delay + half_up(s.right_s * bank.rate_hz)]
    scratch = before + after + 1 + 2 * taps.shape[1] + PADDING + 2  # filters write a little beyond
    return BankSettings(
        selection=BeatSettings(
            floor=s.floor_uv * detection.unit,
            probability=constant(s.probability),
            durations=constant(np.array(durations, np.int64)),
            marking=constant(marking),
            taps=constant(taps),
            links=constant(np.array(links, np.int64)),
        ),
        flat=FlatLimits(detection.unit, s.flat_uv, s.flat_units),
        before=before,
        quiet_margin=durations[0],
        block=half_up(s.block_s * bank.rate_hz),
        apart=links[APART] + 1,
        scratch=-(-scratch // LINE) * LINE,
    )
