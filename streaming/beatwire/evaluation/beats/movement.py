"""Detectors in movement: intervals that contradict a smooth heart rate, by activity and by electrode.

In:  WFDB recordings of healthy people whose headers name the activity and the electrode in comments; no beat is marked
Out: counts of intervals and of contradictions, by detector

An interval contradicts a smooth heart rate if it differs by more than 20 % from the median of the nine around it: a
missed or a false beat makes one or two of them. A detector that finds nothing contradicts nothing, so the number of
intervals stands beside.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.evaluation.beats.detection import Cuts, Detect
from beatwire.evaluation.bedside.watched import comments_of
from beatwire.evaluation.records import record_seed
from beatwire.recordings import read_recording
from beatwire.recordings.places import check_folder
from beatwire.records import I64

ACTIVITIES = ("rest", "arms", "walk", "run", "squats")
AROUND = 9  # intervals of the median
DIFFERS = 0.2


def is_movement_folder(folder: Path) -> bool:
    """Return True if the first record of a folder names an activity in a comment."""
    first = min(folder.glob("*.hea"), default=None)
    return first is not None and _activity(first.with_suffix("")) is not None


def count_contradictions(beats: I64) -> tuple[int, int]:
    """Return how many of the intervals between beats contradict a smooth heart rate, and how many there are.

    Parameters
    ----------
    beats : int64 [b]
        Samples of the beats, ascending.

    Examples
    --------
    >>> count_contradictions(np.arange(20) * 400), count_contradictions(np.delete(np.arange(20) * 400, 10))
    ((0, 19), (1, 18))
    """
    intervals = np.diff(beats)
    if len(intervals) == 0:
        return 0, 0
    reach = AROUND // 2
    padded = np.pad(intervals.astype(np.float64), reach, constant_values=np.nan)
    medians = np.nanmedian(np.lib.stride_tricks.sliding_window_view(padded, AROUND), axis=1)
    return int((np.abs(intervals - medians) > DIFFERS * medians).sum()), len(intervals)


def evaluate_movement(
    folder: Path,
    detectors: Mapping[str, Detect],
    *,
    seed: int = 0,
    progress: Callable[[str], None] = lambda name: None,  # noqa: ARG005
) -> dict[str, Any]:
    """Run detectors over the first lead of every recording of a folder that names an activity.

    Returns
    -------
    dict
        ``rows``: detector, ``by`` (``activity``, ``electrode`` or ``all``), ``of`` (which one), contradictions,
        intervals; ``failed``: records that cannot be read.

    Raises
    ------
    UserError
        The folder has no such recording.
    """
    check_folder(folder)
    counts: dict[tuple[str, str, str], list[int]] = {}
    failed = []
    for path, activity, electrode in _recordings(folder):
        progress(path.name)
        try:
            recording = read_recording(path.with_name(f"{path.name}.hea"))
        except UserError as reason:
            failed.append({"record": path.name, "reason": str(reason)})
            continue
        samples = recording.samples[:1]
        cuts = Cuts.random(samples.shape[1], recording.rate_hz, record_seed(path.name, seed))
        for name, detect in detectors.items():
            try:
                beats = detect(samples, recording.rate_hz, recording.uv_per_unit, cuts).sample
            except UserError as reason:
                failed.append({"record": path.name, "reason": str(reason)})
                continue
            found = count_contradictions(beats)
            for key in ((name, "activity", activity), (name, "electrode", electrode), (name, "all", "all")):
                sums = counts.setdefault(key, [0, 0])
                sums[0] += found[0]
                sums[1] += found[1]
    if not counts and not failed:
        raise UserError(f"{folder}: expected recordings whose header names {', '.join(ACTIVITIES)}; there are none")
    keys = ("detector", "by", "of", "contradictions", "intervals")
    return {"rows": [dict(zip(keys, (*key, *sums), strict=True)) for key, sums in counts.items()], "failed": failed}


def movement_as_text(figures: dict[str, Any]) -> str:
    """Return the figures as lines: contradictions in 100 intervals, and the intervals, a column for each detector."""
    rows = figures["rows"]
    names = list(dict.fromkeys(row["detector"] for row in rows))
    places = list(dict.fromkeys((row["by"], row["of"]) for row in rows))
    order = {of: k for k, of in enumerate(ACTIVITIES)}
    places.sort(key=lambda place: (("activity", "electrode", "all").index(place[0]), order.get(place[1], 0), place[1]))
    cells = {(row["detector"], row["by"], row["of"]): row for row in rows}
    table = [["contradictions in 100 intervals", *names]]
    table += [[of, *(_cell(cells.get((name, by, of))) for name in names)] for by, of in places]
    widths = [max(len(row[k]) for row in table) for k in range(len(names) + 1)]
    lines = ["  ".join(v.ljust(w) if k == 0 else v.rjust(w) for k, (v, w) in enumerate(zip(row, widths, strict=True)))
             for row in table]  # fmt: skip
    lines.append("in parentheses: intervals. One that differs by more than 20 % from the median of nine contradicts.")
    return "\n".join(lines + [f"Failed: {f['record']}: {f['reason']}" for f in figures["failed"]])


def _cell(row: dict[str, Any] | None) -> str:
    if row is None or not row["intervals"]:
        return "- (0)"
    return f"{100 * row['contradictions'] / row['intervals']:.1f} ({row['intervals']:,})"


def _activity(path: Path) -> str | None:
    return next((comment for comment in comments_of(path) if comment in ACTIVITIES), None)


def _recordings(folder: Path) -> Iterator[tuple[Path, str, str]]:
    """Yield path without suffix, activity, and electrode (the comment after it) of each recording."""
    for header in sorted(folder.glob("*.hea")):
        path = header.with_suffix("")
        activity, comments = _activity(path), comments_of(path)
        if activity is not None:
            yield path, activity, next(iter(comments[comments.index(activity) + 1 :]), "not stated")
