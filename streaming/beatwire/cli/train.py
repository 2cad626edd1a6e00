"""``beatwire train``: the models that ship with the package, made again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from beatwire.cli.terminal import Json, Seed, errors, progress_bar

train = typer.Typer(help="Train the models that ship with the package.", no_args_is_help=True)


@train.command("vae")
def train_vae(
    folders: Annotated[list[Path], typer.Argument(help="Folders of annotated WFDB records.")],
    out: Annotated[Path, typer.Option(help="Where the weights go: NAME.safetensors.")],
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Train the scoring model on normal beats, split by subject."""
    from beatwire.training.settings import VaeSettings
    from beatwire.training.train_vae import train_vae as run

    with progress_bar("train", as_json) as bar:
        task = bar.add_task("train", total=1.0)
        metrics = run(
            folders, out, settings=VaeSettings(seed=seed), progress=lambda done, _: bar.update(task, completed=done)
        )
    if as_json:
        typer.echo(json.dumps(metrics))
    else:
        errors.print(f"wrote {out}, its config, card and metrics", highlight=False, markup=False)


@train.command("detector")
def train_detector(
    folders: Annotated[list[Path], typer.Argument(help="Folders of annotated WFDB records.")],
    out: Annotated[Path, typer.Option(help="Where the trees go: NAME.safetensors.")],
    noise: Annotated[list[Path] | None, typer.Option(help="A WFDB record of noise: bw, ma.")] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Train the acceptance of peaks as beats, classified by record."""
    from beatwire.training.settings import TreeSettings
    from beatwire.training.train_detector import train_detector as run

    with progress_bar("train", as_json) as bar:
        task = bar.add_task("train", total=1.0)
        metrics = run(
            folders, out, noise=noise or [], settings=TreeSettings(seed=seed),
            progress=lambda done, _: bar.update(task, completed=done),
        )  # fmt: skip
    if as_json:
        typer.echo(json.dumps(metrics))
    else:
        errors.print(f"wrote {out}, its config, card and metrics", highlight=False, markup=False)
