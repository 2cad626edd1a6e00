"""Bodies of the beats stage: which peaks are heartbeats, where their R is, and their intervals.

In:    the peaks of the lanes of a pass with their levels and logits; stretches in which no beat may be
Out:   ``LaneBeats``, then ``ListedBeats`` without holes; ``ListedBlocks``
State: int64 ``state[lane, BEAT_STATE_COLUMNS]`` (``kernels.detection.intervals``)

In a fast rhythm a beat need not be a peak (``kernels.detection.fast_rhythm``). Of several leads it is found among the
peaks of all leads together; peaks of a lead alone are beats outside of it only.

Invariant: two beats are more than ``APART`` apart (``is_too_near``).
"""

from __future__ import annotations

import math

from beatwire.kernels.detection.fast_rhythm import (
    APART,
    DECIDE,
    FAST_AT,
    FAST_COLUMNS,
    FAST_RISK,
    FAST_RISK_OF_TREES,
    FAST_UNTIL,
    LEAST_LEVEL,
    LEAST_QUALITY,
    add_risk,
    expected_errors,
)
from beatwire.kernels.detection.hidden_beats import add_hidden, follow_peak
from beatwire.kernels.detection.intervals import (
    FIRST_FAST,
    HAS_RESTARTED,
    INTERVAL_COUNT,
    LAST_R,
    QUIET_COUNT,
    is_quiet,
    is_too_near,
    write_beat,
)
from beatwire.kernels.detection.level import ceiling
from beatwire.kernels.detection.r_peak import mark_r
from beatwire.kernels.intake.bridges import first_row
from beatwire.kernels.peaks.risk import beat_probability, risk_of
from beatwire.kernels.rhythms.wave_shape import KIND_BITS
from beatwire.kernels.team import WIDTH, member, wait
from beatwire.records import F64, I32, I64
from beatwire.records.columns import (
    BEAT_DISTURBANCE,
    BEAT_ERRORS,
    BEAT_MEDIAN_RR,
    BEAT_PEAK,
    BEAT_QUALITY,
    BEAT_R,
    BEAT_RESPONSE,
    BEAT_RESTART,
    BEAT_RR,
    BLOCK_END,
    BLOCK_MAXIMUM,
    JUMP_STOP,
    NO_BLOCK,
    OVERRULED,
    PEAK_BESIDE,
    PEAK_CEILING,
    PEAK_DISTURBANCE,
    PEAK_ERRORS,
    PEAK_LOGIT,
    PEAK_MEDIAN,
    PEAK_OF_TREES,
    PEAK_QUANTILE,
    PEAK_RESPONSE,
    PEAK_SAMPLE,
    PEAK_SOURCE,
    PEAK_VALLEYS,
    QUIET_MARGIN,
    RESEMBLING,
    RESIZED,
    SHRUNK,
)
from beatwire.records.detection import FreshLanes, PeakTable, Rings
from beatwire.records.selection import BeatPlaces, BeatSettings, FlatLimits, LaneBeats, ListedBeats, ListedBlocks


def is_disturbance(height: int, median: int, most: int) -> bool:
    """Return True if a response is above all that beats have, in a stream whose level is not.

    Parameters
    ----------
    median, most
        The level of the stream, 0: unknown; and the largest response that beats of any heart have.
    """
    return 0 < median <= most and height > ceiling(median, most)


def select_beats(
    i: int, fresh: FreshLanes, peaks: PeakTable, quiet: I64, uv_per_unit: F64, logits: F64, settings: BeatSettings,
    rings: Rings, state: I64, work: I32, found: LaneBeats,
) -> None:  # fmt: skip
    """Select the beats among the peaks of lane ``fresh.lane[i]``.

    Parameters
    ----------
    quiet : int64 [q, 3]
        Stretches of this pass in which no beat may be, by lane: lane, start, stop.
    uv_per_unit : float64 [n]
        0: not calibrated, the floor does not apply.
    logits : float64 [n, most, LOGIT_COLUMNS]
        As ``kernels.peaks.classify.classify_peaks`` writes them: a peak with a logit above 0 may be a beat.
    state : int64 [lanes, BEAT_STATE_COLUMNS]
        Read and written.
    work : int32 [3, capacity]
        Scratch, see ``kernels.detection.r_peak.mark_r``.
    found
        Written.
    """
    row = state[fresh.lane[i]]
    if fresh.start[i] == fresh.base[i]:
        if member() == 0:
            row[LAST_R] = -1
            row[INTERVAL_COUNT] = 0
            row[QUIET_COUNT] = 0
            row[HAS_RESTARTED] = 1
            for column in range(FAST_COLUMNS):
                row[FIRST_FAST + column] = 0
            if rings.jumps[fresh.lane[i], JUMP_STOP] != fresh.stop[i]:  # of a stream that had the lane before
                rings.jumps[fresh.lane[i], JUMP_STOP] = fresh.base[i]
        wait()
    floor = 0
    if uv_per_unit[i] > 0:
        floor = round(settings.floor / uv_per_unit[i])
    begin, end = first_row(quiet, int(fresh.lane[i])), first_row(quiet, int(fresh.lane[i]) + 1)
    trees = settings.probability.shape[0] > 1
    last_decided, denied = int(fresh.stop[i]) - int(settings.links[DECIDE]), 0
    lane, base, n = int(fresh.lane[i]), int(fresh.base[i]), 0
    x, rhythm = rings.x[lane], row[FIRST_FAST:]
    for k in range(peaks.found[i] + 1):  # and what is hidden behind the last peak
        c, height, quantile, level, after_fast, risk, of_trees = last_decided, 0, 0, 0, False, 0.0, 0.0
        source = 0
        if k < peaks.found[i]:
            peak = peaks.peaks[i, k]
            c, height, quantile = int(peak[PEAK_SAMPLE]), int(peak[PEAK_RESPONSE]), int(peak[PEAK_QUANTILE])
            level = max(10 * int(peak[PEAK_MEDIAN]), 3 * quantile)
            if level == 0:
                level = 10 * height  # there was no signal in the last blocks: the peak is its own level
            source = int(peak[PEAK_SOURCE])
            after_fast = trees and source <= 0 and rhythm[FAST_AT] > 0 and logits[i, k, PEAK_DISTURBANCE] >= 0.0
            if after_fast:
                risk = risk_of(logits[i, k, PEAK_LOGIT], settings.probability)
                of_trees = risk_of(logits[i, k, PEAK_OF_TREES], settings.probability)
            if height < floor or is_disturbance(height, int(peak[PEAK_MEDIAN]), int(peak[PEAK_CEILING])):
                if member() == 0 and after_fast:
                    add_risk(rhythm, risk, of_trees)
                may_be = trees and height >= floor and source != OVERRULED and rhythm[FAST_UNTIL] == 0
                if (
                    may_be and peak[PEAK_BESIDE] == RESEMBLING and logits[i, k, PEAK_OF_TREES] > 0.0
                ):  # the gain may have changed
                    if member() == 0:
                        found.denied[i, denied] = ~c
                    denied += 1
                continue
            if peak[PEAK_BESIDE] > 0 and not trees:  # whether it is like the others is not known
                continue
        if rhythm[FAST_UNTIL] > 0:  # it may end before a peak of a lead alone, as it does at the end of a tick
            n = add_hidden(
                n, c, row, quiet, begin, end, rings, lane, base, settings, work, found.ints[i], found.floats[i]
            )
        if source > 0:
            wait()
            if rhythm[FAST_UNTIL] > 0:
                continue
        if k == peaks.found[i]:
            break
        peak = peaks.peaks[i, k]
        if member() == 0 and after_fast:
            add_risk(rhythm, risk, of_trees)
        linked = (
            source <= 0
            and 100 * height > LEAST_LEVEL * int(peak[PEAK_MEDIAN])
            and follow_peak(c, height, level, rhythm, rings, lane, base, settings, work)
        )
        if source == OVERRULED and not linked:
            continue
        if not linked and (
            100 * height <= (9 * quantile if trees else 3 * level) or (trees and logits[i, k, PEAK_LOGIT] <= 0.0)
        ):
            shrunk = peak[PEAK_BESIDE] == SHRUNK
            of_trees_alone = trees and 100 * height > 9 * quantile and logits[i, k, PEAK_OF_TREES] > 0.0
            if (shrunk or of_trees_alone) and rhythm[FAST_UNTIL] == 0:
                if member() == 0:
                    found.denied[i, denied] = ~c if shrunk else c
                denied += 1
            continue
        response = 10.0 * height / level
        if trees:
            quality = beat_probability(logits[i, k, PEAK_LOGIT], settings.probability)
            left, expected = float(logits[i, k, PEAK_ERRORS]), float(logits[i, k, PEAK_DISTURBANCE])
            errors = expected_errors(c, left, linked, FAST_RISK, rhythm, settings.links)
            disturbance = expected_errors(c, expected, linked, FAST_RISK_OF_TREES, rhythm, settings.links)
        else:  # high: well above the limit of 0.3, and between deep valleys
            high = min(1.0, max(0.0, (response - 0.3) / 0.7))
            quality = math.sqrt(high) * min(1.0, max(0.0, 1.0 - int(peak[PEAK_VALLEYS]) / height))
            errors = disturbance = math.nan
        if linked:
            quality = max(quality, LEAST_QUALITY)
        seen = x if source <= 0 else x[source - 1 : source]
        r = mark_r(seen, rings.jumps[lane], base, c, height, settings.marking, settings.taps, work)
        if (
            member() > 0
            or is_too_near(row, r, int(settings.links[APART]))
            or is_quiet(row, quiet, begin, end, r, int(settings.durations[QUIET_MARGIN]))
        ):
            continue
        write_beat(
            r,
            c,
            response,
            quality,
            errors,
            disturbance,
            row,
            quiet,
            begin,
            end,
            settings,
            work,
            found.ints[i, n],
            found.floats[i, n],
        )
        n += 1
    if member() == 0:
        found.counts[i] = n
        found.listed[i] = denied + peaks.closed[i]


def list_beats(
    i: int, first: I64, found: LaneBeats, fresh: FreshLanes, rate_hz: float, delay: int, places: BeatPlaces,
    beats: ListedBeats,
) -> None:  # fmt: skip
    """Copy the beats of row ``i`` to rows ``first[i]``, ``first[i] + 1``, ... of columns without holes.

    A beat was decided ``delay`` samples after the peak of its response.
    """
    for k in range(member(), found.counts[i], WIDTH):
        b = first[i] + k
        ints, floats = found.ints[i, k], found.floats[i, k]
        places.lane[b] = fresh.lane[i]
        places.slot[b] = fresh.slot[i]
        places.base[b] = fresh.base[i]
        beats.row[b] = i
        beats.sample[b] = ints[BEAT_R]
        beats.decided[b] = ints[BEAT_PEAK] + delay
        beats.restart[b] = ints[BEAT_RESTART] > 0
        beats.rr_s[b] = floats[BEAT_RR] / rate_hz
        beats.median_rr_s[b] = floats[BEAT_MEDIAN_RR] / rate_hz
        beats.response[b] = floats[BEAT_RESPONSE]
        beats.quality[b] = floats[BEAT_QUALITY]
        beats.expected_errors[b] = floats[BEAT_ERRORS]
        beats.disturbance[b] = floats[BEAT_DISTURBANCE]


def list_blocks(
    i: int, first: I64, peaks: PeakTable, found: LaneBeats, uv_per_unit: F64, limits: FlatLimits, blocks: ListedBlocks
) -> None:
    """Copy the complete blocks of row ``i`` to columns; their kind is 1 (``flutter.FLAT``) if they are flat, else 0.

    Above the bits of the kind are the nanovolts of a unit, which ``flutter.find_waves`` reads. Denied peaks are rows
    among them, by sample.
    """
    nanovolts = int(math.floor(1000.0 * uv_per_unit[i] + 0.5))
    least = limits.unit_response * limits.flat_units
    if uv_per_unit[i] > 0:
        least = limits.unit_response * (limits.flat_uv / uv_per_unit[i])
    k, closed = 0, int(peaks.closed[i])
    for b in range(int(first[i]), int(first[i]) + int(found.listed[i])):
        denied, at = b - int(first[i]) - k, 0
        is_block = denied + closed == found.listed[i]
        if not is_block:
            at = int(found.denied[i, denied])
            is_block = k < closed and peaks.blocks[i, k, BLOCK_END] <= max(at, ~at)
        blocks.row[b] = i
        if is_block:
            blocks.end[b] = peaks.blocks[i, k, BLOCK_END]
            blocks.kind[b] = int(peaks.blocks[i, k, BLOCK_MAXIMUM] < least) | (nanovolts << KIND_BITS)
            k += 1
        else:
            blocks.end[b] = max(at, ~at)
            blocks.kind[b] = NO_BLOCK if at >= 0 else RESIZED
