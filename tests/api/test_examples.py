"""Training examples of the detector: what an augmentation changes, and which leads are trained on."""

import numpy as np
import pytest
from beatwire.evaluation.records import AnnotatedRecord
from beatwire.recordings.synthetic.person import synthesise
from beatwire.training.detector import transforms
from beatwire.training.detector.augmentation import EVALUATION_NOISE, TRAINED_ON, NoiseBank, augment
from beatwire.training.detector.examples import ALL_LEADS, examples_of


@pytest.fixture(scope="module")
def record() -> AnnotatedRecord:
    truth = synthesise(5, rate_hz=128.0, leads=2, seconds=30.0)
    beat = truth.detectable_beats()
    return AnnotatedRecord(truth.recording, beat, ("N",) * len(beat), np.empty((0, 2), np.int64))


def test_the_mask_is_on_every_lead_in_turn_and_on_one_at_a_time() -> None:
    mask = transforms.one_lead_mask(2, 60_000, 100.0, np.random.default_rng(3))
    assert set(np.unique(mask)) == {0.0, 1.0}
    assert mask.sum(axis=0).max() == 1
    assert (mask.mean(axis=1) > 0.1).all()
    assert (mask.sum(axis=0) == 0).any()


def test_noise_on_one_lead_does_not_change_the_other(record: AnnotatedRecord) -> None:
    for augmentation in (a for a in TRAINED_ON if a.one_lead):
        augmented = augment(record, augmentation, NoiseBank({}), seed=0)
        changed = augmented.samples != augmented.clean
        assert changed.any()
        assert not changed.all(axis=0).any()


@pytest.mark.slow  # it trains
def test_noise_on_one_lead_is_trained_on_with_all_leads_only(record: AnnotatedRecord) -> None:
    leads = {a.name: set[int]() for a in TRAINED_ON + EVALUATION_NOISE}
    for examples in examples_of(record, NoiseBank({}), seed=0):
        leads[examples.augmentation].add(examples.lead)
    for a in TRAINED_ON + EVALUATION_NOISE:
        if not a.mixed:
            assert (leads[a.name] == {ALL_LEADS}) is a.one_lead, a.name
