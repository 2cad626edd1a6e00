"""What is learned from a rendition of a record: its peaks, which of them are beats, and what each counts.

A peak is a beat when it is the nearest within 60 ms of where the clean response of an annotated
beat is largest, or else the nearest within 150 ms of the annotation. Peaks in flutter take no part.
Easy peaks are thinned out and weighted up; beats of the ventricles count more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from beatwire.evaluation.match import inside
from beatwire.evaluation.records import Annotated
from beatwire.kernels import peak_features
from beatwire.records import F32, F64, I16, I64, Bool
from beatwire.stages.support.filters import Design, filter_for
from beatwire.training.renditions import CLEAN, JUDGED, RENDITIONS, Noises, Rendered, Rendition, generator, render
from beatwire.training.survey import Survey, respond, survey

RARE = frozenset("VFQ")
ALL_LEADS = 2
_NEAR_S, _FAR_S, _REACH_S, _START_S = 0.06, 0.15, 0.10, 0.3
_KEEP_EASY, _KEEP_NOISY, _RARE_WEIGHT = 0.05, 0.6, 6.0


@dataclass(frozen=True)
class Lesson:
    """The peaks of one lead of a rendition, or of all leads (``ALL_LEADS``).

    beat                 int64 [b], the beats of the rendition
    is_beat, counts      [p], whether a peak is a beat, and whether it takes part at all
    use, weight          [p], whether it is learned from, and how much it counts then
    plain                what each peak of the rendition counts where none is thinned out
    """

    name: str
    lead: int
    survey: Survey
    beat: I64
    is_beat: Bool
    counts: Bool
    use: Bool
    weight: F64
    plain: float

    @property
    def by_rule(self) -> Bool:
        """Which peaks are beats by the rule (``kernels.beats``)."""
        s = self.survey
        level = np.maximum(10 * s.median, 3 * s.quantile)
        accepted: Bool = 100 * s.value > 3 * np.where(level == 0, 10 * s.value, level)
        return accepted


def lessons_of(record: Annotated, noises: Noises, seed: int) -> list[Lesson]:
    """Survey all renditions of a record: its first lead, its second where beats can be seen there, both together."""
    lessons = []
    readable = {0: True}
    for how in RENDITIONS + JUDGED:
        rendered = render(record, how, noises, seed)
        for lead, weight in ((0, how.weight), (1, how.second_lead), (ALL_LEADS, how.weight)):
            wanted = lead == ALL_LEADS or (not how.one_lead and (lead == 0 or weight > 0.0))
            if not wanted or (lead > 0 and len(rendered.samples) < 2):
                continue
            lesson = _lesson(record, rendered, lead, how, weight, seed)
            height = lesson.survey.features[lesson.is_beat & lesson.counts, peak_features.HEIGHT]
            seen = len(height) > 100 and float((height > 0.5).mean()) > 0.9
            if how.name == RENDITIONS[0].name and lead == 1:
                readable[1] = seen
            if readable.get(lead, lead == ALL_LEADS) and (seen or not how.mixed):
                lessons.append(lesson)
    return lessons


def _lesson(record: Annotated, rendered: Rendered, lead: int, how: Rendition, weight: float, seed: int) -> Lesson:
    rate_hz = record.recording.rate_hz
    leads = slice(None) if lead == ALL_LEADS else slice(lead, lead + 1)
    found = survey(rendered.samples[leads], rate_hz)
    beat_of = label(found.at, centres(rendered.clean[leads], rendered.beat, rate_hz), rendered.beat, rate_hz)
    is_beat = beat_of >= 0
    classes = np.array(record.beat_class)[np.maximum(beat_of, 0)]
    moved = rendered.beat[np.maximum(beat_of, 0)] != record.beat[np.maximum(beat_of, 0)]
    rare = is_beat & (np.isin(classes, list(RARE)) | moved)
    clean = how.name in CLEAN
    share = np.where(_easy(found.features, is_beat), _KEEP_EASY, 1.0 if clean else _KEEP_NOISY)
    counts = ~inside(found.at, record.excluded) & (found.at >= int(_START_S * rate_hz))
    drawn = generator(record, f"{how.name}:{lead}:thinned", seed).uniform(size=len(share)) < share
    weights = weight / share * np.where(rare, _RARE_WEIGHT if clean else np.sqrt(_RARE_WEIGHT), 1.0)
    use = counts & drawn & (weight > 0.0)
    return Lesson(how.name, lead, found, rendered.beat, is_beat, counts, use, weights, weight)


def centres(clean: I16, beat: I64, rate_hz: float) -> I64:
    """Where the response to clean leads is largest within 100 ms of each beat, on its side of the midpoints."""
    one = filter_for(Design(), rate_hz, len(clean))
    f = respond(np.ascontiguousarray(clean)[None], rate_hz, one)[0][0]
    reach, n = int(_REACH_S * rate_hz), len(f)
    middle = (beat[1:] + beat[:-1]) // 2
    first = np.maximum(np.maximum(beat - reach, 0), np.concatenate([[0], middle]))
    last = np.minimum(np.minimum(beat + reach, n - 1), np.concatenate([middle, [n - 1]]))
    return np.array(
        [a + int(np.argmax(f[a : b + 1])) if b > a else c for a, b, c in zip(first, last, beat, strict=True)], np.int64
    )


def label(at: I64, centre: I64, beat: I64, rate_hz: float) -> I64:
    """Return for each peak the beat it is, or -1."""
    out = np.full(len(at), -1, np.int64)
    near, far = int(_NEAR_S * rate_hz), int(_FAR_S * rate_hz)
    if len(at) == 0:
        return out
    for k, (c, b) in enumerate(zip(centre.tolist(), beat.tolist(), strict=True)):
        j = int(np.searchsorted(at, c))
        around = np.arange(max(0, j - 1), min(len(at), j + 1))
        close = around[np.abs(at[around] - c) <= near]
        if len(close):
            out[close[np.argmin(np.abs(at[close] - c))]] = k
            continue
        around = np.arange(max(0, j - 3), min(len(at), j + 3))
        free = around[(np.abs(at[around] - b) <= far) & (out[around] < 0)]
        if len(free):
            out[free[np.argmin(np.abs(at[free] - b))]] = k
    return out


def _easy(x: F32, is_beat: Bool) -> Bool:
    """Tell which peaks teach little: usual beats that stand alone, and low peaks that are none."""
    tall = x[:, peak_features.HEIGHT]
    alone = (x[:, peak_features.BEFORE_120] < 0.3) & (x[:, peak_features.AFTER_120] < 0.3)
    easy: Bool = (is_beat & alone & (tall > 0.7) & (tall < 1.5)) | (~is_beat & (tall < 0.15))
    return easy
