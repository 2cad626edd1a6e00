"""``beatwire train``: train the models that ship with the package. Needs the extra ``train``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from beatwire.cli.options import Json, Seed, examples
from beatwire.cli.terminal import print_message, progress_bar

Folders = Annotated[
    list[Path], typer.Argument(help="Folders of WFDB records with beat annotations (.atr); one database each.")
]
Weights = Annotated[
    Path,
    typer.Option(
        "--out",
        metavar="FILE",
        help="Model file to write, NAME.safetensors; its configuration, card and metrics are written beside it.",
    ),
]

train = typer.Typer(
    help="Train the models that ship with the package. Needs: pip install 'beatwire[train]'.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@train.command("vae", epilog=examples("beatwire train vae mitdb --out weights/vae.safetensors"))
def train_vae(folders: Folders, out: Weights, seed: Seed = 0, as_json: Json = False) -> None:
    """Train the scoring model, a variational autoencoder of normal beats.

    The data are split by subject: no beat is measured by a network that was trained on the same person. An
    interrupted run continues where it stopped.
    """
    from beatwire.training.settings import VaeSettings
    from beatwire.training.train_vae import train_vae as run

    with progress_bar("train", as_json) as bar:
        task = bar.add_task("train", total=1.0)
        metrics = run(
            folders, out, settings=VaeSettings(seed=seed), progress=lambda done, _: bar.update(task, completed=done)
        )
    _print_metrics(metrics, out, as_json)


@train.command(
    "detector", epilog=examples("beatwire train detector mitdb --noise bw --out weights/detector.safetensors")
)
def train_detector(
    folders: Folders,
    out: Weights,
    noise: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="RECORD",
            show_default="simulated electrode motion only",
            help="WFDB record of noise without a heartbeat (of the noise stress test database: bw, ma). "
            "Can be given several times.",
        ),
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Train the detector, the decision trees that classify candidate peaks as beats.

    The data are split by record.
    """
    from beatwire.training.settings import TreeSettings
    from beatwire.training.train_detector import train_detector as run

    with progress_bar("train", as_json) as bar:
        task = bar.add_task("train", total=1.0)
        metrics = run(
            folders, out, noise=noise or [], settings=TreeSettings(seed=seed),
            progress=lambda done, _: bar.update(task, completed=done),
        )  # fmt: skip
    _print_metrics(metrics, out, as_json)


def _print_metrics(metrics: dict[str, Any], out: Path, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(metrics))
    else:
        print_message(f"wrote {out}, its configuration, card and metrics")
