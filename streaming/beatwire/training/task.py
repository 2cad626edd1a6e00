"""What every training shares: what is asked, the checks before it, and the files that it writes."""

import importlib.util
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from beatwire.errors import UserError
from beatwire.model.checkpoint import fold_path
from beatwire.model.storage import HELD_OUT_KEY, POPULATION_SUFFIX
from beatwire.outputs import check_output, write_output
from beatwire.recordings.files import source_files
from beatwire.training.progress import Progress
from beatwire.training.settings import FOLDS

SettingsT = TypeVar("SettingsT")
ModelT = TypeVar("ModelT")


@dataclass(frozen=True, slots=True)
class Task(Generic[SettingsT]):
    """A training that is asked for.

    folders      WFDB records; a record is a subject, a folder is a database
    out          the model file to write
    noise        WFDB records of noise without a heartbeat
    annotations  ending of the annotation files
    progress     called with the share done and the current step
    """

    folders: Sequence[Path]
    out: Path
    noise: Sequence[Path]
    settings: SettingsT
    annotations: str
    progress: Progress

    def part(self, begin: float, share: float) -> Progress:
        """Return the progress of a part that begins at ``begin`` and is ``share`` of the whole."""
        return lambda done, step: self.progress(begin + share * done, step)

    def require_folds(self, folds: Iterable[int], what: str = "annotated records") -> None:
        """Raise ``UserError`` unless there is a record in each fold; they are assigned in turn within a folder."""
        found = len(set(folds))
        if found < FOLDS:
            where = " in one of the folders" if len(self.folders) > 1 else ""
            raise UserError(f"{self.folders[0]}: expected at least {FOLDS} {what}{where}; got {found}")

    def save_folds(
        self, save: Callable[[Path, Any, dict[str, Any]], ModelT], models: Sequence[Any],
        held_out: Callable[[int], dict[str, int]], metadata: dict[str, Any],
    ) -> ModelT:  # fmt: skip
        """Write the models of the folds beside the one that ships, the last; return that.

        Parameters
        ----------
        save
            Takes a path, a model and its metadata.
        held_out
            Returns the records of a fold, and their numbers of samples: its model was not trained on them.
        """
        for fold in range(FOLDS):
            save(fold_path(self.out, fold), models[fold], metadata | {HELD_OUT_KEY: held_out(fold)})
        return save(self.out, models[FOLDS], metadata)

    def check_out(self) -> None:
        """Raise ``UserError`` unless a model can be written to ``out`` and is none of the records; make its folder."""
        out = self.out
        if out.suffix != ".safetensors":
            raise UserError(f"--out: expected NAME.safetensors; got {out}")
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"--out: expected to make the folder {out.parent}; got: {error.strerror or error}"
            ) from None
        sources = [*self.folders, *(file for record in self.noise for file in source_files(record))]
        files = [out.with_suffix(ending) for ending in (".metrics.json", ".card.md", POPULATION_SUFFIX)]
        for model in (out, *(fold_path(out, fold) for fold in range(FOLDS))):
            files += [model, model.with_suffix(".json")]
        for file in files:
            check_output("--out", file, sources=sources)

    def write_figures(self, metrics: dict[str, Any], card: str) -> None:
        """Write metrics and card beside the model."""
        write_output("--out", self.out.with_suffix(".metrics.json"), json.dumps(metrics, indent=1) + "\n")
        write_output("--out", self.out.with_suffix(".card.md"), card)


def require(package: str, command: str) -> None:
    """Raise ``UserError`` with the command that installs ``package`` if it is not installed."""
    if importlib.util.find_spec(package) is None:
        raise UserError(f"{command}: expected {package}; it is not installed (pip install 'beatwire[train]')")
