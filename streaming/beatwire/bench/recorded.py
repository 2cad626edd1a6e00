"""The record of benchmarks: one line of JSON a measurement, and the table of the newest of each.

In:  results of a run
Out: lines appended to a file; the table, which ``make docs`` writes into its page
"""

import json
import os
import platform
import subprocess
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from beatwire.backends import cards
from beatwire.bench.result import Result, short
from beatwire.errors import UserError

KEYS = {"name", "value", "unit", "against", "against_value", "bar", "commit", "machine", "date"}


def append(results: Iterable[Result], path: Path) -> None:
    """Append a line for each result, with commit, machine and date.

    Raises
    ------
    UserError
        The file cannot be written.
    """
    where = {"commit": commit(), "machine": machine(), "date": datetime.now(UTC).date().isoformat()}
    lines = [json.dumps({k: v for k, v in one.as_dict().items() if k in KEYS} | where) for one in results]
    try:
        with path.open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        raise UserError(f"{path}: expected a file that can be written; got {error.strerror}") from error


def read(path: Path) -> list[dict[str, Any]]:
    """Return the measurements of a file, oldest first.

    Raises
    ------
    UserError
        A line is not one of a record.
    """
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            one = json.loads(line)
        except json.JSONDecodeError as error:
            raise UserError(f"{path}:{number}: expected a JSON object; got {error}") from error
        if not isinstance(one, dict) or set(one) != KEYS:
            raise UserError(f"{path}:{number}: expected the keys {', '.join(sorted(KEYS))}; got {line[:80]}")
        found.append(one)
    return found


def table(measurements: Sequence[dict[str, Any]]) -> str:
    """Return a Markdown table: of each benchmark the median of its newest commit and machine, and their spread."""
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for one in measurements:
        rows.setdefault((one["name"], one["against"]), []).append(one)
    lines = ["|what|measured|compared with|bar|date|", "|---|---|---|---|---|"]
    for (name, against), runs in rows.items():
        newest = [run for run in runs if (run["commit"], run["machine"]) == (runs[-1]["commit"], runs[-1]["machine"])]
        lines.append(_row(name, against, newest))
    machines = sorted({runs[-1]["machine"] for runs in rows.values()})
    return "\n".join([*lines, "", f"Machines: {'; '.join(machines)}."])


def _row(name: str, against: str, runs: Sequence[dict[str, Any]]) -> str:
    values = sorted(run["value"] for run in runs)
    other, last = median(run["against_value"] for run in runs), runs[-1]
    spread = f" ({short(values[0])}-{short(values[-1])}, {len(values)} runs)" if len(values) > 1 else ""
    ratio = median(values) / other if other else 0.0
    verdict = Result(name, median(values), last["unit"], against, other, last["bar"]).meets if other else None
    bar = {True: f"{last['bar']}: met", False: f"{last['bar']}: **missed**", None: last["bar"] or ""}[verdict]
    compared = f"{against} {short(other)}, ratio {short(ratio)}" if other else against
    measured = f"{short(median(values))} {last['unit']}{spread}"
    return f"|{name}|{measured}|{compared}|{bar}|{last['date']}|"


def commit() -> str:
    """Return the short hash of the checkout, with ``+`` if files differ from it; "unknown" outside of one."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603, S607

    try:
        return git("rev-parse", "--short", "HEAD") + (
            "+" if git("status", "--porcelain", "--untracked-files=no") else ""
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def machine() -> str:
    """Return number of this machine's processors, and their name or that of its cards."""
    names = [
        line.partition(":")[2].strip() for line in _text("/proc/cpuinfo").splitlines() if line.startswith("model name")
    ]
    found = cards.cards(cards.driver_of())
    if found:
        return f"{os.cpu_count()} cores beside {len(found)} {found[0].name}"
    return f"{os.cpu_count()} cores of {names[0] if names else platform.processor() or platform.machine()}"


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""
