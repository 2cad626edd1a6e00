"""Options that several commands share: one text, one unit and one check for each.

A command annotates its parameter with one of the types below, so the same option reads the same everywhere.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

# Titles of the panels that group the options of a command in its help text.
RECORDING = "Recording"
COMPUTING = "Computing"
KAFKA = "Kafka"
GPU = "GPU"

SOURCES = (
    "CSV file (.gz too), WFDB record (path without .hea), EDF, BDF, DICOM, BIOPAC, Parquet, .npy, .npz or .mat file, "
    "an address of one, or synthetic[:KEY=VALUE,...] with the keys seconds, leads, "
    "rate, seed, bpm, ectopy, noise"
)


class DetectorKind(StrEnum):
    """What classifies peaks."""

    RULE = "rule"
    TREES = "trees"
    NETWORK = "network"


Json = Annotated[
    bool,
    typer.Option(
        "--json",
        metavar="",
        help="Print one JSON object on standard output; messages go to standard error.",
    ),
]
Bootstrap = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-servers",
        metavar="HOST:PORT[,...]",
        rich_help_panel=KAFKA,
        show_default="from the configuration",
        help="Kafka brokers to connect to.",
    ),
]
Properties = Annotated[
    list[str] | None,
    typer.Option(
        "-X",
        "--property",
        metavar="KEY=VALUE",
        rich_help_panel=KAFKA,
        show_default="none",
        help="Property of librdkafka, as for kcat; may be repeated. Everyone on this machine can read a command line: "
        "a password belongs in the file of --config or in the environment.",
    ),
]
TopicPrefix = Annotated[
    str | None,
    typer.Option(
        "--topic-prefix",
        metavar="TEXT",
        rich_help_panel=KAFKA,
        show_default="none",
        help="Text before the name of every topic.",
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        envvar="BEATWIRE_CONFIG",
        show_default="none",
        help="TOML file with settings; environment variables and options override it.",
    ),
]
RegistryUrl = Annotated[
    str | None,
    typer.Option(
        "--registry",
        metavar="URL",
        rich_help_panel=KAFKA,
        show_default="none",
        help="Schema Registry with Confluent's interface.",
    ),
]
Bundle = Annotated[
    int,
    typer.Option(
        min=1,
        max=1000,
        metavar="INTEGER",
        show_default="1: none",
        help="Streams whose chunks are sent in one message, as a gateway does.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, metavar="INTEGER", help="Random seed.")]

Rate = Annotated[
    float | None,
    typer.Option(
        "--fs",
        metavar="HZ",
        rich_help_panel=RECORDING,
        show_default="from the source",
        help="Sampling rate, 50-4000 Hz. Required where the source has no rate and no times; otherwise it must agree "
        "with the source within 1 %.",
    ),
]
ColumnName = Annotated[
    str | None,
    typer.Option(
        "--column",
        metavar="NAME",
        rich_help_panel=RECORDING,
        show_default="all leads",
        help="Columns or leads to read: names, or numbers counted from 0, separated by commas.",
    ),
]
Gain = Annotated[
    float | None,
    typer.Option(
        "--gain",
        metavar="UNITS",
        rich_help_panel=RECORDING,
        show_default="from the unit in the header",
        help="Units per millivolt of numbers whose unit the source does not state. Without it, fractions are "
        "millivolts and whole numbers are not calibrated.",
    ),
]

Lead = Annotated[
    str,
    typer.Option(
        "--lead",
        metavar="LEAD",
        rich_help_panel=RECORDING,
        help="Lead to analyze, of those that are read: first, a name, a number counted from 0, or all (combined).",
    ),
]

AnnotationEnding = Annotated[
    str,
    typer.Option(
        "--annotations",
        metavar="ENDING",
        help="Ending of the annotation files of WFDB records: atr, qrs, ...",
    ),
]

ModelPath = Annotated[
    Path | None,
    typer.Option(
        "--model",
        metavar="FILE",
        rich_help_panel=COMPUTING,
        show_default="the model in the package",
        help="Scoring model: NAME.safetensors, with NAME.json beside it.",
    ),
]
ScorerPath = Annotated[
    Path | None,
    typer.Option(
        "--scorer",
        metavar="FILE",
        rich_help_panel=COMPUTING,
        show_default="none",
        help="Network of your own that scores windows in place of the model's reconstruction error: NAME.pt2, as "
        "train scorer writes it. Needs torch.",
    ),
]
Detectors = Annotated[
    DetectorKind,
    typer.Option(
        "--detector",
        rich_help_panel=COMPUTING,
        help="What classifies peaks: trees, the rule alone, or network (on the CPU): trees, and a network where they "
        "doubt.",
    ),
]


def examples(*commands: str) -> str:
    r"""Return the epilog of a help text: examples, one a line (an empty line keeps the line break).

    >>> examples("beatwire demo")
    'Examples:\n\nbeatwire demo'
    """
    return "\n\n".join(["Examples:", *commands])
