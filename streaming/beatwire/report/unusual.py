"""The most unusual beats: those of the highest scores, over the usual beat of the same recording, on ECG paper."""

import numpy as np

from beatwire.offline.results.clock import clock
from beatwire.records import I64
from beatwire.report.figures.axes import chosen_rows, windows_around
from beatwire.report.figures.paper import MM_PER_S, Scale, enlarged, grid, trace
from beatwire.report.html import note, section
from beatwire.report.study import Study
from beatwire.stages.score import ANOMALOUS

SHOWN = 12
APART_S = 10.0  # so that one artefact does not fill the section
HALF_S = 0.8  # on either side of R
_MEDIAN_OF = 200  # usual beats


def unusual_rows(study: Study) -> I64:
    """Return the rows of the beats with the highest scores, the highest first, at least ``APART_S`` apart."""
    score = np.asarray(study.beats["score"], np.float64)
    kept: list[int] = []
    for row in np.argsort(-np.where(np.isfinite(score), score, -np.inf), kind="stable")[: 200 * SHOWN].tolist():
        if not np.isfinite(score[row]) or len(kept) == SHOWN:
            break
        if all(abs(study.time_s[row] - study.time_s[k]) >= APART_S for k in kept):
            kept.append(row)
    return np.array(kept, np.int64)


def unusual_beats(study: Study, scale: Scale) -> str:
    """Return the section of the most unusual beats."""
    rate_hz = study.recording.rate_hz
    half = round(HALF_S * rate_hz)
    usual = np.flatnonzero(np.asarray(study.beats["score"], np.float64) < ANOMALOUS / 2)
    windows = windows_around(study, chosen_rows(usual, _MEDIAN_OF), half, half)
    median = np.median(windows, axis=0) if len(windows) else np.full(2 * half, np.nan)
    width = round(2 * HALF_S * MM_PER_S, 1)
    x = np.arange(2 * half) * (MM_PER_S / rate_hz)
    shown = [
        (row, own[0]) for row in unusual_rows(study) if len(own := windows_around(study, np.array([row]), half, half))
    ]
    room = scale.rooms[study.lead]
    for _, own in shown:  # each counts: among all of them the samples of one beat are few
        room = enlarged(room, own, scale.mm_per_unit)
    drawn = []
    for number, (row, own) in enumerate(shown):
        name = f"u{number}"
        lines = "".join(
            trace(x, room.above - y * scale.mm_per_unit, kind, name)
            for y, kind in ((median, "usual-beat"), (own, "ecg"))
        )
        score, quality = study.beats["score"][row], study.beats["quality"][row]
        drawn.append(
            f"<figure><figcaption>{clock(study.time_s[row], 1)}<br>score {score:.1f}, quality {quality:.2f}"
            f'</figcaption><svg class="paper" width="{width}mm" viewBox="0 0 {width} {room.height}" role="img" '
            f'aria-label="ECG of a beat">{grid(name, 0, 0, width, room.height)}{lines}</svg></figure>'
        )
    if not drawn:
        return section("unusual", "Most unusual beats", "<p>No beat with a score has signal on both sides.</p>")
    text = (
        f"The beats with the highest scores, at least {APART_S:g} s apart, in black; the median of the usual beats in "
        f"grey. Lead {study.recording.leads[study.lead]}, {scale.caption}."
    )
    return section("unusual", "Most unusual beats", note(text), f'<div class="beats">{"".join(drawn)}</div>')
