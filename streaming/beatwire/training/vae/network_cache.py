"""Networks of a training run, stored as they are done, so that an interrupted run continues where it stopped."""

import contextlib
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from beatwire.backends.network import Network
from beatwire.errors import UserError
from beatwire.outputs import write_output
from beatwire.records import F32, F64
from beatwire.stages.detection.history import Memory, streams_of, usual_scale
from beatwire.training.settings import VaeSettings
from beatwire.training.vae.dataset import NORMAL, Subject

MAX_SIZE = 15.0  # in units of the usual size; a larger window is an artefact


class NetworkCache:
    """Networks of a run in a folder; file names begin with a hash of the program's version, settings and subjects.

    The hash is of everything that a network follows from: also of classes, and of databases, by which the folds are
    assigned. A file that cannot be read is made again.
    """

    def __init__(self, folder: Path, settings: VaeSettings, subjects: Sequence[Subject]) -> None:
        self.folder = folder
        self.settings = settings
        digest = hashlib.sha256(json.dumps([version("beatwire"), asdict(settings)]).encode())
        for s in subjects:
            digest.update(json.dumps([s.database, s.name, s.samples, len(s.label)]).encode())
            for column in (s.label, *(getattr(s.beats, f.name) for f in fields(s.beats))):
                digest.update(np.ascontiguousarray(column).tobytes())
        self.key = digest.hexdigest()[:16]

    def network(self, name: str, subjects: Sequence[Subject], progress: Callable[[float], None]) -> Network:
        """Return the network ``name``: read from the folder, or trained on the normal beats of ``subjects``."""
        path = self.folder / f"{self.key}-{name}.safetensors"
        names = [f.name for f in fields(Network) if f.name not in ("variance", "scorer")]
        with contextlib.suppress(OSError, SafetensorError, KeyError):  # not there, or damaged
            stored = load_file(path)
            weights: dict[str, Any] = {n: stored[n] for n in names}
            return Network(**weights, variance=self.settings.variance)
        from beatwire.training.vae.network import fit

        windows, weight = training_windows(subjects)
        steps = self.settings.steps
        network = fit(windows, weight, self.settings, lambda step: progress(step / steps))
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"--out: expected to make the folder {self.folder}; got: {error.strerror}") from None
        write_output("--out", path, save({n: getattr(network, n) for n in names}))
        return network


def training_windows(subjects: Sequence[Subject]) -> tuple[F32, F64]:
    """Return the normal windows of subjects in units of the usual size [n, 256], and their weights [n].

    The total weight of a subject is the square root of its number of beats. No window at all is a ``UserError``.
    """
    chosen, weight = [], []
    for s in subjects:
        memory = Memory()
        memory.grow(1)
        scaled = s.beats.windows * usual_scale(memory, s.beats, len(s.beats.slot), streams_of(s.beats.slot))[:, None]
        rows = (s.label == NORMAL) & (np.abs(scaled).max(1) < MAX_SIZE)
        chosen.append(scaled[rows])
        weight.append(np.full(int(rows.sum()), 1 / np.sqrt(max(1, rows.sum()))))
    windows = np.concatenate(chosen)
    if not len(windows):
        beats = sum(len(s.label) for s in subjects)
        raise UserError(f"records: expected normal beats of a usual size to train on; got none among {beats} beats")
    return windows, np.concatenate(weight)
