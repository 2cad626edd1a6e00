"""The hours of a study: rates, groups of beats, pauses and alerts of each.

In:  Study
Out: :class:`Hour` for each hour, the last one shorter

The hours sum to the beats and alerts of the analysis.
"""

from dataclasses import dataclass

import numpy as np

from beatwire.offline.results.quality import firsts, with_signal
from beatwire.report.study import PAUSE_S, Study
from beatwire.tables import host_array

_HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class Hour:
    """One hour of a recording, or its last part.

    first_s               start
    beats, marked         number of beats, and of those in each group by name
    intervals             number of intervals
    mean_bpm              from the mean interval; NaN without intervals
    least_bpm, most_bpm   of the median rate of successive beats, of few intervals and of poor signal too
    pauses, longest_s     intervals longer than ``PAUSE_S``, and the longest interval
    alerts                raised in it
    with_signal           share of the time in which a lead has a value, 0-1
    """

    first_s: float
    beats: int
    intervals: int
    marked: dict[str, int]
    mean_bpm: float
    least_bpm: float
    most_bpm: float
    pauses: int
    longest_s: float
    alerts: int
    with_signal: float


def hours_of(study: Study) -> list[Hour]:
    """Return a row for each hour; their beats and alerts sum to those of the analysis."""
    recording, beats = study.recording, study.beats
    first = firsts(recording.samples.shape[1], recording.rate_hz, _HOUR_S)
    hour_of_beat = np.searchsorted(first, study.sample, "right") - 1
    hour_of_alert = (np.searchsorted(first, [e.onset for e in study.episodes], "right") - 1).tolist()
    rr_ms, rate = np.asarray(beats["rr_ms"], np.float64), np.asarray(beats["rate_bpm"], np.float64)
    members = {g.name: np.bincount(hour_of_beat[g.rows], minlength=len(first)) for g in study.groups}
    shares = with_signal(host_array(recording.samples), first, np.diff(first, append=recording.samples.shape[1]))
    found = []
    for k, share in enumerate(shares.tolist()):
        rows = slice(*np.searchsorted(hour_of_beat, [k, k + 1]))
        rr, rates = rr_ms[rows], rate[rows]
        rr, rates = rr[np.isfinite(rr)], rates[np.isfinite(rates)]
        found.append(
            Hour(
                first_s=k * _HOUR_S,
                beats=rows.stop - rows.start,
                intervals=len(rr),
                marked={name: int(count[k]) for name, count in members.items()},
                mean_bpm=60_000 / rr.mean() if len(rr) else np.nan,
                least_bpm=rates.min() if len(rates) else np.nan,
                most_bpm=rates.max() if len(rates) else np.nan,
                pauses=int((rr > 1000 * PAUSE_S).sum()),
                longest_s=rr.max() / 1000 if len(rr) else np.nan,
                alerts=hour_of_alert.count(k),
                with_signal=share,
            )
        )
    return found
