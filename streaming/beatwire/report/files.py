"""The files of reports: their names, checked before the work."""

import importlib.util
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from beatwire.errors import UserError
from beatwire.outputs import check_output
from beatwire.recordings.files import source_files

ENDINGS = (".html", ".htm")
INDEX = "index.html"


def check_report(path: str | Path, sources: Iterable[str | Path] = (), option: str = "--out") -> Path:
    """Return the path of a report, with ``~`` expanded, if a report can be written to it.

    Raises
    ------
    UserError
        Bokeh is not installed, or the file cannot be written, as of :func:`beatwire.outputs.check_output`.
    """
    if importlib.util.find_spec("bokeh") is None:
        raise UserError("report: expected bokeh; it is not installed (pip install 'beatwire[report]')")
    return check_output(option, path, sources=sources, endings=ENDINGS)


def report_files(sources: Sequence[str], out: Path | None, others: Sequence[Path] = ()) -> list[Path]:
    """Return the file of each report, after checks that it can be written; ``others`` are files that are read too.

    >>> [path.name for path in report_files(["a/100.csv", "b/100"], Path("."))]
    ['100.html', '100-2.html']
    """
    read = [*(file for source in sources for file in source_files(source)), *others]
    if len(sources) == 1:
        return [_own_name(sources[0], read) if out is None else check_report(out, read)]
    if out is None:
        raise UserError(f"--out: expected a folder for {len(sources)} recordings; got none")
    out = out.expanduser()
    if out.exists() and not out.is_dir():
        raise UserError(f"--out: expected a folder for {len(sources)} recordings; got the file {str(out)!r}")
    if not out.parent.is_dir():
        raise UserError(f"--out: expected a folder in an existing folder; there is no folder {str(out.parent)!r}")
    try:
        out.mkdir(exist_ok=True)
    except OSError as error:
        raise UserError(f"--out: expected to make the folder {out}; got: {error.strerror or error}") from None
    names: list[str] = []
    for source in sources:
        stem, taken = _stem(source), {Path(INDEX).stem, *names}
        names.append(
            next(n for k in range(1, len(sources) + 3) if (n := stem if k == 1 else f"{stem}-{k}") not in taken)
        )
    check_report(out / INDEX, read)
    return [check_report(out / f"{name}.html", read) for name in names]


def _own_name(source: str, read: Sequence[Path]) -> Path:
    """Return NAME.html of a source, in the working folder, where nothing has this name yet."""
    path = Path(f"{_stem(source)}.html")
    if path.exists():
        raise UserError(f"report: expected no file {path.name} here, or --out FILE; --out {path.name} replaces it")
    return check_report(path, read)


def _stem(source: str) -> str:
    """Return the name of a source without folder and ending, as the name of a file.

    >>> _stem("ward/100.csv.gz"), _stem("mitdb/100.hea"), _stem("synthetic:seconds=60")
    ('100', '100', 'synthetic_seconds_60')
    """
    name = re.sub(r"[^\w.-]+", "_", Path(source).name).removesuffix(".gz")
    return re.sub(r"(?i)(?<=.)\.[a-z][a-z0-9]{1,7}$", "", name).strip(".") or "recording"
