"""Options that several commands share: one text, one unit and one check for each.

A command annotates its parameter with one of the types below, so the same option reads the same everywhere.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

# Titles of the panels that group the options of a command in its help text.
RECORDING = "Recording"
COMPUTING = "Computing"
KAFKA = "Kafka"
GPU = "GPU"

SOURCES = (
    "text table (.gz too), WFDB record (path without .hea), EDF, BDF, DICOM, BIOPAC, ISHNE, Parquet, Arrow, JSON, "
    "NumPy, MATLAB, HDF5, Excel or ZIP file, an address of one, or synthetic[:KEY=VALUE,...] with the keys seconds, "
    "leads, rate, seed, bpm, ectopy, noise, hum"
)


class DetectorKind(StrEnum):
    """What classifies peaks."""

    RULE = "rule"
    TREES = "trees"
    NETWORK = "network"


def option(text: str, help: str, panel: str | None = None, shown: bool | str = True, **others: Any) -> Any:  # noqa: A002
    """Return what Typer shows of an option.

    Parameters
    ----------
    text
        Its names, if they are not that of the parameter, and the name of its value: ``--fs HZ``.
    help
        The line of the help text.
    panel
        The title of the panel that it is in.
    shown
        The default that is shown, if that is not the parameter's; False: none.
    others
        As of ``typer.Option``.
    """
    names = [word for word in text.split() if word.startswith("-")]
    metavar = " ".join(text.split()[len(names) :]) or None
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=panel, show_default=shown, **others)


def flag(text: str, help: str, panel: str | None = None, shown: bool | str = True) -> Any:  # noqa: A002
    """Return what Typer shows of an option without a value; parameters as of ``option``."""
    return typer.Option(*text.split(), metavar="", help=help, rich_help_panel=panel, show_default=shown)


Json = Annotated[bool, flag("--json", "Print one JSON object on standard output; messages go to standard error.")]
Bootstrap = Annotated[
    str | None,
    option("--bootstrap-servers HOST:PORT[,...]", "Kafka brokers to connect to.", KAFKA, "from the configuration"),
]
Properties = Annotated[
    list[str] | None,
    option(
        "-X --property KEY=VALUE",
        "Property of librdkafka, as for kcat; may be repeated. Everyone on this machine can read a command line: "
        "a password belongs in the file of --config or in the environment.",
        KAFKA,
        "none",
    ),
]
TopicPrefix = Annotated[
    str | None, option("--topic-prefix TEXT", "Text before the name of every topic.", KAFKA, "none")
]
ConfigFile = Annotated[
    Path | None,
    option(
        "--config FILE",
        "TOML file with settings; environment variables and options override it.",
        shown="none",
        envvar="BEATWIRE_CONFIG",
    ),
]
RegistryUrl = Annotated[
    str | None, option("--registry URL", "Schema Registry with Confluent's interface.", KAFKA, "none")
]
Bundle = Annotated[
    int,
    option(
        "INTEGER", "Streams whose chunks are sent in one message, as a gateway does.", shown="1: none", min=1, max=1000
    ),
]
Seed = Annotated[int, option("INTEGER", "Random seed.", min=0)]

Rate = Annotated[
    float | None,
    option(
        "--fs HZ",
        "Sampling rate, 50-4000 Hz. Required where the source has no rate and no times; otherwise it must agree "
        "with the source within 1 %.",
        RECORDING,
        "from the source",
    ),
]
ColumnName = Annotated[
    str | None,
    option(
        "--column NAME",
        "Columns or leads to read: names, or numbers counted from 0, separated by commas.",
        RECORDING,
        "all leads",
    ),
]
Gain = Annotated[
    float | None,
    option(
        "--gain UNITS",
        "Units per millivolt of numbers whose unit the source does not state; in a table it counts before a stated "
        "one. Without it, fractions are millivolts and whole numbers are not calibrated.",
        RECORDING,
        "from the unit in the header",
    ),
]

Lead = Annotated[
    str,
    option(
        "--lead LEAD",
        "Lead to analyze, of those that are read: first, a name, a number counted from 0, or all (combined).",
        RECORDING,
    ),
]

AnnotationEnding = Annotated[
    str, option("--annotations ENDING", "Ending of the annotation files of WFDB records: atr, qrs, ...")
]

ModelPath = Annotated[
    Path | None,
    option(
        "--model FILE",
        "Scoring model: NAME.safetensors, with NAME.json beside it.",
        COMPUTING,
        "the model in the package",
    ),
]
ScorerPath = Annotated[
    Path | None,
    option(
        "--scorer FILE",
        "Network of your own that scores windows in place of the model's reconstruction error: NAME.pt2, as "
        "train scorer writes it. Needs torch.",
        COMPUTING,
        "none",
    ),
]
Detectors = Annotated[
    DetectorKind,
    option(
        "--detector",
        "What classifies peaks: trees, the rule alone, or network: trees, and a network where they doubt.",
        COMPUTING,
    ),
]


def examples(*commands: str) -> str:
    r"""Return the epilog of a help text: examples, one a line (an empty line keeps the line break).

    >>> examples("beatwire demo")
    'Examples:\n\nbeatwire demo'
    """
    return "\n\n".join(["Examples:", *commands])
