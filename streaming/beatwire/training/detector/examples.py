"""Training examples of the detector: the candidate peaks of an augmented record, labelled and weighted.

In:  an annotated record and recorded noise
Out: one :class:`Examples` for each augmentation and lead

A peak is labelled a beat if it is the nearest within 60 ms of the maximum of the clean response to an annotated beat,
or else the nearest within 150 ms of the annotation. Peaks in excluded spans are not used. Easy peaks are subsampled,
with weights that make up for it; ventricular beats have a larger weight.
"""

from dataclasses import dataclass

import numpy as np

from beatwire.evaluation.beats.match import inside
from beatwire.evaluation.records import AnnotatedRecord
from beatwire.kernels.peaks import peak_features
from beatwire.records import F32, F64, I16, I64, Bool
from beatwire.stages.support.filters import Design, filter_for
from beatwire.training.detector.augmentation import (
    EVALUATION_NOISE,
    NOISE_FREE,
    TRAINED_ON,
    Augmentation,
    Augmented,
    NoiseBank,
    augment,
    generator,
)
from beatwire.training.detector.candidates import Candidates, find_candidates, respond

RARE = frozenset("VFQ")  # AAMI classes with a larger weight
ALL_LEADS = 2  # ``Examples.lead`` of the peaks of all leads together
_NEAR_S = 0.06  # of the maximum of the clean response
_FAR_S = 0.15  # of the annotation: the tolerance of EC57
_REACH_S = 0.10  # from an annotation to the maximum of the clean response
_START_S = 0.3  # peaks before it are not used: the beat may be cut off
_KEEP_EASY, _KEEP_NOISY = 0.05, 0.6  # share of the peaks that are used: of easy ones, of others in noise
_RARE_WEIGHT = 6.0
# Beats are visible on a lead with more than 100 beats of which more than 90 % are higher than half the level. Other
# leads are not trained on.
_VISIBLE_BEATS, _VISIBLE_SHARE, _VISIBLE_HEIGHT = 100, 0.9, 0.5


@dataclass(frozen=True)
class Examples:
    """The labelled candidate peaks of one lead of an augmented record, or of all its leads (``ALL_LEADS``).

    augmentation      name of the augmentation
    beat              int64 [b], sample index of every beat
    is_beat, counted  bool [p], whether a peak is a beat, and whether it is outside excluded spans
    use, weight       bool [p], float64 [p], whether a peak is trained on, and its weight
    uniform_weight    weight of every counted peak if none were subsampled, for the calibration
    """

    augmentation: str
    lead: int
    candidates: Candidates
    beat: I64
    is_beat: Bool
    counted: Bool
    use: Bool
    weight: F64
    uniform_weight: float

    @property
    def by_rule(self) -> Bool:
        """Which peaks are beats by the rule that needs no trees (``kernels.detection.beats``): bool [p]."""
        s = self.candidates
        level = np.maximum(10 * s.median, 3 * s.quantile)
        accepted: Bool = 100 * s.value > 3 * np.where(level == 0, 10 * s.value, level)
        return accepted


def examples_of(record: AnnotatedRecord, noises: NoiseBank, seed: int) -> list[Examples]:
    """Return the examples of all augmentations of a record: first lead, second lead if beats are visible, all leads."""
    examples = []
    usable = {0: True, ALL_LEADS: True}
    for augmentation in TRAINED_ON + EVALUATION_NOISE:
        augmented = augment(record, augmentation, noises, seed)
        weights = ((0, augmentation.weight), (1, augmentation.second_weight), (ALL_LEADS, augmentation.weight))
        for lead, weight in weights:
            needed = lead == ALL_LEADS or (not augmentation.one_lead and (lead == 0 or weight > 0.0))
            if not needed or (lead > 0 and len(augmented.samples) < 2):
                continue
            found = _examples(record, augmented, lead, augmentation, weight, seed)
            visible = _beats_are_visible(found)
            if augmentation.name == TRAINED_ON[0].name and lead == 1:
                usable[1] = visible
            if usable.get(lead, False) and (visible or not augmentation.mixed):
                examples.append(found)
    return examples


def _beats_are_visible(examples: Examples) -> bool:
    """Return True if there are enough beats and most are high enough, see ``_VISIBLE_BEATS``."""
    height = examples.candidates.features[examples.is_beat & examples.counted, peak_features.HEIGHT]
    return len(height) > _VISIBLE_BEATS and float((height > _VISIBLE_HEIGHT).mean()) > _VISIBLE_SHARE


def _examples(
    record: AnnotatedRecord, augmented: Augmented, lead: int, augmentation: Augmentation, weight: float, seed: int
) -> Examples:
    rate_hz = record.recording.rate_hz
    leads = slice(None) if lead == ALL_LEADS else slice(lead, lead + 1)
    candidates = find_candidates(augmented.samples[leads], rate_hz)
    maxima = response_maxima(augmented.clean[leads], augmented.beat, rate_hz)
    beat_of = label(candidates.at, maxima, augmented.beat, rate_hz)
    is_beat = beat_of >= 0
    classes = np.array(record.beat_class)[np.maximum(beat_of, 0)]
    replaced = augmented.beat[np.maximum(beat_of, 0)] != record.beat[np.maximum(beat_of, 0)]
    rare = is_beat & (np.isin(classes, list(RARE)) | replaced)
    noise_free = augmentation.name in NOISE_FREE
    share = np.where(_easy(candidates.features, is_beat), _KEEP_EASY, 1.0 if noise_free else _KEEP_NOISY)
    counted = ~inside(candidates.at, record.excluded) & (candidates.at >= int(_START_S * rate_hz))
    drawn = generator(record, f"{augmentation.name}:{lead}:thinned", seed).uniform(size=len(share)) < share
    weights = weight / share * np.where(rare, _RARE_WEIGHT if noise_free else np.sqrt(_RARE_WEIGHT), 1.0)
    use = counted & drawn & (weight > 0.0)
    return Examples(augmentation.name, lead, candidates, augmented.beat, is_beat, counted, use, weights, weight)


def response_maxima(clean: I16, beat: I64, rate_hz: float) -> I64:
    """Return where the response to clean leads [leads, n] is largest for each beat: int64 [b].

    The search reaches 100 ms to either side, but not beyond the midpoints between beats.
    """
    one = filter_for(Design(), rate_hz, len(clean))
    f = respond(np.ascontiguousarray(clean)[None], rate_hz, one)[0][0]
    reach, n = int(_REACH_S * rate_hz), len(f)
    middle = (beat[1:] + beat[:-1]) // 2
    first = np.maximum(np.maximum(beat - reach, 0), np.concatenate([[0], middle]))
    last = np.minimum(np.minimum(beat + reach, n - 1), np.concatenate([middle, [n - 1]]))
    return np.array(
        [a + int(np.argmax(f[a : b + 1])) if b > a else c for a, b, c in zip(first, last, beat, strict=True)], np.int64
    )


def label(at: I64, maximum: I64, beat: I64, rate_hz: float) -> I64:
    """Return for each peak the index of its beat, or -1: int64 [p].

    Parameters
    ----------
    at
        int64 [p], sample index of each peak, ascending.
    maximum, beat
        int64 [b], of each beat the maximum of the clean response and the annotation.
    rate_hz
        Sampling rate.
    """
    beat_of = np.full(len(at), -1, np.int64)
    near, far = int(_NEAR_S * rate_hz), int(_FAR_S * rate_hz)
    if len(at) == 0:
        return beat_of
    for k, (c, b) in enumerate(zip(maximum.tolist(), beat.tolist(), strict=True)):
        j = int(np.searchsorted(at, c))
        around = np.arange(max(0, j - 1), min(len(at), j + 1))
        close = around[np.abs(at[around] - c) <= near]
        if len(close):
            beat_of[close[np.argmin(np.abs(at[close] - c))]] = k
            continue
        around = np.arange(max(0, j - 3), min(len(at), j + 3))
        free = around[(np.abs(at[around] - b) <= far) & (beat_of[around] < 0)]
        if len(free):
            beat_of[free[np.argmin(np.abs(at[free] - b))]] = k
    return beat_of


def _easy(x: F32, is_beat: Bool) -> Bool:
    """Return which peaks are easy to classify: isolated beats of usual height, and low peaks that are no beats."""
    tall = x[:, peak_features.HEIGHT]
    alone = (x[:, peak_features.BEFORE_120] < 0.3) & (x[:, peak_features.AFTER_120] < 0.3)
    easy: Bool = (is_beat & alone & (tall > 0.7) & (tall < 1.5)) | (~is_beat & (tall < 0.15))
    return easy
