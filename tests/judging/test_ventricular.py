"""The judge of ventricular runs: its features against a slow version, its labels, its model on disk."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire.evaluation.records import AnnotatedRecord, Rhythm
from beatwire.kernels.classes.beat_class import MEASURED, MEASURED_NAMES, P_S, P_V
from beatwire.kernels.peaks.classify import LEAF_UNIT
from beatwire.kernels.rhythms import ventricular as kernel
from beatwire.model.ventricular import load_ventricular_judges, save_ventricular_judges
from beatwire.recordings import Recording
from beatwire.records.events import BEAT
from beatwire.records.ventricular import Ventricular, VentricularBeats, VentricularMemory
from beatwire.training.forest import joined
from beatwire.training.ventricular.examples import LEFT_OUT, NONE, RUN, UNMARKED, group_of, label_beats

RATE_HZ = 100.0


def beats_of(rng: np.random.Generator, n: int) -> VentricularBeats:
    measures = rng.random((n, MEASURED)).astype(np.float32)
    rr_s = np.where(rng.random(n) < 0.2, np.nan, rng.uniform(0.3, 1.5, n))
    errors = np.where(rng.random(n) < 0.2, np.nan, rng.random(n)).astype(np.float32)
    return VentricularBeats(rr_s, rng.uniform(0.5, 1.2, n), rng.random(n).astype(np.float32), errors, measures)


def features_of(beats: VentricularBeats) -> np.ndarray:
    """Features of the last beat, in plain numpy."""
    v, s = beats.measures[:, P_V], beats.measures[:, P_S]
    known = np.isfinite(beats.rr_s)
    errors = np.nan_to_num(beats.expected_errors, nan=1.0)

    def rr(n: int) -> np.ndarray:
        return beats.rr_s[-n:][known[-n:]]

    def three(name: str) -> np.ndarray:
        return beats.measures[-3:, 2 + MEASURED_NAMES.index(name)]

    last = np.zeros(5)
    last[: len(v[-5:])] = v[-5:][::-1]
    like, duration = (beats.measures[-4:, 2 + MEASURED_NAMES.index(name)] for name in ("like last", "duration"))
    return np.array(
        [
            *last, v[-8:].mean(), (v[-8:] > 0.4).sum(), v[-3:].min() if len(v) >= 3 else 0.0, s[-5:].mean(),
            rr(4).mean() if len(rr(4)) else 0.8, np.ptp(rr(4)) / rr(4).mean() if len(rr(4)) else 0.0,
            rr(8).mean() if len(rr(8)) else 0.8, beats.median_rr_s[-1], *beats.measures[-4:, 2:10].mean(axis=0),
            like.min(), duration.min(), beats.quality[-5:].mean(), beats.quality[-8:].min(), errors[-1],
            errors[-8:].max(), three("least whole").max(), three("least whole").mean(), three("slope spread").min(),
            three("rr over median of 30 s").max(), three("largest sharpness").max(), three("least sharpness").mean(),
            three("least sharpness").max(), three("least t towards qrs").max(), three("least deflection").max(),
        ]
    )  # fmt: skip


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8, 9, 30])
def test_features_are_those_of_the_last_eight_beats(n: int, rng: np.random.Generator) -> None:
    beats = beats_of(rng, n)
    past, features = np.zeros((kernel.PAST, kernel.COLUMNS), np.float32), np.zeros(kernel.FEATURES, np.float32)
    recent = np.zeros((kernel.RECENT, kernel.RECENT_COLUMNS), np.float32)
    sample, count = np.zeros(kernel.PAST, np.int64), 0
    for b in range(n):
        count = kernel.forget(0, count, past, recent, sample) + 1
        sample[count - 1] = b
        kernel.store(b, past[count - 1], recent[min(count, kernel.RECENT) - 1], beats)
    kernel.write_features(past, recent, count, features)
    assert len(kernel.NAMES) == kernel.FEATURES
    np.testing.assert_allclose(features, features_of(beats), rtol=1e-5, atol=1e-6)


def test_beats_of_more_than_twelve_seconds_ago_are_forgotten() -> None:
    past, sample = np.arange(8.0)[:, None].repeat(kernel.COLUMNS, axis=1).astype(np.float32), np.arange(8) * 100
    recent = np.arange(4.0, 8.0)[:, None].repeat(kernel.RECENT_COLUMNS, axis=1).astype(np.float32)
    assert kernel.forget(350, 8, past, recent, sample) == 4
    assert (sample[:4].tolist(), past[:4, 0].tolist()) == ([400, 500, 600, 700], [4, 5, 6, 7])
    assert recent[:3, 0].tolist() == [5, 6, 7]
    recent[3], past[4] = 8.0, 8.0
    sample[4] = 800
    assert kernel.forget(650, 5, past, recent, sample) == 2
    assert (past[:2, 0].tolist(), recent[:2, 0].tolist()) == ([7, 8], [7, 8])
    assert kernel.forget(0, 2, past, recent, sample) == 2
    assert (past[:2, 0].tolist(), recent[:2, 0].tolist()) == ([7, 8], [7, 8])


def annotated(classes: str, rhythms: tuple[Rhythm, ...] = ()) -> AnnotatedRecord:
    beat = 100 * np.arange(1, len(classes) + 1)
    recording = Recording("r", RATE_HZ, ("II",), 5.0, np.zeros((1, 10_000), np.int16))
    return AnnotatedRecord(recording, beat, tuple(classes), np.zeros((0, 2), np.int64), rhythms)


def test_a_beat_of_a_run_is_the_third_ventricular_one_and_those_after_it() -> None:
    truth = annotated("NVVNVVVVNNNNFN")
    label = label_beats(truth.beat, RATE_HZ, 10_000, truth, ())
    expected = [NONE] * 6 + [RUN, RUN] + [LEFT_OUT] * 3 + [NONE] + [LEFT_OUT] * 2
    assert label.tolist() == expected


def test_runs_of_a_paced_heart_are_left_out_and_its_other_beats_are_no_run() -> None:
    truth = replace(annotated("QQQVVVQQQQQQ"), paced=True)
    label = label_beats(truth.beat, RATE_HZ, 10_000, truth, ())
    assert label.tolist() == [NONE] * 5 + [LEFT_OUT] * 4 + [NONE] * 3


def test_a_marked_rhythm_labels_the_beats_in_it_but_for_its_beginning() -> None:
    truth = annotated("", (Rhythm("N", 0, 1000), Rhythm("VT", 1000, 2000), Rhythm("VFL", 2000, 3000)))
    label = label_beats(np.array([500, 1100, 1500, 2500]), RATE_HZ, 10_000, truth, ())
    assert label.tolist() == [NONE, LEFT_OUT, RUN, LEFT_OUT]


@pytest.mark.parametrize(
    ("comments", "expected"),
    [
        (("Ventricular_Tachycardia", "True alarm"), [LEFT_OUT, LEFT_OUT, UNMARKED]),
        (("Ventricular_Tachycardia", "False alarm"), [LEFT_OUT, NONE, NONE]),
        (("Asystole", "False alarm"), [LEFT_OUT, LEFT_OUT, NONE]),
        (("Asystole", "True alarm"), [LEFT_OUT] * 3),
        (("noisy",), [NONE] * 3),
        (("other",), [LEFT_OUT] * 3),
    ],
)
def test_comments_label_the_end_of_a_bedside_record(comments: tuple[str, ...], expected: list[int]) -> None:
    assert label_beats(np.array([1000, 7500, 9500]), RATE_HZ, 10_000, None, comments).tolist() == expected


def test_bedside_records_with_near_numbers_may_be_of_one_patient() -> None:
    near, far = Path("cinc2015/v131l"), Path("cinc2015/v331l")
    assert group_of(near) == group_of(Path("cinc2015/a125s")) != group_of(far)
    assert group_of(Path("mitdb/202")) == "mitdb/201"


def test_a_judge_of_other_features_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leaf = {"feature": [-1, -1], "threshold": [0.0, 0.0], "below": [0, 0], "leaf": [0, 0], "roots": [0, 1]}
    path = tmp_path / "mine.safetensors"
    save_ventricular_judges(path, leaf, {})
    monkeypatch.setattr(kernel, "PAST", 9)
    with pytest.raises(UserError, match=r"mine.json: expected judges of ventricular runs trained with beats 9; got 8"):
        load_ventricular_judges(path)


def test_the_first_trees_judge_tachycardia_and_the_others_runs(tmp_path: Path) -> None:
    def leaf(logit: float) -> dict[str, np.ndarray]:
        one = {"feature": [-1], "threshold": [0.0], "below": [0], "leaf": [round(logit * LEAF_UNIT)], "roots": [0]}
        return {name: np.array(values) for name, values in one.items()}

    trees = save_ventricular_judges(tmp_path / "mine.safetensors", joined(leaf(-1.0), leaf(2.0)), {}).trees
    features = np.zeros(kernel.FEATURES, np.float32)
    assert [kernel.logit_of(row, trees, features) for row in (kernel.TACHYCARDIA, kernel.RUN)] == [-1.0, 2.0]


def test_no_run_is_judged_before_the_third_beat() -> None:
    trees, n = load_ventricular_judges().trees, 4
    measures = np.ones((n, MEASURED), np.float32)
    beats = VentricularBeats(
        np.full(n, 0.4), np.full(n, 0.8), np.ones(n, np.float32), np.zeros(n, np.float32), measures
    )
    memory = VentricularMemory(
        np.zeros((1, kernel.PAST, kernel.COLUMNS), np.float32),
        np.zeros((1, kernel.RECENT, kernel.RECENT_COLUMNS), np.float32),
        np.zeros((1, kernel.PAST), np.int64),
        np.zeros(1, np.int64),
    )
    found = Ventricular(np.zeros(n), np.zeros(n), np.zeros(n))
    events = np.array([(0, 1, BEAT, 40 * k, k, 0) for k in range(n)], np.int64)
    kernel.judge_ventricular(
        0, np.array([0, n]), events, beats, np.array([1200]), trees, memory,
        np.zeros((1, kernel.FEATURES), np.float32), found,
    )  # fmt: skip
    assert np.isnan(found.run).tolist() == [True, True, False, False]
    assert not np.isnan(found.tachycardia).any()
