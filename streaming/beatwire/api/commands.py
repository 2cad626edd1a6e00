"""``beatwire.evaluate`` and ``beatwire.train``: what the commands of these names do, from Python."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast, get_args

from beatwire.api.analyze import backend_of
from beatwire.api.notes import on_stderr
from beatwire.backends.base import Backend
from beatwire.errors import UserError
from beatwire.evaluation import alert_table, full_report
from beatwire.evaluation.beats import movement, one_lead
from beatwire.evaluation.beats import rivals as peers
from beatwire.evaluation.records import find_records
from beatwire.evaluation.streamed import Streamed
from beatwire.pipeline.settings import DETECTOR, Detector
from beatwire.recordings.arguments import file_path, number, several, shown, string, whole
from beatwire.recordings.wfdb.annotations import ENDING, checked_ending
from beatwire.service.warmup import compile_kernels

MODELS = ("vae", "detector", "network", "rhythm", "classes", "ventricular", "scorer")
NOISY = "detector, network, rhythm or ventricular"  # models that are trained with noise


def evaluate(
    folder: str | Path,
    *,
    lead: str = "first",
    rivals: bool = False,
    seed: int = 0,
    noise: Sequence[str] = (),
    snr: Sequence[float] = (12.0, 6.0, 0.0),
    annotations: str = ENDING,
    model: str | Path | None = None,
    detector: str = DETECTOR,
    backend: str | Backend = "auto",
    progress: Callable[[str], None] = lambda _: None,
    notes: Callable[[str], None] = on_stderr,
) -> dict[str, Any]:
    """Measure the accuracy of beats, scores and alerts on annotated records.

    Parameters
    ----------
    folder
        Folder of WFDB records with beat annotations.
    lead
        ``first``, ``best`` of each record, or ``all`` together.
    rivals
        Run SleepECG, NeuroKit2 and WFDB's XQRS on the same records.
    seed
        Random seed of the cuts and of the noise.
    noise, snr
        Repeat the run with each source of noise added at each ratio in dB: a WFDB record, several joined by +, or
        ``electrode-motion``.
    annotations
        Ending of the annotation files: ``atr``, ``qrs``, ...
    model
        The scoring model; None: the one in the package.
    detector
        ``trees``, ``rule``, or ``network``: trees, and a network where they doubt.
    backend
        ``cpu``, ``gpu`` or ``auto``.
    progress
        Called with the name of each record before it is run.
    notes
        Called with each remark, one line.

    Returns
    -------
    dict
        The object that ``beatwire evaluate --json`` prints; ``failed`` lists the records that could not be run.

    Raises
    ------
    UserError
        The folder has no annotated record, or an option cannot be used.
    """
    string("lead", lead, "first, best or all")
    noise, ratios = _noises(noise, snr)
    seed = whole("seed", seed, "a whole number of at least 0")
    ending = checked_ending(annotations)
    folder, graph = _prepared(folder, model, detector, backend, notes, ending)
    return {"model": graph.name} | full_report(
        folder, graph, lead=lead, seed=seed, noise=noise, snr_db=ratios, with_rivals=rivals,
        held_out=graph.held_out(), annotations=ending, progress=progress,
    )  # fmt: skip


def evaluate_one_lead(
    folder: str | Path,
    *,
    noise: Sequence[str],
    snr: Sequence[float] = (12.0, 6.0, 0.0),
    seed: int = 0,
    annotations: str = ENDING,
    model: str | Path | None = None,
    detector: str = DETECTOR,
    backend: str | Backend = "auto",
    progress: Callable[[str], None] = lambda _: None,
    notes: Callable[[str], None] = on_stderr,
) -> dict[str, Any]:
    """Measure what noise on one lead costs all leads together.

    Parameters
    ----------
    folder
        Folder of WFDB records with beat annotations.
    noise, snr
        As for ``evaluate``, and ``saturation``; in bursts, on one of the first two leads at a time.
    seed, annotations, model, detector, backend, progress, notes
        As for ``evaluate``.

    Returns
    -------
    dict
        The object that ``beatwire evaluate --one-lead --json`` prints.

    Raises
    ------
    UserError
        The folder has no annotated record of several leads, or an option cannot be used.
    """
    noise, ratios = _noises(noise, snr)
    seed = whole("seed", seed, "a whole number of at least 0")
    ending = checked_ending(annotations)
    folder, graph = _prepared(folder, model, detector, backend, notes, ending)
    return one_lead.one_lead_costs(
        folder, graph, noise=noise, snr_db=ratios, seed=seed, held_out=graph.held_out(), annotations=ending,
        progress=progress,
    )  # fmt: skip


def evaluate_alerts(
    folder: str | Path,
    *,
    people: str = "all",
    ward_beds: int = 200,
    annotations: str = ENDING,
    model: str | Path | None = None,
    detector: str = DETECTOR,
    backend: str | Backend = "auto",
    progress: Callable[[str], None] = lambda _: None,
    notes: Callable[[str], None] = on_stderr,
) -> dict[str, Any]:
    """Judge the alerts of the monitor on reference recordings.

    Parameters
    ----------
    folder
        Folder of WFDB records, or of such folders: judged bedside alarms, marked fibrillation, labelled beats, people
        in atrial fibrillation, recordings of noise.
    people
        ``development`` or ``held back``: one half, by a hash of the person; or ``all``.
    ward_beds
        Beds of the simulated ward; 0: none.
    annotations, model, detector, backend, progress, notes
        As for ``evaluate``.

    Returns
    -------
    dict
        The object that ``beatwire evaluate --alerts --json`` prints; ``rows`` has one figure each.

    Raises
    ------
    UserError
        The folder has no such record, or an option cannot be used.
    """
    folder, graph = _prepared(folder, model, detector, backend, notes)
    return alert_table(
        folder, graph, people=people, ward_beds=ward_beds, annotations=checked_ending(annotations),
        progress=progress,
    )  # fmt: skip


def evaluate_movement(
    folder: str | Path,
    *,
    rivals: bool = False,
    seed: int = 0,
    model: str | Path | None = None,
    detector: str = DETECTOR,
    backend: str | Backend = "auto",
    progress: Callable[[str], None] = lambda _: None,
    notes: Callable[[str], None] = on_stderr,
) -> dict[str, Any]:
    """Count intervals that contradict a smooth heart rate, on recordings whose headers name an activity.

    Parameters
    ----------
    folder
        Folder of WFDB recordings; comments of their headers: activity (rest, arms, walk, run, squats), then electrode.
    rivals, seed, model, detector, backend, progress, notes
        As for ``evaluate``.

    Returns
    -------
    dict
        The object that ``beatwire evaluate --json`` prints for such a folder.

    Raises
    ------
    UserError
        The folder has no such recording, or an option cannot be used.
    """
    folder, graph = _prepared(folder, model, detector, backend, notes)
    others, missing = peers.rivals() if rivals else ({}, [])
    if missing:
        notes(f"not installed: {', '.join(missing)} (pip install 'beatwire[bench]')")
    return {"model": graph.name} | movement.evaluate_movement(
        folder, {"beatwire": graph, **others}, seed=seed, progress=progress
    )


def _noises(noise: Sequence[str], snr: Sequence[float]) -> tuple[list[str], list[float]]:
    """Return checked sources of noise, and ratios in decibels."""
    return (
        [string("noise", one, "names of records") for one in several("noise", noise, "a list of records")],
        [number("snr", one, "numbers of decibels") for one in several("snr", snr, "a list of numbers")],
    )


def _prepared(
    folder: str | Path, model: str | Path | None, detector: str, backend: str | Backend, notes: Callable[[str], None],
    ending: str | None = None,
) -> tuple[Path, Streamed]:  # fmt: skip
    """Return the folder to evaluate, with annotations of an ending if one is given, and the graph, compiled."""
    chosen = backend_of(backend)
    path = file_path("evaluate", folder)
    if ending is not None:
        find_records(path, ending)
    if detector not in get_args(Detector):
        raise UserError(f"detector: expected {', '.join(get_args(Detector))}; got {shown(detector)}")
    scoring = file_path("model", model) if model is not None else None
    graph = Streamed(scoring, backend=chosen, detector=cast(Detector, detector))
    compile_kernels(notes, chosen, detector=graph.detector)
    return path, graph


def train(
    kind: str,
    folders: Sequence[str | Path],
    out: str | Path,
    *,
    noise: Sequence[str | Path] = (),
    seed: int = 0,
    annotations: str = ENDING,
    progress: Callable[[float, str], None] = lambda _done, _step: None,
) -> dict[str, Any]:
    """Train a model of the package on annotated records. Needs the extra ``train``.

    Parameters
    ----------
    kind
        ``vae``, the scoring model; ``detector``, the trees that classify candidate peaks; ``network``, the network that
        judges doubtful ones; ``rhythm``, the trees that judge fibrillation; ``classes``, those that determine the class
        of a beat; ``ventricular``, those that judge ventricular runs; or ``scorer``, an example of a network of your
        own.
    folders
        Folders of WFDB records with beat annotations, one database each.
    out
        File to write, ``NAME.safetensors``; its configuration, card and metrics are written beside it. Of a scorer
        ``NAME.pt2``.
    noise
        For the detector, the network, the rhythm and ventricular runs: WFDB records of noise without a heartbeat.
    seed
        Random seed.
    annotations
        Ending of the annotation files: ``atr``, ``qrs``, ...
    progress
        Called with the share done, 0-1, and the current step.

    Returns
    -------
    dict
        The metrics, as written to ``NAME.metrics.json``.

    Raises
    ------
    UserError
        There is no such model, the extra is missing, or the records are too few.
    """
    from beatwire.training.specs import SPECS, fit

    found = several("train", folders, "a list of folders, at least one")
    paths, out = [file_path("train", folder) for folder in found], file_path("out", out)
    if not paths:
        raise UserError("train: expected a list of folders, at least one; got none")
    seed = whole("seed", seed, "a whole number of at least 0")
    if not isinstance(kind, str) or kind not in MODELS:
        raise UserError(f"train: expected {', '.join(MODELS[:-1])} or {MODELS[-1]}; got {shown(kind)}")
    ending = checked_ending(annotations)
    records = [file_path("noise", one) for one in several("noise", noise, "a list of records")]
    spec = SPECS[kind]
    if records and not spec.with_noise:
        raise UserError(f"train: expected noise with {NOISY}; {kind} is trained without")
    return fit(
        kind, paths, out, noise=records, settings=spec.settings(seed=seed), annotations=ending, progress=progress
    )
