"""Remark on leads that do not beat together, or not at all: hardly of one heart, and analysed as if they were.

In:  a recording, of which evenly spaced stretches are looked at
Out: the recording, with notes that name the groups, and the leads without heartbeats

Two leads of one heart move at the same times, however differently. In each stretch, how much a lead moves (its steps,
summed over ``SMOOTH_S``) is correlated with the same of the other leads at the lag, up to ``MOST_LAG_S``, where they
agree best. Leads that repeat themselves are compared, where both have values: leads that were recorded one after the
other are not. One that neither repeats itself nor moves with such a lead has no heartbeats: it is noise, or no ECG. Of
588 recordings of ``shared/ecg`` with several leads four are remarked on for groups (one of muscle noise, three of which
a lead shows no heart), nine for a lead without heartbeats. Of 10 s of first leads of several people it finds 50 of 60
pairs, and 60 of 60 groups of six.
"""

from dataclasses import replace

import numpy as np

from beatwire.recordings.record import NO_VALUE, Recording
from beatwire.records import F64, Bool
from beatwire.tables import array_module, host_array

STRETCH_S = 10.0
STRETCHES = 9  # that are looked at
SHORTEST_S = 4.0  # of a recording: a few beats
BLOCK_S = 0.008  # of which the mean is taken: the noise of fast samples is no movement
STEP_S = 0.02  # of the sums that are compared, about
MAINS_HZ = 50.0, 60.0
SPAN_S = 0.4  # 20 and 24 of their periods
EVEN = 0.5  # of the amplitude of most spans, those of nearly all have at least so much: hum
SMOOTH_S = 0.14
MOST_LAG_S = 0.1  # between the same beat on two leads
PERIODS_S = (0.3, 1.5)  # between two beats
SHARE = 0.95  # larger sums than those of so many are cut off: an artefact
REGULAR = 0.3  # autocorrelation of a lead that repeats itself, in 10 s; noise of 5 s may have as much by chance
TOGETHER = 0.3  # correlation of leads of one heart
_CHOOSE = "(choose with --lead or --column)"
COMMON = 0.5  # of a stretch, in which both leads of a pair have values


def with_groups(recording: Recording) -> Recording:
    """Return a recording with notes about leads that do not beat together, or not at all, if there are some."""
    if len(recording.leads) < 2 or recording.seconds < SHORTEST_S:
        return recording
    moves, known = _movements(recording)
    least = REGULAR * max(1.0, STRETCH_S / recording.seconds) ** 0.5
    regular = _middle(_regularity(moves), _moving(moves)) >= least
    compared = _compared(moves, known)
    agreement, pairs = _agreement(moves, compared), np.asarray(compared.any(axis=0))
    other = ~regular & pairs[:, regular].any(axis=1) & (agreement[:, regular] < TOGETHER).all(axis=1)
    beating = np.flatnonzero(regular)
    found = [[int(beating[k]) for k in group] for group in _groups(agreement[np.ix_(beating, beating)])]
    groups = [group for group in found if any(pairs[np.ix_(group, one)].any() for one in found if one is not group)]
    notes = []
    if len(groups) > 1:
        named = " | ".join(", ".join(recording.leads[k] for k in group) for group in groups)
        notes.append(f"leads that do not beat together: {named}: are they of one person? {_CHOOSE}")
    if other.any():
        named = ", ".join(recording.leads[k] for k in np.flatnonzero(other))
        notes.append(f"no heartbeats, where other leads have some: {named}: is it an ECG? {_CHOOSE}")
    return replace(recording, notes=(*recording.notes, *notes))


def _movements(recording: Recording) -> tuple[F64, Bool]:
    """Return how much each lead moves in each step of each stretch, [stretches, leads, steps], and where it has values.

    The latter has the steps before they are smoothed.
    """
    block = max(1, round(BLOCK_S * recording.rate_hz))
    hop = max(1, round(STEP_S * recording.rate_hz / block))
    steps = min(recording.samples.shape[1], round(STRETCH_S * recording.rate_hz)) // (hop * block)
    n = steps * hop * block
    xp = array_module(recording.samples)
    first = np.linspace(0, recording.samples.shape[1] - n, min(STRETCHES, recording.samples.shape[1] // n))
    at = xp.asarray(first.astype(np.int64)[:, None] + np.arange(n))
    picked = host_array(recording.samples[:, at]).astype(np.float64)
    picked[picked == NO_VALUE] = np.nan
    _take_out_hum(picked, recording.rate_hz)
    means = picked.reshape(*picked.shape[:2], steps * hop, block).mean(axis=3)
    moved = np.abs(np.diff(means, axis=2, prepend=means[:, :, :1]))
    sums = moved.reshape(*moved.shape[:2], steps, hop).sum(axis=3).swapaxes(0, 1)
    known = np.isfinite(sums)
    usual = np.where(known, sums, 0.0).sum(axis=2) / np.maximum(known.sum(axis=2), 1)
    sums = np.where(known, sums, usual[:, :, None])  # where there is no value it moves neither more nor less
    width = max(1, round(SMOOTH_S / STEP_S))
    before = np.concatenate([np.zeros((*sums.shape[:2], 1)), np.cumsum(sums, axis=2)], axis=2)
    smooth: F64 = before[:, :, width:] - before[:, :, :-width]
    return np.minimum(smooth, np.quantile(smooth, SHARE, axis=2, keepdims=True)), known


def _take_out_hum(picked: F64, rate_hz: float) -> None:
    """Take mains hum out of stretches, [leads, stretches, n], in place: it moves a lead, regularly, and without end.

    It is a sine of nearly the same size in all spans of a stretch, as neither the waves of a heart nor noise are.
    """
    span = round(SPAN_S * rate_hz)
    whole = picked[:, :, : picked.shape[2] // span * span]
    spans = whole.reshape(*whole.shape[:2], -1, span)
    centred = np.nan_to_num(spans - spans.mean(axis=3, keepdims=True))
    for hz in MAINS_HZ:
        if hz < rate_hz / 2:
            wave = np.exp(2j * np.pi * hz / rate_hz * np.arange(span))
            amplitude = 2 / span * centred @ wave.conj()
            least, most = np.quantile(np.abs(amplitude), (0.1, 0.9), axis=2, keepdims=True)
            amplitude[np.broadcast_to(least <= EVEN * most, amplitude.shape)] = 0.0
            whole -= (amplitude[..., None] * wave).real.reshape(whole.shape)


def _moving(moves: F64) -> Bool:
    """Return where leads move at all: [stretches, leads]."""
    return np.asarray((moves > 0).any(axis=2))


def _normal(moves: F64) -> F64:
    """Return movements without their mean, of length 1 or, where there is none, 0."""
    centred = moves - moves.mean(axis=2, keepdims=True)
    size = np.sqrt((centred**2).sum(axis=2, keepdims=True))
    normal: F64 = np.divide(centred, size, out=np.zeros_like(centred), where=size > 0)
    return normal


def _regularity(moves: F64) -> F64:
    """Return the largest autocorrelation at a lag of ``PERIODS_S``: [stretches, leads]."""
    n = moves.shape[2]
    spectrum = np.fft.rfft(_normal(moves), 2 * n, axis=2)
    least, most = (round(s / STEP_S) for s in PERIODS_S)
    found: F64 = np.fft.irfft(np.abs(spectrum) ** 2, axis=2)[:, :, least : min(most, n)].max(axis=2)
    return found


def _compared(moves: F64, known: Bool) -> Bool:
    """Return the stretches in which both leads of a pair move and have values: [stretches, leads, leads]."""
    moving, held = _moving(moves), known.astype(np.float64)
    common = held @ held.swapaxes(1, 2) >= COMMON * known.shape[2]
    both: Bool = moving[:, :, None] & moving[:, None, :] & common
    return both


def _agreement(moves: F64, compared: Bool) -> F64:
    """Return the middle correlation of each pair of leads over the stretches that are compared: [leads, leads]."""
    normal, n = _normal(moves), moves.shape[2]
    lags = range(round(MOST_LAG_S / STEP_S) + 1)
    later = np.max([normal[:, :, lag:] @ normal[:, :, : n - lag].swapaxes(1, 2) for lag in lags], axis=0)
    best = np.maximum(later, later.swapaxes(1, 2))
    return _middle(best, compared)


def _middle(values: F64, known: Bool) -> F64:
    """Return the median of the known values over the stretches; 0: there is none."""
    none = ~known.any(axis=0)
    middle: F64 = np.nanmedian(np.where(known | none, values, np.nan), axis=0)
    return np.where(none, 0.0, middle)


def _groups(agreement: F64) -> list[list[int]]:
    """Return the leads that agree, directly or by way of others, in groups."""
    groups: list[list[int]] = []
    for lead in range(len(agreement)):
        joined = [group for group in groups if (agreement[lead, group] >= TOGETHER).any()]
        groups = [group for group in groups if group not in joined]
        groups.append([*(k for group in joined for k in group), lead])
    return sorted(sorted(group) for group in groups)
