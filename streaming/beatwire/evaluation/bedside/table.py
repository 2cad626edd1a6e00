"""The table of alarms: every reference of a folder, in one list of rows.

JSON: ``model``, ``people`` (which half), ``records`` (how many by folder), ``rows`` (``Row.as_json``), ``failed``.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from beatwire.errors import UserError
from beatwire.evaluation.bedside import atrial, challenge, fibrillation, load, missed_beats, rates, runs, wearable
from beatwire.evaluation.bedside.folders import find_references
from beatwire.evaluation.bedside.rows import Row
from beatwire.evaluation.bedside.watched import PEOPLE, Watched, Watcher
from beatwire.evaluation.streamed import Streamed
from beatwire.recordings.wfdb.annotations import ENDING

_REFERENCES = (challenge, fibrillation, runs, atrial, missed_beats, rates, wearable)


def alert_table(
    folder: Path,
    graph: Streamed,
    *,
    people: str = "all",
    ward_beds: int = load.WARD_BEDS,
    annotations: str = ENDING,
    progress: Callable[[str], None] = lambda name: None,  # noqa: ARG005
) -> dict[str, Any]:
    """Run every reference of a folder, or of the folders in it, and the simulated ward; return the table.

    Parameters
    ----------
    folder, people, ward_beds, annotations, progress
        As `beatwire.api.commands.evaluate_alerts` has them.
    graph
        The graph, with companion models for people whom the shipped ones were trained on.

    Raises
    ------
    UserError
        There is no such record, or no such half.
    """
    if people not in PEOPLE:
        raise UserError(f"--people: expected one of {', '.join(PEOPLE)}; got {people!r}")
    watcher, failed = Watcher(graph), []
    by_folder: dict[str, list[Watched]] = {}
    for path in find_references(folder, people, annotations):
        progress(f"{path.parent.name}/{path.name}")
        try:
            record = watcher.watch(path, annotations)
        except UserError as reason:
            failed.append({"record": path.name, "reason": str(reason)})
        else:
            by_folder.setdefault(record.folder, []).append(record)
    progress(load.WARD)
    ward = list(load.simulated_ward(watcher, ward_beds))
    table = [row for name, records in by_folder.items() for part in _REFERENCES for row in part.rows(name, records)]
    return {
        "model": graph.name,
        "people": people,
        "records": {name: len(records) for name, records in by_folder.items()},
        "rows": [row.as_json() for row in table + _load(by_folder, ward)],
        "failed": failed,
    }


def _load(by_folder: dict[str, list[Watched]], ward: list[Watched]) -> list[Row]:
    """Return the alarms per bed and day of every group."""
    sinus = [r for records in by_folder.values() for r in records if load.is_sinus(r)]
    out = load.rows(load.SINUS, sinus)
    for name, records in by_folder.items():
        if any(r.annotated is not None and set(r.annotated.beat_class) - {"N"} for r in records):  # classes of beats
            out += load.rows(name, records)
    if ward:
        out += load.rate_rows(load.WARD, ward) + load.rows(load.WARD, ward)
    return out


def alerts_as_text(table: dict[str, Any]) -> str:
    """Return the table as lines: folder, figure, value, interval, counts, delay, goal."""
    heads = ["folder", "figure", "value", "95 % interval", "of", "delay s", "goal"]
    body = [_cells(row) for row in table["rows"]]
    widths = [max(len(row[k]) for row in [heads, *body]) for k in range(len(heads))]
    lines = ["  ".join(_padded(v, w, k) for k, (v, w) in enumerate(zip(row, widths, strict=True))).rstrip()
             for row in [heads, *body]]  # fmt: skip
    lines.append(f"people: {table['people']}; interval by person; delay: median (95 % quantile)")
    lines += [f"Failed: {f['record']}: {f['reason']}" for f in table["failed"]]
    return "\n".join(lines)


def _padded(text: str, width: int, column: int) -> str:
    return text.ljust(width) if column < 2 else text.rjust(width)


def _cells(row: dict[str, Any]) -> Sequence[str]:
    """Return the texts of a row of the table."""
    if row["value"] is None:
        return [row["folder"], row["measure"], "-", "-", "-", "-", row["goal"]]
    of = f"{row['hits']:g} / {row['trials']:g}" if row["unit"] == "%" else f"{row['hits']:g} in {row['trials']:.1f} h"
    delay = row["delay_s"]
    return [
        row["folder"],
        row["measure"],
        f"{row['value']:.1f} {row['unit']}",
        f"{row['low']:.1f}-{row['high']:.1f}",
        of,
        "" if delay is None else f"{delay['median']:.1f} ({delay['p95']:.1f})",
        row["goal"],
    ]
