"""How the logits of trees and network are combined: fitted on doubtful peaks of records that neither has seen.

In:    records with their folds, the integer networks of the folds
Out:   :class:`Doubts` of each record and augmentation, and the weights of ``records.waveform.WaveNetwork.combination``
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from beatwire.evaluation.beats.match import inside
from beatwire.jit import cpu
from beatwire.kernels.peaks import classify, doubt, risk, wave_input, wave_network
from beatwire.kernels.peaks.past_samples import BLOCK_BYTES
from beatwire.kernels.peaks.peak_features import LOOKBACK, SPAN_S
from beatwire.model.checkpoint import held_out_models
from beatwire.model.trees import KNOTS, SHIPPED, load_trees
from beatwire.model.waveform import network_of
from beatwire.records import F64, Bool
from beatwire.stages.detection.doubt import grid_for, scratch_of
from beatwire.stages.support.ensemble import Ensemble
from beatwire.training.detector.augmentation import TRAINED_ON, NoiseBank, augment
from beatwire.training.detector.candidates import Candidates, find_candidates
from beatwire.training.detector.examples import label, response_maxima
from beatwire.training.detector.figures import TrainingRecord
from beatwire.training.progress import Progress

NO_PAST = np.zeros((1, BLOCK_BYTES), np.uint8)  # all is read from the recording
AUGMENTATIONS = TRAINED_ON[:3]  # as recorded, wander and muscle, electrode motion
NOISY_WEIGHT = 0.3  # of a peak in noise
L2 = 1e-3


@dataclass(frozen=True)
class Doubts:
    """The doubtful peaks of a record.

    several   whether of all leads together, or of the first alone
    terms     float64 [p, 4]: 1, the logit of the trees, mean and largest logit of the leads
    is_beat   bool [p]
    """

    fold: int
    augmentation: str
    several: bool
    terms: F64
    is_beat: Bool


def read_doubts(
    records: Sequence[TrainingRecord], networks: Sequence[Mapping[str, Any]], noises: NoiseBank, seed: int,
    progress: Progress,
) -> list[Doubts]:  # fmt: skip
    """Return the doubtful peaks of all records, each judged by the network and the trees that have not seen it."""
    companions = held_out_models(SHIPPED)
    found = []
    for done, record in enumerate(records):
        one = record.record.recording
        progress(0.8 + 0.2 * done / len(records), f"{record.database} {one.name}")
        trees = load_trees(companions.get((one.name, one.samples.shape[1])))
        network = network_of(networks[record.fold])
        for augmentation in AUGMENTATIONS:
            augmented = augment(record.record, augmentation, noises, seed)
            for several in (False, True):
                leads = slice(None) if several else slice(0, 1)
                samples, clean = augmented.samples[leads], augmented.clean[leads]
                peaks = find_candidates(samples, one.rate_hz)
                logit = tree_logits(trees, peaks)
                asked = _doubtful(trees, peaks, logit, one.rate_hz) & ~inside(peaks.at, record.record.excluded)
                maxima = response_maxima(clean, augmented.beat, one.rate_hz)
                is_beat = label(peaks.at, maxima, augmented.beat, one.rate_hz) >= 0
                leads_say = lead_logits(samples, peaks.at[asked], one.rate_hz, network)
                ones = np.ones(int(asked.sum()))
                terms = np.stack([ones, logit[asked], leads_say.mean(axis=1), leads_say.max(axis=1)], axis=1)
                if not several:
                    terms[:, 3] = 0.0
                found.append(Doubts(record.fold, augmentation.name, several, terms, is_beat[asked]))
    return found


def tree_logits(trees: Ensemble, peaks: Candidates) -> F64:
    """Return the logits of the trees: float64 [p]."""
    evaluate: Callable[..., float] = cpu.compiled(classify.evaluate_trees)
    rows = peaks.several.astype(np.int64)
    logit = np.array(
        [
            evaluate(trees.feature[k], trees.threshold[k], trees.leaf[k], x)
            for k, x in zip(rows, peaks.features, strict=True)
        ]
    )
    typical: F64 = np.where(peaks.typical, classify.TYPICAL_LOGIT, logit)
    return typical


def _doubtful(trees: Ensemble, peaks: Candidates, logit: F64, rate_hz: float) -> Bool:
    """Return which peaks are judged again."""
    limit = risk.LOGIT_RANGE
    chance = np.interp(logit, np.linspace(-limit, limit, KNOTS), trees.probability)
    risks = np.concatenate([[0.0], np.cumsum(np.where(logit > 0, 1 - chance, chance))])
    errors = risks[1:] - risks[np.searchsorted(peaks.at, peaks.at - int(SPAN_S[LOOKBACK] * rate_hz))]
    return np.array([doubt.in_doubt(a, b) for a, b in zip(logit.tolist(), errors.tolist(), strict=True)], np.bool_)


def lead_logits(samples: Any, at: Any, rate_hz: float, network: Any) -> F64:
    """Return the logits of every lead of int16 [leads, n] at samples ``at``: float64 [p, leads]."""
    gather, channels, judge = map(
        cpu.compiled, (wave_input.gather, wave_input.write_channels, wave_network.judge_waveform)
    )
    held = np.concatenate([samples, np.repeat(samples[:, -1:], int(rate_hz), axis=1)], axis=1)
    grid, scratch = grid_for(rate_hz, network.narrow.shape[0])._replace(recent=held.shape[1]), scratch_of(network)
    found = np.zeros((len(at), len(samples)))
    for row, c in enumerate(np.asarray(at).tolist()):
        for lead, x in enumerate(held):
            early = max(0, gather(x, NO_PAST, 0, c, grid, scratch.numbers) - wave_input.BEFORE)
            channels(scratch.numbers, len(grid.offset), network.compressed, early, scratch.frames[0])
            total = judge(scratch.frames[0], early, network, scratch.frames, scratch.rows)
            found[row, lead] = total / wave_network.LOGIT_UNIT
    return found


def combination(doubts: Sequence[Doubts]) -> F64:
    """Return the weights: float64 [2, 4], row 0 for one lead, row 1 for several."""
    return np.stack([_fitted([d for d in doubts if d.several == several]) for several in (False, True)])


def _fitted(doubts: Sequence[Doubts]) -> F64:
    terms, is_beat = (np.concatenate([getattr(d, name) for d in doubts]) for name in ("terms", "is_beat"))
    weight = np.concatenate(
        [np.full(len(d.terms), 1.0 if d.augmentation == AUGMENTATIONS[0].name else NOISY_WEIGHT) for d in doubts]
    )

    of_all = max(float(weight.sum()), 1.0)

    def loss(w: F64) -> tuple[float, F64]:
        z = terms @ w
        chance = expit(z)
        likelihood = weight * (np.logaddexp(0.0, z) - is_beat * z)
        return float(likelihood.sum() / of_all + L2 * (w**2).sum()), (
            terms.T @ (weight * (chance - is_beat)) / of_all + 2 * L2 * w
        )

    fitted: F64 = np.round(minimize(loss, np.zeros(terms.shape[1]), jac=True, method="L-BFGS-B").x, 4)
    return fitted


def figures_of(doubts: Sequence[Doubts], fit: Callable[[Sequence[Doubts]], F64]) -> list[dict[str, Any]]:
    """Return by augmentation and leads how many doubtful peaks there are, and how many are classified wrongly."""
    by_fold = {fold: fit([d for d in doubts if d.fold != fold]) for fold in {d.fold for d in doubts}}
    rows: dict[tuple[str, str], list[int]] = {}
    for d in doubts:
        again = d.terms @ by_fold[d.fold][int(d.several)]
        row = rows.setdefault((d.augmentation, "all" if d.several else "first"), [0, 0, 0])
        for k, count in enumerate(
            (len(again), ((d.terms[:, 1] > 0) != d.is_beat).sum(), ((again > 0) != d.is_beat).sum())
        ):
            row[k] += int(count)
    keys = ("augmentation", "lead", "peaks", "wrong by trees", "wrong together")
    return [dict(zip(keys, (*key, *row), strict=True)) for key, row in rows.items()]
