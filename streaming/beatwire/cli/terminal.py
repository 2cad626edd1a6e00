"""Output of the commands: results on standard output, messages and progress on standard error."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from beatwire.errors import printable

stderr = Console(stderr=True)


class Line(NamedTuple):
    """How one value of a result is printed: its label, and a format string with its unit.

    >>> Line("length", "{:,.1f} s").format(1805.5556)
    '1,805.6 s'
    """

    label: str
    template: str = "{}"

    def format(self, value: Any) -> str:
        """Return the value as text; a missing value is a dash, of a dict only the counts above 0 are listed.

        >>> Line("faults").format({"dropped": 3, "late": 0}), Line("leads").format(["II", "V1"]), Line("x").format(None)
        ('dropped 3', 'II, V1', '-')
        """
        if value is None:
            return "-"
        if isinstance(value, dict):
            return ", ".join(f"{name} {count}" for name, count in value.items() if count) or "none"
        if isinstance(value, list | tuple):
            return ", ".join(map(str, value))
        if isinstance(value, bool):
            return "yes" if value else "no"
        return self.template.format(value)


def moment(time_us: int) -> datetime:
    """Return a device's time, microseconds since 1970; one that no calendar has as the nearest that it has.

    >>> moment(0).year, moment(2**62).year, moment(-(2**62)).year
    (1970, 2540, 1399)
    """
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=max(-(2**54), min(time_us, 2**54)))


def print_message(text: str, style: str | None = None) -> None:
    """Print a line on standard error; what could control the terminal is printed as an escape."""
    lines = "\n".join(map(printable, text.split("\n")))
    stderr.print(lines, style=style, highlight=False, markup=False, soft_wrap=True)


def print_result(result: Mapping[str, Any], as_json: bool, lines: Mapping[str, Line]) -> None:
    """Print a result on standard output: one JSON object, or one aligned line for each value.

    Parameters
    ----------
    result
        Values by name.
    as_json
        Print them all as JSON, under their names.
    lines
        Label and unit of each value, by its name; a value that is not listed keeps its name and has no unit.
    """
    if as_json:
        typer.echo(json.dumps(result))
        return
    shown = [lines.get(name, Line(name)) for name in result]
    width = max(len(line.label) for line in shown)
    for line, value in zip(shown, result.values(), strict=True):
        typer.echo(printable(f"{line.label:{width}}   {line.format(value)}"))


def progress_bar(label: str, hidden: bool) -> Progress:
    """Return a progress bar on standard error; it shows nothing if ``hidden``, or if that is no terminal."""
    return Progress(
        TextColumn(label), BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeRemainingColumn(),
        console=stderr, transient=True, disable=hidden or not stderr.is_terminal,
    )  # fmt: skip
