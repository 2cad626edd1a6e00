"""The summary of an analysis: rates, intervals, alerts by rule and signal quality, as plain values.

In:  a recording, its analysis, and its signal quality in stretches
Out: a dict that JSON can represent; a value that is not known is None

The *rate* at a beat is that of the median of the eight intervals before it. Median, lowest and highest rate are those
of beats with eight known intervals and at most ``GOOD_ERRORS`` expected errors, so that neither a gap nor noise makes
them; where no beat has eight, the median is that of the beats with at most ``GOOD_ERRORS``. The signal of ten seconds
is *good* if at most ``GOOD_ERRORS`` errors (false or missed beats) are expected in it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from beatwire.alerts.rule import PRIORITIES
from beatwire.alerts.rules import RULES
from beatwire.offline.analyze import Analysis
from beatwire.offline.results.episodes import Episode, episodes_of
from beatwire.offline.results.hum import hum_summary
from beatwire.offline.results.share import rounded
from beatwire.recordings import Recording
from beatwire.records import F64, I64, Bool
from beatwire.tables import rr_statistics

GOOD_ERRORS = 1.0  # expected in ten seconds; more than nine of ten beats are right at any usual rate
RATE_INTERVALS = 8  # of the median rate
TREND_INTERVALS = 3  # known ones before a beat of the trend: their median is right if one of them is wrong
TREND_PARTS = 120  # the widest line of a terminal that shows them
TREND_PART_S = 4.0  # shortest part of the trend: an interval this long is an asystole


def summarize(recording: Recording, analysis: Analysis, quality: Mapping[str, Any]) -> dict[str, Any]:
    """Return the summary of an analysis.

    Parameters
    ----------
    recording, analysis
        What was analyzed, and what was found.
    quality
        Its signal quality; see :func:`beatwire.offline.results.quality.quality_table`.

    Returns
    -------
    dict
        leads, rate_hz, seconds, samples
            Of the recording; ``samples`` counts all leads.
        beats : int
        median_rate_bpm, min_rate_bpm, max_rate_bpm : float or None
            Median, lowest and highest rate, see above; ``min_rate_at_s`` and ``max_rate_at_s``: when, in seconds.
        rate_trend_bpm : list of float or None
            Median rate in each of at most ``TREND_PARTS`` equal parts of the recording; None without beats.
        mean_rr_ms, median_rr_ms, sdnn_ms, rmssd_ms, pnn50 : float or None
            See :func:`beatwire.tables.rr_statistics`.
        alerts : int
            Alerts that began; one whose priority rises goes on.
        alerts_by_rule : dict
            See :func:`alerts_by_rule`.
        quality : dict
            See :func:`quality_summary`.
        hum : list of dict or None
            Mains hum; see :func:`beatwire.offline.results.hum.hum_summary`.
        gaps : int
            Gaps in the signal.
        model : str
    """
    beats = analysis.beats
    rate_bpm, seconds = np.asarray(beats["rate_bpm"], np.float64), recording.seconds
    settled = _follow_intervals(beats["rr_ms"], TREND_INTERVALS)
    by_rule = alerts_by_rule(episodes_of(analysis.alerts, recording.samples), recording.rate_hz, seconds)
    return {
        "leads": list(recording.leads),
        "rate_hz": recording.rate_hz,
        "seconds": round(seconds, 3),
        "samples": int(recording.samples.size),
        "beats": len(beats["sample"]),
        **rates(beats),
        "rate_trend_bpm": rate_trend(beats["time_s"][settled], rate_bpm[settled], seconds),
        **_rr_summary(beats["rr_ms"]),
        "alerts": sum(row["count"] for row in by_rule.values()),
        "alerts_by_rule": by_rule,
        "quality": quality_summary(quality),
        "hum": hum_summary(recording),
        "gaps": analysis.counts["bridged"] + max(0, analysis.counts["restarts"]),
        "model": analysis.model,
    }


def rate_trend(time_s: F64, rate_bpm: F64, seconds: float) -> list[float | None]:
    """Return the median rate in each part of a recording; None for a part without a rate.

    Parameters
    ----------
    time_s, rate_bpm
        Time and rate of each beat.
    seconds
        Length of the recording: it has at most ``TREND_PARTS`` equal parts of at least ``TREND_PART_S``.

    >>> rate_trend(np.array([1.0, 2.0, 9.0]), np.array([60.0, 64.0, np.nan]), 12.0)
    [62.0, None, None]
    """
    parts = int(np.clip(seconds // TREND_PART_S, 1, TREND_PARTS))
    known = np.isfinite(rate_bpm)
    part = np.clip(time_s[known] * parts / max(seconds, 1e-9), 0, parts - 1).astype(np.int64)
    order = np.argsort(part, kind="stable")
    groups = np.split(rate_bpm[known][order], np.searchsorted(part[order], np.arange(1, parts)))
    return [round(float(np.median(group)), 1) if len(group) else None for group in groups]


def alerts_by_rule(episodes: Sequence[Episode], rate_hz: float, seconds: float) -> dict[str, dict[str, Any]]:
    """Return what happened of each rule, by falling priority.

    Parameters
    ----------
    episodes
        By onset.
    rate_hz, seconds
        Of the recording.

    Returns
    -------
    dict
        Rule -> ``priority``, ``technical``, ``count`` (alerts that began), ``first_s`` (when the first one began) and
        ``seconds`` (how long they were on, together; one that did not end is on until the end of the recording, or of
        its samples).
    """
    of_rule: dict[str, dict[str, Any]] = {}
    lengths: Counter[str] = Counter()  # in samples
    for episode in episodes:
        first = {"technical": episode.technical, "count": 0, "first_s": round(episode.onset / rate_hz, 3)}
        row = of_rule.setdefault(episode.rule, {"priority": episode.priority} | first)
        row["count"] += 1
        row["priority"] = min(row["priority"], episode.priority, key=PRIORITIES.index)
        end = round(seconds * rate_hz) if episode.end is None else episode.end
        lengths[episode.rule] += max(0, end - episode.onset)
    for rule, row in of_rule.items():
        row["seconds"] = round(lengths[rule] / rate_hz, 3)
    order = [rule.name for rule in RULES]
    return dict(sorted(of_rule.items(), key=lambda item: (PRIORITIES.index(item[1]["priority"]), order.index(item[0]))))


def quality_summary(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the signal quality of a recording.

    Parameters
    ----------
    table
        See :func:`beatwire.offline.results.quality.quality_table`.

    Returns
    -------
    dict
        with_signal : float
            Share of the time in which a lead has a value, 0-1.
        good : float or None
            Share of the time with good signal, 0-1, of all but a rest that is too short to judge; None: all is.
        worst : dict or None
            The consecutive stretches of bad signal with the most expected errors: ``start_s``, ``stop_s``, and
            ``expected_errors`` in its worst ten seconds (None: no beats). None if all signal is good.
    """
    seconds, errors = table["seconds"], table["expected_errors"]
    signal_s = seconds * table["with_signal"]
    # Of the rest of a recording that is too short for a beat, nothing is known.
    judged = np.isfinite(errors) | (seconds >= TREND_PART_S)
    bad = judged & ~(errors <= GOOD_ERRORS)
    total_s = max(float(seconds.sum()), 1e-9)
    return {
        "with_signal": rounded(float(signal_s.sum()) / total_s),
        "good": rounded(float(signal_s[judged & ~bad].sum() / seconds[judged].sum())) if judged.any() else None,
        "worst": _worst_stretch(table, bad & (signal_s > 0)),
    }


def _worst_stretch(table: Mapping[str, Any], bad: Bool) -> dict[str, Any] | None:
    """Return the run of rows of bad signal with the most expected errors; a row without beats counts as one error."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], bad.astype(np.int8), [0]]))).reshape(-1, 2)
    if not len(edges):
        return None
    errors = table["expected_errors"]
    counted = np.nan_to_num(errors, nan=GOOD_ERRORS)
    first, stop = max(edges.tolist(), key=lambda edge: float(counted[edge[0] : edge[1]].sum()))
    known = errors[first:stop][np.isfinite(errors[first:stop])]
    return {
        "start_s": round(float(table["time_s"][first]), 3),
        "stop_s": round(float(table["time_s"][stop - 1] + table["seconds"][stop - 1]), 3),
        "expected_errors": round(float(known.max()), 2) if len(known) else None,
    }


def rates(beats: Mapping[str, Any]) -> dict[str, float | None]:
    """Return median, lowest and highest rate, of beats whose rate can be trusted (see above).

    Parameters
    ----------
    beats
        Columns of equal length: ``time_s``, ``rr_ms``, ``rate_bpm``, ``expected_errors``.

    Returns
    -------
    dict
        ``median_rate_bpm``, ``min_rate_bpm``, ``min_rate_at_s``, ``max_rate_bpm``, ``max_rate_at_s``; None without
        such beats.
    """
    rate_bpm, time_s = np.asarray(beats["rate_bpm"], np.float64), np.asarray(beats["time_s"], np.float64)
    good = (np.asarray(beats["expected_errors"]) <= GOOD_ERRORS) & np.isfinite(rate_bpm)
    settled = good & _follow_intervals(beats["rr_ms"], RATE_INTERVALS)
    rows = np.flatnonzero(settled if settled.any() else good)
    median = round(float(np.median(rate_bpm[rows])), 2) if len(rows) else None
    found: dict[str, float | None] = {"median_rate_bpm": median}
    for name, choose in (("min", np.argmin), ("max", np.argmax)):
        at = int(rows[choose(rate_bpm[rows])]) if settled.any() else None
        found[f"{name}_rate_bpm"] = None if at is None else round(float(rate_bpm[at]), 2)
        found[f"{name}_rate_at_s"] = None if at is None else round(float(time_s[at]), 3)
    return found


def _follow_intervals(rr_ms: F64, count: int) -> Bool:
    """Return which beats end ``count`` known intervals in a row."""
    total: I64 = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.isfinite(rr_ms).astype(np.int64))])
    follows: Bool = np.zeros(len(rr_ms), np.bool_)
    follows[count - 1 :] = total[count:] - total[: max(0, len(total) - count)] == count
    return follows


def _rr_summary(rr_ms: F64) -> dict[str, float | None]:
    """Return the statistics of RR intervals, rounded; None for a statistic that needs more intervals."""
    if len(rr_ms) == 0:
        return dict.fromkeys(("mean_rr_ms", "median_rr_ms", "sdnn_ms", "rmssd_ms", "pnn50"))
    row = rr_statistics(np.zeros(len(rr_ms), np.int64), rr_ms).iloc[0].drop("beats")
    return {str(name): round(float(value), 2) if np.isfinite(value) else None for name, value in row.items()}
