"""``beatwire train``: train the models that ship with the package. Needs the extra ``train``."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from beatwire.cli.options import AnnotationEnding, Json, Seed, examples, option
from beatwire.cli.terminal import print_message, progress_bar

Folders = Annotated[
    list[Path],
    typer.Argument(metavar="FOLDER", help="Folders of WFDB records with beat annotations; one database each."),
]
Weights = Annotated[
    Path,
    option(
        "--out FILE",
        "Model file to write, NAME.safetensors; its configuration, card and metrics are written beside it.",
    ),
]
NoiseRecords = Annotated[
    list[Path] | None,
    option("RECORD", "WFDB record of noise without a heartbeat. Can be given several times.", shown="none"),
]

train = typer.Typer(
    help="Train the models that ship with the package. Needs: pip install 'beatwire[train]'.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@train.command("vae", epilog=examples("beatwire train vae mitdb --out mine.safetensors"))
def train_vae(
    folders: Folders, out: Weights, seed: Seed = 0, annotations: AnnotationEnding = "atr", as_json: Json = False
) -> None:
    """Train the scoring model, a variational autoencoder of normal beats.

    The data are split by subject: no beat is measured by a network that was trained on the same person. An
    interrupted run continues where it stopped.
    """
    _run("vae", folders, out, (), seed, annotations, as_json)


@train.command("detector", epilog=examples("beatwire train detector mitdb --noise nstdb/bw --out trees.safetensors"))
def train_detector(
    folders: Folders,
    out: Weights,
    noise: Annotated[
        list[Path] | None,
        option(
            "RECORD",
            "WFDB record of noise without a heartbeat (of the noise stress test database: bw, ma). "
            "Can be given several times.",
            shown="simulated electrode motion only",
        ),
    ] = None,
    seed: Seed = 0,
    annotations: AnnotationEnding = "atr",
    as_json: Json = False,
) -> None:
    """Train the detector, the decision trees that classify candidate peaks as beats.

    The data are split by record.
    """
    _run("detector", folders, out, noise or (), seed, annotations, as_json)


@train.command("network", epilog=examples("beatwire train network mitdb --noise nstdb/ma --out network.safetensors"))
def train_network(
    folders: Folders,
    out: Weights,
    noise: NoiseRecords = None,
    seed: Seed = 0,
    annotations: AnnotationEnding = "atr",
    as_json: Json = False,
) -> None:
    """Train the network that judges doubtful peaks by their waveform. Needs a graphics card: six minutes on an H200.

    The data are split by record, and every noise in halves.
    """
    _run("network", folders, out, noise or (), seed, annotations, as_json)


@train.command("classes", epilog=examples("beatwire train classes mitdb svdb --out weights/classes.safetensors"))
def train_classes(
    folders: Folders, out: Weights, seed: Seed = 0, annotations: AnnotationEnding = "atr", as_json: Json = False
) -> None:
    """Train the trees that determine the class of a beat: N, S or V.

    The data are split by record. Recordings without annotated beats are used by the comment in their header: af, normal
    or noisy. Beats are those of the shipped detector; a record that it was trained on is processed by its companion.
    """
    _run("classes", folders, out, (), seed, annotations, as_json)


@train.command(
    "rhythm", epilog=examples("beatwire train rhythm cinc2015 cinc2017 cudb mimicaf mitdb vfdb --out r.safetensors")
)
def train_rhythm(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDER", help="Folders of WFDB records with rhythm marks, beats, or comments on the rhythm."
        ),
    ],
    out: Weights,
    noise: NoiseRecords = None,
    seed: Seed = 0,
    annotations: AnnotationEnding = "atr",
    as_json: Json = False,
) -> None:
    """Train the judges of the rhythm, the decision trees behind the alarms of fibrillation.

    The data are split by person.
    """
    _run("rhythm", folders, out, noise or (), seed, annotations, as_json)


@train.command(
    "ventricular",
    epilog=examples("beatwire train ventricular cinc2015 cinc2017 mimicaf mitdb svdb vfdb --out v.safetensors"),
)
def train_ventricular(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDER", help="Folders of WFDB records with beats, rhythm marks, or comments on the rhythm."
        ),
    ],
    out: Weights,
    noise: NoiseRecords = None,
    seed: Seed = 0,
    annotations: AnnotationEnding = "atr",
    as_json: Json = False,
) -> None:
    """Train the judge of ventricular runs, the decision trees behind the alarm of ventricular tachycardia.

    The data are split by person. Train the trees of classes first.
    """
    _run("ventricular", folders, out, noise or (), seed, annotations, as_json)


@train.command("scorer", epilog=examples("beatwire train scorer mitdb --out mine.pt2"))
def train_scorer(
    folders: Folders,
    out: Annotated[Path, option("--out FILE", "File to write, NAME.pt2.")],
    seed: Seed = 0,
    annotations: AnnotationEnding = "atr",
    as_json: Json = False,
) -> None:
    """Train an example of a network of your own, for --scorer: an autoencoder of normal beats.

    Its source, beatwire/training/scorer.py, is short and made to be copied.
    """
    _run("scorer", folders, out, (), seed, annotations, as_json)


def _run(
    kind: str, folders: Sequence[Path], out: Path, noise: Sequence[Path], seed: int, annotations: str, as_json: bool
) -> None:
    from beatwire.api.commands import train as run

    with progress_bar("train", as_json) as bar:
        task = bar.add_task("train", total=1.0)
        metrics = run(
            kind,
            folders,
            out,
            noise=noise,
            seed=seed,
            annotations=annotations,
            progress=lambda done, _: bar.update(task, completed=done),
        )
    if as_json:
        typer.echo(json.dumps(metrics))
    else:
        print_message(f"wrote {out}" if kind == "scorer" else f"wrote {out}, its configuration, card and metrics")
