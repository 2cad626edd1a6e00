"""A folder of short synthetic recordings under the names that the pages use, so that their commands run as printed."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import wfdb
from beatwire.recordings import Recording
from beatwire.recordings.synthetic.person import Synthetic, synthesise

ROOT = Path(__file__).parents[3]
WEIGHTS = ROOT / "streaming" / "beatwire" / "model" / "weights"
CONFIGURATION = ROOT / "docs" / "examples" / "beatwire.toml"
PASSWORD = ("BEATWIRE_KAFKA__PROPERTIES__SASL_PASSWORD", "a-password")  # what that file expects in the environment
TABLES = ("recording.csv", "ecg.csv", "archive.csv")
RECORDS = {"mitdb": ("100", "203", "205", "207", "208"), "svdb": ("800",)}
ALARMS = {"a103l": ("Asystole", "False alarm"), "t105l": ("Tachycardia", "True alarm")}  # comments of cinc2015
NOISES = ("bw", "ma", "em", "em100")
RATE_HZ = 360.0  # of records; tables have 250 Hz, as the commands say
SECONDS = 20.0


def write_folder(folder: Path) -> Path:
    """Write tables, records with annotations, records of alarms and of noise, a model, and a configuration."""
    for seed, name in enumerate(TABLES):
        write_table(folder / name, synthesise(seed, rate_hz=250.0, leads=2, seconds=SECONDS))
    for database, names in RECORDS.items():
        (folder / database).mkdir()
        write_records(folder / database, names)
    (folder / "cinc2015").mkdir()
    for seed, (name, comments) in enumerate(ALARMS.items()):
        _write_samples(folder / "cinc2015", name, synthesise(seed, rate_hz=RATE_HZ, leads=2).recording, comments)
    (folder / "nstdb").mkdir()
    rng = np.random.default_rng(0)
    for name in NOISES:
        walk = np.cumsum(rng.normal(size=(round(SECONDS * RATE_HZ), 2)), axis=0)
        samples = np.rint(10 * walk.T).astype(np.int16)
        _write_samples(folder / "nstdb", name, Recording(name, RATE_HZ, ("noise1", "noise2"), 5.0, samples))
    for ending in (".safetensors", ".json", ".population.json"):
        shutil.copy(WEIGHTS / f"vae{ending}", folder / f"mine{ending}")
    (folder / "docs" / "examples").mkdir(parents=True)
    shutil.copy(CONFIGURATION, folder / "docs" / "examples")
    shutil.copy(CONFIGURATION, folder)
    return folder


def write_records(folder: Path, names: Sequence[str], leads: int = 2) -> None:
    """Write records with annotations; the name, a number, is the seed."""
    for name in names:
        _write_record(folder, name, synthesise(int(name), rate_hz=RATE_HZ, leads=leads, seconds=SECONDS, ectopy=0.1))


def write_table(path: Path, made: Synthetic) -> None:
    """Write the samples in millivolts with a column of times in seconds."""
    recording = made.recording
    mv = recording.samples.T * (recording.uv_per_unit / 1000.0)
    table = pd.DataFrame(mv, columns=list(recording.leads))
    table.insert(0, "time", np.arange(len(mv)) / recording.rate_hz)
    table.to_csv(path, index=False)


def _write_record(folder: Path, name: str, made: Synthetic) -> None:
    """Write the samples and the annotations of the beats: V where they are wide, of the others some A."""
    _write_samples(folder, name, made.recording)
    symbols = ["V" if wide else "NNNNNA"[k % 6] for k, wide in enumerate(made.wide)]
    wfdb.wrann(name, "atr", made.beats, symbols, write_dir=str(folder))


def _write_samples(folder: Path, name: str, recording: Recording, comments: Sequence[str] = ()) -> None:
    leads = list(recording.leads)
    wfdb.wrsamp(
        name, recording.rate_hz, ["mV"] * len(leads), leads, d_signal=recording.samples.T.astype(np.int64),
        fmt=["16"] * len(leads), adc_gain=[1000.0 / recording.uv_per_unit] * len(leads), baseline=[0] * len(leads),
        comments=list(comments), write_dir=str(folder),
    )  # fmt: skip
