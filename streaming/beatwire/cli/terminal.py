"""What the commands share: where they write, and their options of the same meaning."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from beatwire.errors import UserError

if TYPE_CHECKING:
    from beatwire.backends.base import Backend

Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output and nothing else there.")]
Bootstrap = Annotated[str, typer.Option("--bootstrap-servers", help="host:port[,host:port...] of Kafka.")]
ModelPath = Annotated[Path | None, typer.Option("--model", help="A model of your own, NAME.safetensors.")]
GpuMemory = Annotated[
    str | None, typer.Option("--gpu-memory", help="What the GPU's memory pool may take, for instance 8GiB.")
]
ManagedMemory = Annotated[
    bool, typer.Option("--managed-memory", help="GPU memory that may move to the host, for a shared card.")
]
Seed = Annotated[int, typer.Option(min=0, help="Of what is left to chance.")]
errors = Console(stderr=True)


class BackendKind(StrEnum):
    """Where the arrays live."""

    AUTO = "auto"
    CPU = "cpu"
    GPU = "gpu"


Backends = Annotated[BackendKind, typer.Option(help="Where it runs; auto: on a GPU where one can be used.")]


def note(line: str) -> None:
    """Print a line beside the result."""
    errors.print(line, highlight=False, markup=False, soft_wrap=True)


def say(result: dict[str, Any], as_json: bool, title: str) -> None:
    """Print a result: one JSON object, or a table of its plain values."""
    if as_json:
        typer.echo(json.dumps(result))
        return
    table = Table(title=title, show_header=False)
    for name, value in result.items():
        table.add_row(name, as_text(value))
    Console().print(table)


def as_text(value: Any) -> str:
    """Write a value of a result for people; of counts, those that are not 0.

    >>> as_text({"dropped": 3, "late": 0}), as_text(["II", "V1"]), as_text(None), as_text(0.25)
    ('dropped 3', 'II, V1', '-', '0.25')
    """
    if isinstance(value, dict):
        return ", ".join(f"{name} {as_text(n)}" for name, n in value.items() if n) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(as_text, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "-"
    return f"{value:g}" if isinstance(value, float) else str(value)


def progress_bar(what: str, hidden: bool) -> Progress:
    """Return a progress bar on standard error."""
    return Progress(
        TextColumn(what), BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeRemainingColumn(),
        console=errors, transient=True, disable=hidden or not errors.is_terminal,
    )  # fmt: skip


def chosen(kind: BackendKind, gpu_memory: str | None, managed: bool = False, nvtx: bool = False) -> Backend:
    """Return the backend that was asked for.

    Raises
    ------
    UserError
        It cannot be had, or options of a GPU were given for the CPU.
    """
    from beatwire.backends.choose import bytes_of, choose

    of_gpu = {"--gpu-memory": gpu_memory is not None, "--managed-memory": managed, "--nvtx": nvtx}
    for option, given in of_gpu.items():
        if given and kind is BackendKind.CPU:
            raise UserError(f"{option}: expected --backend gpu or auto beside it; got --backend cpu")

    limit_bytes = None if gpu_memory is None else bytes_of(gpu_memory)
    return choose(kind.value, limit_bytes=limit_bytes, managed=managed, nvtx=nvtx)
