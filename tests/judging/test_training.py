"""What every training asks for: records and noise of any length, rate and label give a model, or one clear error."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import wfdb
from beatwire.errors import UserError
from beatwire.evaluation.records import AnnotatedRecord, annotate
from beatwire.recordings import read_recording
from beatwire.recordings.synthetic.person import synthesise
from beatwire.training.checks import read_noises, require_both, require_own_names, require_seconds
from beatwire.training.detector.figures import TrainingRecord
from beatwire.training.forest import joined_rows
from beatwire.training.progress import ignore
from beatwire.training.settings import STRETCH_S, VaeSettings
from beatwire.training.specs import fit
from beatwire.training.task import Task
from beatwire.training.vae.calibrate import mean_of_quantiles, pooled_quantiles
from beatwire.training.vae.dataset import Subject, cut_beats, read_subject
from beatwire.training.vae.network_cache import NetworkCache, training_windows
from hypothesis import given, settings
from hypothesis import strategies as st
from page_folder import write_records

WriteNoise = Callable[[str, np.ndarray, float], Path]


@pytest.fixture
def write_noise(tmp_path: Path) -> WriteNoise:
    """Write a record of noise, int16 [n, leads]."""

    def write(name: str, samples: np.ndarray, rate_hz: float) -> Path:
        leads = samples.shape[1]
        wfdb.wrsamp(
            name, rate_hz, ["mV"] * leads, [f"n{k}" for k in range(leads)], d_signal=samples.astype(np.int64),
            fmt=["16"] * leads, adc_gain=[200.0] * leads, baseline=[0] * leads, write_dir=str(tmp_path),
        )  # fmt: skip
        return tmp_path / name

    return write


def some_noise(seconds: float, rate_hz: float = 100.0, leads: int = 2) -> np.ndarray:
    return np.random.default_rng(0).integers(-500, 500, (max(1, round(seconds * rate_hz)), leads))


def test_noise_is_read_with_its_rate_and_missing_values_are_none(write_noise: WriteNoise) -> None:
    samples = some_noise(20.0)
    samples[100:300] = -32768
    noise, rate_hz = read_noises([write_noise("ma", samples, 100.0)])["ma"]
    assert (noise.shape, rate_hz) == ((2, 2000), 100.0)
    assert np.abs(noise).max() <= 500


@pytest.mark.parametrize(
    ("names", "seconds", "is_flat", "message"),
    [
        (["ma"], 3.0, False, r"--noise: .*ma: expected at least 10 s of noise; got 3 s"),
        (["ma"], 0.01, False, r"--noise: .*ma: expected at least 10 s of noise; got 0.01 s"),
        (["ma"], 20.0, True, r"--noise: .*ma: expected noise on each lead; lead n1 has none"),
        (["em100"], 20.0, False, r"--noise: expected a record named bw or ma; got .*em100"),
        (["ma", "ma"], 20.0, False, r"--noise: expected records with names of their own; got ma twice"),
    ],
)
def test_noise_that_cannot_be_used_is_one_clear_error(
    write_noise: WriteNoise, names: list[str], seconds: float, is_flat: bool, message: str
) -> None:
    samples = some_noise(seconds)
    samples[:, 1] *= not is_flat
    paths = [write_noise(name, samples, 100.0) for name in names]
    with pytest.raises(UserError, match=message):
        read_noises(paths, ("ma", "bw"))


@given(
    st.lists(st.floats(STRETCH_S, 40.0), min_size=2, max_size=4),
    st.sampled_from([128.0, 250.0, 360.0, 1000.0]),
    st.sampled_from([1, 2]),
)
@settings(max_examples=2, deadline=None)
def test_no_stretch_of_the_network_reaches_into_the_next_record(
    seconds: list[float], rate_hz: float, leads: int
) -> None:
    torch = pytest.importorskip("torch")
    from beatwire.training.network.batches import Signals

    records = []
    for k, length_s in enumerate(seconds):
        recording = synthesise(k, rate_hz=rate_hz, leads=leads, seconds=length_s).recording
        beat = np.arange(1, recording.samples.shape[1] - 1, round(rate_hz))
        annotated = AnnotatedRecord(recording, beat, ("N",) * len(beat), np.zeros((0, 2), np.int64))
        require_seconds("db", annotated, STRETCH_S - 0.1)
        records.append(TrainingRecord("db", annotated, [], k % 5))
    torch.manual_seed(0)
    signals = Signals(records, {("ma", 0): some_noise(20.0)[:, 0].astype(float)}, "cpu")
    read: list[tuple[float, float]] = []
    samples = signals.samples

    class Watched:
        def __getitem__(self, at: object) -> object:
            read.append((float(at.min()), float(at.max())))  # type: ignore[attr-defined]
            first = torch.searchsorted(signals.first, at.min(1).values, right=True)  # type: ignore[attr-defined]
            last = torch.searchsorted(signals.first, at.max(1).values, right=True)  # type: ignore[attr-defined]
            assert (first == last).all()
            return samples[at]

    signals.samples = Watched()
    signals.batch(6, 4)
    assert read


@pytest.mark.parametrize("kind", ["network", "classes", "vae"])
def test_five_folders_of_one_record_are_one_clear_error(tmp_path: Path, kind: str) -> None:
    """Folds are assigned in turn within a folder: all would be in one."""
    pytest.importorskip("torch" if kind in ("network", "vae") else "lightgbm")
    for k in range(5):
        (tmp_path / str(k)).mkdir()
        write_records(tmp_path / str(k), [str(k)], leads=1)
    with pytest.raises(UserError, match=r"0: expected at least 5 annotated records.* in one of the folders; got 1"):
        fit(kind, [tmp_path / str(k) for k in range(5)], tmp_path / "m.safetensors")


def test_records_that_are_too_short_or_share_a_name_are_one_clear_error() -> None:
    recording = synthesise(0, name="100", seconds=5.0).recording
    with pytest.raises(UserError, match="db/100: expected at least 16 s to train on; got 5 s"):
        require_seconds("db", AnnotatedRecord(recording, np.zeros(0, np.int64), (), np.zeros((0, 2), np.int64)), 16.0)
    with pytest.raises(UserError, match="b/100: expected records with names of their own; got also a/100"):
        require_own_names([("a", "100"), ("a", "101"), ("b", "100")])


def test_scores_of_no_beat_at_all_cannot_be_calibrated() -> None:
    for quantiles in (mean_of_quantiles, pooled_quantiles):
        with pytest.raises(UserError, match=r"expected normal beats with enough beats before them .*; got none"):
            quantiles([np.full(3, np.nan), np.zeros(0)], np.array([1.0, 2.0]))


def test_records_without_a_window_to_train_on_are_one_clear_error() -> None:
    at = 250 * np.arange(1, 30)
    beats = cut_beats(np.zeros(8_000, np.int16), at, 250.0)
    flat = Subject("db", "100", 8_000, np.zeros(len(at), np.uint8), beats)
    with pytest.raises(UserError, match="expected normal beats of a usual size to train on; got none among 29 beats"):
        training_windows([flat])


@pytest.mark.parametrize("found", [[], [True] * 3, [False] * 5])
def test_examples_of_one_kind_alone_are_one_clear_error(found: list[bool]) -> None:
    with pytest.raises(UserError, match=f"expected beats and others to train on, .*; got {sum(found)} and"):
        require_both(found, "beats", "others")
    require_both([True, False], "beats", "others")
    assert len(joined_rows([]).features) == 0


@pytest.mark.slow
def test_the_detector_says_that_there_are_no_peaks_of_several_leads(tmp_path: Path) -> None:
    pytest.importorskip("lightgbm")
    (tmp_path / "db").mkdir()
    write_records(tmp_path / "db", [str(k) for k in range(5)], leads=1)
    with pytest.raises(UserError, match=r"expected beats on several leads and other peaks to train on, .*got 0 and 0"):
        fit("detector", [tmp_path / "db"], tmp_path / "m.safetensors")
    assert not list(tmp_path.glob("m*"))


@pytest.mark.parametrize("change", ["database", "label", "rr_s", "amplitude", "windows", "seed"])
def test_a_run_continues_with_no_network_of_other_subjects_classes_or_folds(tmp_path: Path, change: str) -> None:
    """The databases decide which subjects a fold holds out."""
    person = synthesise((5, 1), name="p", seconds=20.0)
    beats = cut_beats(person.recording.samples[0], person.beats, person.recording.rate_hz)
    subject, settings_ = Subject("a", "1", 5_000, np.zeros(len(person.beats), np.uint8), beats), VaeSettings()
    other = subject
    match change:
        case "database":
            other = replace(subject, database="b")
        case "label":
            other = replace(subject, label=subject.label + 1)
        case "seed":
            settings_ = VaeSettings(seed=1)
        case _:
            other = replace(subject, beats=replace(beats, **{change: getattr(beats, change) + 1}))
    again, changed = (NetworkCache(tmp_path, *one).key for one in ((VaeSettings(), [subject]), (settings_, [other])))
    assert again == NetworkCache(tmp_path, VaeSettings(), [subject]).key
    assert again != changed


@pytest.mark.parametrize("beyond", [2, 500, 10**6])
def test_beats_that_are_annotated_beyond_the_end_of_a_record_are_one_clear_error(tmp_path: Path, beyond: int) -> None:
    samples = some_noise(20.0, leads=1)
    wfdb.wrsamp("r", 100, ["mV"], ["I"], d_signal=samples, fmt=["16"], adc_gain=[200.0], baseline=[0],
                write_dir=str(tmp_path))  # fmt: skip
    wfdb.wrann("r", "atr", np.array([100, 200, 2_000 + beyond]), ["N"] * 3, write_dir=str(tmp_path))
    message = (
        rf"r\.atr: expected beats within the 2000 samples of the record; got 1 elsewhere, the first at {2_000 + beyond}"
    )
    for read in (
        lambda: read_subject(tmp_path / "r", 0),
        lambda: annotate(read_recording(tmp_path / "r.hea"), tmp_path / "r"),
    ):
        with pytest.raises(UserError, match=message):
            read()


@pytest.mark.parametrize("file", ["m.json", "m.card.md", "m.fold0.safetensors", "m.fold4.json"])
def test_a_file_that_cannot_be_written_is_an_error_before_the_training(tmp_path: Path, file: str) -> None:
    (tmp_path / file).mkdir()
    task = Task([], tmp_path / "m.safetensors", [], None, "atr", ignore)
    with pytest.raises(UserError, match=f"--out: expected a file in an existing folder; got the folder .*{file}"):
        task.check_out()
