"""Lessons of the detector: what a rendition changes, and who learns from it."""

from __future__ import annotations

import numpy as np
import pytest
from beatwire.evaluation.records import Annotated
from beatwire.recordings.synthetic.person import synthesise
from beatwire.training import augment
from beatwire.training.lessons import ALL_LEADS, lessons_of
from beatwire.training.renditions import JUDGED, RENDITIONS, Noises, render


@pytest.fixture(scope="module")
def record() -> Annotated:
    truth = synthesise(5, rate_hz=128.0, leads=2, seconds=200.0)
    beat = truth.detectable_beats()
    return Annotated(truth.recording, beat, ("N",) * len(beat), np.empty((0, 2), np.int64))


def test_turns_come_to_every_lead_and_to_one_at_a_time() -> None:
    turn = augment.in_turn(2, 60_000, 100.0, np.random.default_rng(3))
    assert set(np.unique(turn)) == {0.0, 1.0}
    assert turn.sum(axis=0).max() == 1
    assert (turn.mean(axis=1) > 0.1).all()
    assert (turn.sum(axis=0) == 0).any()


def test_noise_of_one_lead_leaves_the_other_as_it_was(record: Annotated) -> None:
    for how in (h for h in RENDITIONS if h.one_lead):
        rendered = render(record, how, Noises({}), seed=0)
        changed = rendered.samples != rendered.clean
        assert changed.any()
        assert not changed.all(axis=0).any()


def test_only_all_leads_together_learn_from_noise_of_one(record: Annotated) -> None:
    leads = {how.name: set[int]() for how in RENDITIONS + JUDGED}
    for lesson in lessons_of(record, Noises({}), seed=0):
        leads[lesson.name].add(lesson.lead)
    for how in RENDITIONS + JUDGED:
        if not how.mixed:
            assert (leads[how.name] == {ALL_LEADS}) is how.one_lead, how.name
