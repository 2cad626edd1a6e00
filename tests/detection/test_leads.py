"""Leads: the peaks of the lead alone that expects the fewest errors: against a slow choice, in any cut."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from beatwire.jit.cpu import kernels
from beatwire.kernels.detection.lead_choice import CHOICE_COLUMNS, LEAST_ERRORS, PARTS, SILENCE
from beatwire.kernels.peaks.classify import NOT_A_CANDIDATE
from beatwire.kernels.peaks.doubt import RISK_UNIT
from beatwire.kernels.peaks.risk import risk_of
from beatwire.offline.analyze import analyze
from beatwire.recordings import NO_VALUE
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records.columns import (
    LOGIT_COLUMNS,
    OVERRULED,
    PEAK_COLUMNS,
    PEAK_DISTURBANCE,
    PEAK_LOGIT,
    PEAK_OF_TREES,
    PEAK_QUANTILE,
    PEAK_RESPONSE,
    PEAK_SAMPLE,
    PEAK_SOURCE,
)
from beatwire.records.detection import ChoiceSettings, ChosenPeaks, FreshLanes, PeakTable, Rings
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from noisy_streams import with_noise

PART, SILENT, OVERLAP, REACH = 50, 200, 10, 10  # samples, at 100 Hz
PROBABILITY = np.linspace(0.0, 1.0, 17)
N, BLOCK = 3000, 500
NOBODY = np.zeros((1, 0), np.int64)


class Drawn(NamedTuple):
    """A peak: its source, its sample, the logit of the trees (None: no candidate), and whether it is high enough."""

    source: int
    sample: int
    logit: float | None
    high: bool


def table_of(rows: list[list[Drawn]]) -> tuple[PeakTable, np.ndarray]:
    """Return the table of one row of peaks for each list, and their logits."""
    most = max(1, *map(len, rows))
    peaks = np.zeros((len(rows), most, PEAK_COLUMNS), np.int64)
    logits = np.zeros((len(rows), most, LOGIT_COLUMNS))
    for i, row in enumerate(rows):
        for k, one in enumerate(row):
            peaks[i, k, PEAK_SAMPLE], peaks[i, k, PEAK_RESPONSE] = one.sample, 1000
            peaks[i, k, PEAK_QUANTILE] = 1000 if one.high else 100_000
            logits[i, k, [PEAK_LOGIT, PEAK_OF_TREES]] = NOT_A_CANDIDATE if one.logit is None else one.logit
            logits[i, k, PEAK_DISTURBANCE] = np.nan if one.logit is None else 0.0
    found = np.array([len(row) for row in rows], np.int64)
    none = np.zeros((1, 1, 1), np.int64)
    return PeakTable(found, peaks, none, np.zeros(len(rows), np.int64), none), logits


def chosen_in(drawn: list[Drawn], leads: int, x: np.ndarray, ends: list[int]) -> list[tuple[int, int]]:
    """Return (sample, source) of the peaks that the kernel chooses, in passes that end at ``ends``."""
    state = np.zeros((1, 1 + leads, CHOICE_COLUMNS), np.int64)
    rings = Rings(x, np.zeros((1, 1), np.int32), np.zeros((1, 3), np.int64))
    out, start, zero = [], 0, np.zeros(1, np.int64)
    for end in ends:
        rows = [[one for one in drawn if one.source == s and start <= one.sample < end] for s in range(1 + leads)]
        together, logits = table_of(rows[:1])
        alone, logits_alone = table_of(rows[1:])
        most = max(1, sum(map(len, rows)))
        found = ChosenPeaks(
            np.zeros(1, np.int64), np.zeros((1, most, PEAK_COLUMNS), np.int64), np.zeros((1, most, LOGIT_COLUMNS))
        )
        fresh = FreshLanes(zero, zero, np.array([start]), np.array([end]), zero)
        spans = ChoiceSettings(PART, SILENT, OVERLAP, REACH)
        kernels.choose_peaks(1, fresh, together, logits, alone, logits_alone, PROBABILITY, spans, rings, state, found)
        n = int(found.found[0])
        out += [tuple(row) for row in found.peaks[0, :n, [PEAK_SAMPLE, PEAK_SOURCE]].T.tolist()]
        start = end
    return out


def expected_of(drawn: list[Drawn], leads: int, x: np.ndarray) -> list[tuple[int, int]]:
    """Return the same by a choice that looks at all peaks so far, for each peak."""
    order = sorted(drawn, key=lambda one: (one.sample, one.source))
    best_at: list[tuple[int, int]] = []
    out = []
    for k, now in enumerate(order):
        errors = []
        for source in range(1 + leads):
            own = [one for one in order[: k + 1] if one.source == source and one.logit is not None]
            oldest = (now.sample // PART - PARTS + 1) * PART
            total = sum(round(risk_of(one.logit, PROBABILITY) * RISK_UNIT) for one in own if one.sample >= oldest)
            beats = [one.sample for one in own if one.logit > 0 and one.high]
            longest = min(SILENT, 3 * (beats[-1] - beats[-2]) // 2) if len(beats) > 1 else SILENT
            total += SILENCE * RISK_UNIT * (not beats or now.sample - beats[-1] > longest)
            errors.append(total)
        usable = [
            s
            for s in range(1, 1 + leads)
            if 2 * errors[s] < errors[0]
            and (x[0, s - 1, max(0, now.sample - REACH) : now.sample + REACH] != NO_VALUE).all()
        ]
        is_left = errors[0] > int(LEAST_ERRORS * RISK_UNIT) and usable
        best_at.append((now.sample, min(usable, key=lambda s: errors[s]) if is_left else 0))
        is_chosen = any(s == now.source and now.sample - at <= OVERLAP for at, s in best_at)
        if now.source == 0 or (is_chosen and now.logit is not None):
            out.append((now.sample, now.source if is_chosen else OVERRULED))
    return out


@st.composite
def peaks(draw: st.DrawFn, leads: int) -> list[Drawn]:
    """Draw the peaks of all sources: beats at about the same samples, and others."""
    drawn: dict[tuple[int, int], Drawn] = {}
    every = draw(st.integers(40, 250))
    for source in range(1 + leads):
        sure = draw(st.floats(0.0, 1.0))
        for at in range(every, N - 20, every):
            if draw(st.booleans()) or draw(st.booleans()):
                sample = at + draw(st.integers(-6, 6))
                logit = 7.9 if draw(st.floats(0.0, 1.0)) < sure else draw(st.sampled_from([None, -3.0, 0.5, 2.0]))
                drawn[source, sample] = Drawn(source, sample, logit, draw(st.integers(0, 9)) > 0)
    return sorted(drawn.values(), key=lambda one: (one.source, one.sample))


@settings(deadline=None, max_examples=draws(60))
@given(data=st.data(), leads=st.integers(2, 4))
def test_a_choice_is_that_of_all_peaks_so_far_in_any_cut(data: st.DataObject, leads: int) -> None:
    drawn = data.draw(peaks(leads))
    x = np.zeros((1, leads, N + 100), np.int16)
    for lead in range(leads):
        if data.draw(st.booleans()):
            begin = data.draw(st.integers(0, N))
            x[0, lead, begin : begin + data.draw(st.integers(1, N))] = NO_VALUE
    ends = [*sorted(data.draw(st.sets(st.integers(1, N - 1), max_size=6))), N]
    assert chosen_in(drawn, leads, x, ends) == expected_of(drawn, leads, x)


@settings(deadline=None, max_examples=draws(12))
@given(seed=st.integers(0, 9), rate_hz=st.sampled_from([128.0, 250.0, 360.0]), leads=st.integers(2, 5), data=st.data())
def test_with_noise_and_without_values_any_cut_gives_the_same_beats(
    seed: int, rate_hz: float, leads: int, data: st.DataObject
) -> None:
    recording = synthesise(seed, rate_hz=rate_hz, leads=leads, seconds=40.0).recording
    n = recording.samples.shape[1]
    places: Any = st.integers(0, n)
    samples = with_noise(
        recording.samples, data.draw(st.integers(0, leads - 1)), data.draw(places), data.draw(places), 4.0, seed
    )
    off = data.draw(places)
    samples[data.draw(st.integers(0, leads - 1)), off : off + data.draw(places)] = NO_VALUE
    recording = replace(recording, samples=samples)
    rng = np.random.default_rng(seed)
    ends = np.minimum(np.cumsum(rng.integers(1, 300, n)), n)
    chunks = [int(k) for k in np.diff(ends, prepend=0) if k > 0]
    found = analyze(recording, chunks=chunks, ticks=rng.integers(1, 9, len(chunks)).tolist()).beats
    for column, expected in analyze(recording).beats.items():
        np.testing.assert_array_equal(found[column], expected, column)


@settings(deadline=None, max_examples=draws(20))
@given(
    seed=st.integers(0, 9), lead=st.integers(0, 1), times=st.floats(1.0, 8.0), begin=st.floats(0.0, 20.0),
    length=st.floats(2.0, 30.0),
)  # fmt: skip
def test_noise_on_one_lead_hides_few_beats_of_the_other(
    seed: int, lead: int, times: float, begin: float, length: float
) -> None:
    rate_hz = 250.0
    truth = synthesise(seed, rate_hz=rate_hz, leads=2, seconds=45.0)
    recording = truth.recording
    a, b = round(begin * rate_hz), round((begin + length) * rate_hz)
    noisy = replace(recording, samples=with_noise(recording.samples, lead, a, b, times, seed))
    other = replace(recording, samples=recording.samples[1 - lead : 2 - lead], leads=recording.leads[:1])
    alone, found = np.asarray(analyze(other).beats["sample"]), np.asarray(analyze(noisy).beats["sample"])
    missed = np.abs(alone[:, np.newaxis] - found).min(axis=1) > 0.1 * rate_hz
    assert missed.sum() <= 2, (alone[missed] / rate_hz).tolist()
