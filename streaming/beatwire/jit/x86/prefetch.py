"""Prefetch the memory of an item: ``name(i, ...)`` takes the arguments of the body of that name.

A tick of many streams reads more memory than the second cache holds, and processors do not predict the row of the next
stream. So a loop over items prefetches the cache lines of the next item while it works on this one (``jit.cpu``): a
quarter of the graph's time was waiting for memory. A line that is prefetched in vain does no harm.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from beatwire.jit.x86.llvm import function
from beatwire.kernels.classes.normal_beat import COUNT as STORED
from beatwire.kernels.classes.normal_beat import HEAD, PAST
from beatwire.kernels.detection.fast_rhythm import LONGEST, SHORTEST
from beatwire.kernels.detection.windows import EARLIEST_S, LATEST_S
from beatwire.kernels.intake import groups
from beatwire.kernels.intake.clock import FIRST_ANCHOR, OF_ANCHOR
from beatwire.kernels.intake.directory import SLOT
from beatwire.kernels.peaks.past_samples import BLOCK_BYTES, span_of
from beatwire.kernels.peaks.peak_features import LOG_COLUMNS, MS230, PAST_PEAKS
from beatwire.kernels.scores.history import COUNT, INTERVAL_COUNT
from beatwire.records import F32, F64, I16, I32, I64, U8, Bool
from beatwire.records.alerting import Crossings, DriftState, RuleBeats, TransitionRoom
from beatwire.records.alignment import AlignChunks, StreamIds, StreamState
from beatwire.records.beat_classes import BeatClasses, ClassBeats, ClassHistory, ClassScratch, ClassSettings
from beatwire.records.classification import FeatureSettings, JudgeTrees, PeakMemory, Trees
from beatwire.records.columns import CHUNK_ID_HASH, ORDERED_SLOT, PEAK_SAMPLE, PLACE_COUNT, PLACE_FIRST, PLACE_LANE
from beatwire.records.detection import FreshLanes, LevelLimits, PeakSearch, PeakTable, ResponseFilter, Rings
from beatwire.records.history import BeatHistory, BeatRuns, Comparison, SizeHistory, TimedBeats
from beatwire.records.hum import Hum, HumFilter
from beatwire.records.rhythm import Judged, RhythmBeats, RhythmMemory
from beatwire.records.selection import BeatSettings, ListedBlocks
from beatwire.records.ventricular import Ventricular, VentricularBeats, VentricularMemory
from beatwire.records.waveform import WaveGrid

LINE = 64  # bytes of a cache line
MOST = 640  # samples of a ring prefetched at most: more would evict lines that are in use
FAR = 8  # chunks: so far ahead of the present one the table of streams is prefetched
AROUND = 64  # samples on either side of a peak, within which its R is

Array = np.ndarray[Any, Any]


@intrinsic  # type: ignore[untyped-decorator]
def _prefetch(_: Any, row: Any, first: Any, n: Any) -> Any:
    """Prefetch the lines of ``row[first : first + n]``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        start = make_array(signature.args[0])(context, builder, arguments[0]).data
        i32, i64, pointer = ir.IntType(32), ir.IntType(64), ir.IntType(8).as_pointer()
        instruction = function(builder, "llvm.prefetch.p0", ir.VoidType(), pointer, i32, i32, i32)
        place = builder.bitcast(builder.gep(start, [arguments[1]]), pointer)
        size = builder.mul(arguments[2], i64(context.get_abi_sizeof(context.get_value_type(row.dtype))))
        with cgutils.for_range_slice(builder, i64(0), size, i64(LINE)) as (at, _):
            builder.call(instruction, [builder.gep(place, [at]), i32(0), i32(3), i32(1)])
        return context.get_dummy_value()

    return types.void(row, first, n), generate


def row_of(values: Array, n: int) -> None:
    """Prefetch ``values[:n]``."""
    _prefetch(values, 0, min(n, len(values)))


def stretch_of(ring: Array, first: int, n: int) -> None:
    """Prefetch samples ``[first, first + n)`` of a ring, up to its last column."""
    column = first % len(ring)
    _prefetch(ring, column, min(n, MOST, len(ring) - column))


def find_slot(i: int, _payload: U8, ints: I64, table: I64, streams: StreamIds, _slot: I64) -> None:
    """Prefetch the row of the table of a chunk behind this one, and of a nearer one the id that stands there."""
    last, mask = len(ints) - 1, len(table) - 1
    row_of(table[ints[min(i + FAR, last), CHUNK_ID_HASH] & mask], table.shape[1])
    slot = table[ints[min(i + FAR // 2, last), CHUNK_ID_HASH] & mask, SLOT]
    if slot >= 0:
        row_of(streams.ids[slot], streams.ids.shape[1])
        row_of(streams.size[slot:], 1)


def foresee(i: int, chunks: AlignChunks, streams: StreamState) -> None:
    """Prefetch the state of the stream of a chunk."""
    slot = chunks.slot[i]
    if slot >= 0:
        row_of(streams.slots[slot], streams.slots.shape[1])
        row_of(streams.anchors[slot], FIRST_ANCHOR + OF_ANCHOR)


def write_samples(i: int, place: I64, _payload: Array, x: I16) -> None:
    """Prefetch the columns that a placement writes."""
    stretch_of(x[place[i, PLACE_LANE], 0], place[i, PLACE_FIRST], abs(place[i, PLACE_COUNT]))


def take_out_hum(
    i: int, fresh: FreshLanes, _marked: Bool, _quiet: I64, _uv_per_unit: F64, hum_filter: HumFilter, hum: Hum, x: I16
) -> None:
    """Prefetch the new samples, the span that they end, and the amplitudes and sines of the first lead."""
    lane, start, span = fresh.lane[i], fresh.start[i], hum_filter.tables.shape[1]
    stretch_of(x[lane, 0], start - span, fresh.stop[i] - start + span)
    row_of(hum.amplitudes[lane, 0, 0], 1)
    row_of(hum.amplitudes[lane, 0, hum.amplitudes.shape[2] - 1], 1)
    row_of(hum.sines[lane, 0, 0], 1)


def respond(
    i: int, fresh: FreshLanes, response_filter: ResponseFilter, _limits: LevelLimits, rings: Rings, _work: I32
) -> None:
    """Prefetch the new samples, those that their responses reach back to, and the responses to write."""
    lane, start, n = fresh.lane[i], fresh.start[i], fresh.stop[i] - fresh.start[i]
    early = response_filter.taps.shape[0] + response_filter.box
    stretch_of(rings.x[lane, 0], start - 2 * early, n + 2 * early)
    stretch_of(rings.f[lane], start - early, n)


def suppress(
    i: int, fresh: FreshLanes, search: PeakSearch, _limits: LevelLimits, f: I32, maxima: I64, _work: I32,
    _table: PeakTable,
) -> None:  # fmt: skip
    """Prefetch the responses that are compared, and the lane's block maxima."""
    lane, start = fresh.lane[i], fresh.start[i]
    early = search.delay + search.left + search.right
    stretch_of(f[lane], start - early, fresh.stop[i] - start + early - search.delay)
    row_of(maxima[lane], maxima.shape[1])


def store_past(i: int, fresh: FreshLanes, grid: WaveGrid, x: I16, past: U8, _work: I32) -> None:
    """Prefetch the samples of the blocks that are written, and the blocks."""
    lane, first, n = fresh.lane[i], fresh.start[i] - grid.recent, fresh.stop[i] - fresh.start[i]
    span = span_of(grid)
    stretch_of(x[lane, 0], first - span, n + span)
    for k in range(first // span, (first + n) // span):
        row_of(past[lane, 0, k % past.shape[2]], BLOCK_BYTES)


def classify_peaks(
    i: int, fresh: FreshLanes, peaks: PeakTable, settings: FeatureSettings, rings: Rings, _trees: Trees,
    memory: PeakMemory, *_written: Array,
) -> None:  # fmt: skip
    """Prefetch the surroundings of the first peak, and the peaks before it."""
    if peaks.found[i] > 0:
        lane, early, c = fresh.lane[i], settings.spans[MS230], peaks.peaks[i, 0, PEAK_SAMPLE]
        stretch_of(rings.x[lane, 0], c - early, 2 * early)
        stretch_of(rings.f[lane], c - early, 2 * early)
        row_of(memory.log[lane], LOG_COLUMNS)
        row_of(memory.sample[lane], PAST_PEAKS)
        row_of(memory.past[lane, 0], memory.past.shape[1] * memory.past.shape[2])


def select_beats(
    i: int, fresh: FreshLanes, peaks: PeakTable, _quiet: I64, _uv_per_unit: F64, _logits: F64, settings: BeatSettings,
    rings: Rings, state: I64, *_written: Any,
) -> None:  # fmt: skip
    """Prefetch the wave of the first peak, the responses before it, and the lane's beats."""
    if peaks.found[i] > 0:
        lane, c, longest = fresh.lane[i], peaks.peaks[i, 0, PEAK_SAMPLE], settings.links[LONGEST]
        stretch_of(rings.x[lane, 0], c - AROUND, 2 * AROUND)
        stretch_of(rings.f[lane], c - longest, longest - settings.links[SHORTEST])
        row_of(state[lane], state.shape[1])


def find_waves(i: int, blocks: ListedBlocks, fresh: FreshLanes, length: int, x: I16, *_written: Array) -> None:
    """Prefetch the samples of a block."""
    stretch_of(x[fresh.lane[blocks.row[i]], 0], blocks.end[i] - length, length)


def cut_window(i: int, lane: I64, at: I64, _decided: I64, _base: I64, rate_hz: float, x: I16, *_written: Array) -> None:
    """Prefetch the samples of a window."""
    early = int(EARLIEST_S * rate_hz)
    stretch_of(x[lane[i], 0], at[i] - early, early + int(LATEST_S * rate_hz))


def find_usual_size(
    i: int, runs: BeatRuns, beats: TimedBeats, _amplitude: F32, history: SizeHistory, _usual_size: F32
) -> None:
    """Prefetch the sizes of the stream's last beats."""
    if runs.run[i] < runs.run[i + 1]:
        slot = beats.slot[runs.order[runs.run[i]]]
        row_of(history.time[slot], history.time.shape[1])
        row_of(history.rr_s[slot], history.rr_s.shape[1])
        row_of(history.size[slot], history.size.shape[1])


def compare_with_history(
    i: int, runs: BeatRuns, beats: TimedBeats, _latent: F32, _error: F32, _embedded: Array, history: BeatHistory,
    _found: Comparison,
) -> None:  # fmt: skip
    """Prefetch the beats of the stream's last minute."""
    if runs.run[i] < runs.run[i + 1]:
        slot = beats.slot[runs.order[runs.run[i]]]
        row_of(history.rr[slot], history.rr.shape[1])
        row_of(history.latent[slot, 0], history.ring[slot, COUNT] * history.latent.shape[2])
        row_of(history.closeness[slot], history.closeness.shape[1])
        row_of(history.ascending[slot], history.ring[slot, INTERVAL_COUNT])


def classify_beats(
    i: int, run: I64, events: I64, _beats: ClassBeats, _settings: ClassSettings, _trees: Trees,
    history: ClassHistory, _work: ClassScratch, _classes: BeatClasses,
) -> None:  # fmt: skip
    """Prefetch the normal beat of a stream, and the place of its next beat."""
    slot = events[run[i], ORDERED_SLOT]
    row_of(history.normal[slot, 0], history.normal.shape[2])
    row_of(history.known[slot], history.known.shape[1])
    row_of(history.ratio[slot], PAST)
    row_of(history.rr_s[slot], PAST)
    row_of(
        history.shape[slot, (history.ring[slot, HEAD] + history.ring[slot, STORED]) % PAST, 0], history.shape.shape[3]
    )


def judge_rhythm(
    i: int, run: I64, events: I64, _beats: RhythmBeats, _rates_hz: F64, _trees: JudgeTrees, memory: RhythmMemory,
    _judged: Judged,
) -> None:  # fmt: skip
    """Prefetch the last intervals of a stream."""
    slot = events[run[i], ORDERED_SLOT]
    row_of(memory.interval[slot], memory.interval.shape[1])
    row_of(memory.flags[slot], memory.flags.shape[1])
    row_of(memory.numbers[slot], memory.numbers.shape[1])


def judge_ventricular(
    i: int, run: I64, events: I64, _beats: VentricularBeats, _window: I64, _trees: JudgeTrees,
    memory: VentricularMemory, _features: F32, _found: Ventricular,
) -> None:  # fmt: skip
    """Prefetch the last beats of a stream."""
    slot = events[run[i], ORDERED_SLOT]
    row_of(memory.beats[slot, 0], memory.beats.shape[1] * memory.beats.shape[2])
    row_of(memory.recent[slot, 0], memory.recent.shape[1] * memory.recent.shape[2])
    row_of(memory.sample[slot], memory.sample.shape[1])


def track_drift(
    i: int, run: I64, events: I64, _bins: U8, _scored: Bool, _block_samples: I64, _levels: F64, _limit: float,
    state: DriftState, _crossings: Crossings,
) -> None:  # fmt: skip
    """Prefetch the counts of the present block of a stream."""
    slot = events[run[i], ORDERED_SLOT]
    row_of(state.counts[slot, 0], state.counts.shape[2])
    row_of(state.block[slot:], 1)


def apply_rules(
    i: int, run: I64, events: I64, _beats: RuleBeats, _durations: I64, _limits: F64, state: I64,
    _room: TransitionRoom, _again: bool,
) -> None:  # fmt: skip
    """Prefetch the state of a stream."""
    row_of(state[events[run[i], ORDERED_SLOT]], state.shape[1])


BODIES: dict[Any, Any] = {groups.foresee: foresee}
