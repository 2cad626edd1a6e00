"""What every training asks of its records, its noise, and its examples, each with one clear error."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from beatwire.errors import UserError
from beatwire.evaluation.records import AnnotatedRecord
from beatwire.recordings import NO_VALUE, read_recording
from beatwire.records import F64

LEAST_NOISE_S = 10.0


def require_own_names(records: Iterable[tuple[str, str]]) -> None:
    """Raise ``UserError`` if records, each a database and a name, share a name: companions are found by it."""
    seen: dict[str, str] = {}
    for database, name in records:
        if name in seen:
            raise UserError(
                f"{database}/{name}: expected records with names of their own; got also {seen[name]}/{name}"
            )
        seen[name] = database


def require_seconds(database: str, record: AnnotatedRecord, seconds: float) -> None:
    """Raise ``UserError`` unless a record is long enough."""
    recording = record.recording
    if recording.seconds < seconds:
        raise UserError(
            f"{database}/{recording.name}: expected at least {seconds:g} s to train on; got {recording.seconds:.3g} s"
        )


def require_both(is_it: Sequence[bool] | np.ndarray, it: str, other: str) -> None:
    """Raise ``UserError`` unless there are examples of ``it`` and of the other."""
    found = int(np.count_nonzero(is_it))
    if not 0 < found < len(is_it):
        raise UserError(
            f"records: expected {it} and {other} to train on, also without the records of a fold; "
            f"got {found} and {len(is_it) - found}"
        )


def read_noises(paths: Iterable[Path], names: Iterable[str] | None = None) -> dict[str, tuple[F64, float]]:
    """Return the samples of WFDB records of noise by their names, float64 [leads, n], and their rates in Hz.

    Parameters
    ----------
    names
        The only ones that are used; None: any.

    Raises
    ------
    UserError
        A record cannot be read, is too short, has a lead without noise, or a name that is not used or given twice.
    """
    known, noises = None if names is None else sorted(names), dict[str, tuple[F64, float]]()
    for path in paths:
        if known is not None and path.stem not in known:
            raise UserError(f"--noise: expected a record named {' or '.join(known)}; got {path}")
        if path.stem in noises:
            raise UserError(f"--noise: expected records with names of their own; got {path.stem} twice")
        noises[path.stem] = _read_noise(path)
    return noises


def _read_noise(path: Path) -> tuple[F64, float]:
    recording = read_recording(path if path.suffix else path.with_suffix(".hea"))
    found_s = recording.seconds
    if found_s < LEAST_NOISE_S:
        raise UserError(f"--noise: {path}: expected at least {LEAST_NOISE_S:g} s of noise; got {found_s:.3g} s")
    samples = recording.samples.astype(np.float64)
    for name, lead in zip(recording.leads, samples, strict=True):
        has_value = lead != NO_VALUE
        if not has_value.any() or np.ptp(lead[has_value]) == 0:
            raise UserError(f"--noise: {path}: expected noise on each lead; lead {name} has none")
        lead[~has_value] = np.median(lead[has_value])
    return samples, recording.rate_hz
