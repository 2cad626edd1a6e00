"""Options that several commands share: one text, one unit and one check for each.

A command annotates its parameter with one of the types below, so the same option reads the same everywhere.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from beatwire.cli.terminal import print_message
from beatwire.errors import UserError

if TYPE_CHECKING:
    from beatwire.backends.base import Backend

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


class BackendKind(StrEnum):
    """Where the arrays live and the kernels run."""

    AUTO = "auto"
    CPU = "cpu"
    GPU = "gpu"


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
Backends = Annotated[
    BackendKind,
    typer.Option(
        "--backend",
        rich_help_panel=COMPUTING,
        help="Where to compute. auto: on the GPU if there is a usable one, otherwise on the CPU.",
    ),
]
RecordingBackend = Annotated[
    BackendKind,
    typer.Option(
        "--backend",
        rich_help_panel=COMPUTING,
        help="Where to compute. auto: on the GPU if there is a usable one. Its kernels compile for half a minute "
        "at the first start, so it is worth it for weeks of signal.",
    ),
]
GpuMemory = Annotated[
    str | None,
    typer.Option(
        "--gpu-memory",
        metavar="SIZE",
        rich_help_panel=GPU,
        show_default="90 % of the free memory",
        help="Upper limit of the GPU memory pool, for example 8GiB or 500MB.",
    ),
]
ManagedMemory = Annotated[
    bool,
    typer.Option(
        "--managed-memory",
        metavar="",
        rich_help_panel=GPU,
        help="Allocate managed memory, which can move to the host: for a GPU shared with other programs.",
    ),
]
Nvtx = Annotated[
    bool,
    typer.Option(
        "--nvtx",
        metavar="",
        rich_help_panel=GPU,
        help="Mark the stages with NVTX ranges for a profiler; disables CUDA graphs.",
    ),
]

# The same of a command that has a configuration: None where the option is not given.
BackendOrNone = Annotated[
    BackendKind | None,
    typer.Option(
        "--backend",
        rich_help_panel=COMPUTING,
        show_default="auto",
        help="Where to compute. auto: on the GPU if there is a usable one, otherwise on the CPU.",
    ),
]
ManagedMemoryOrNone = Annotated[
    bool | None,
    typer.Option(
        "--managed-memory",
        metavar="",
        rich_help_panel=GPU,
        show_default=False,
        help="Allocate managed memory, which can move to the host: for a GPU shared with other programs.",
    ),
]
NvtxOrNone = Annotated[
    bool | None,
    typer.Option(
        "--nvtx",
        metavar="",
        rich_help_panel=GPU,
        show_default=False,
        help="Mark the stages with NVTX ranges for a profiler; disables CUDA graphs.",
    ),
]

Threads = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=1024,
        metavar="INTEGER",
        rich_help_panel=COMPUTING,
        show_default="cores / workers",
        help="Threads of each worker that compute. The output is the same for any number.",
    ),
]


def examples(*commands: str) -> str:
    r"""Return the epilog of a help text: examples, one a line (an empty line keeps the line break).

    >>> examples("beatwire demo")
    'Examples:\n\nbeatwire demo'
    """
    return "\n\n".join(["Examples:", *commands])


def choose_backend(
    kind: BackendKind, gpu_memory: str | None = None, managed: bool = False, nvtx: bool = False
) -> Backend:
    """Return the requested backend.

    Raises
    ------
    UserError
        There is no usable GPU, or a GPU option is combined with ``--backend cpu``.
    """
    from beatwire.backends.choose import choose
    from beatwire.settings import bytes_of

    gpu_options = {"--gpu-memory": gpu_memory is not None, "--managed-memory": managed, "--nvtx": nvtx}
    for option, given in gpu_options.items():
        if given and kind is BackendKind.CPU:
            raise UserError(f"{option}: expected --backend gpu or auto beside it; got --backend cpu")

    limit_bytes = None if gpu_memory is None else bytes_of(gpu_memory)
    return choose(kind.value, limit_bytes=limit_bytes, managed=managed, nvtx=nvtx)


def choose_recording_backend(kind: BackendKind, gpu_memory: str | None) -> tuple[Backend, int | None]:
    """Return the backend for a recording, and the limit of its memory in bytes; without `cpu` print the choice.

    Raises
    ------
    UserError
        As of `choose_backend`.
    """
    from beatwire.settings import bytes_of

    chosen = choose_backend(kind, gpu_memory)
    if kind is not BackendKind.CPU:
        print_message(chosen.reason)
    return chosen, bytes_of(gpu_memory) if gpu_memory and chosen.name == "gpu" else None
