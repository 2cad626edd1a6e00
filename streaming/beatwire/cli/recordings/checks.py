"""What the commands for recordings check before they load what analyses them."""

from pathlib import Path

from beatwire.errors import UserError
from beatwire.offline.results.files import alerts_beside, check_out
from beatwire.outputs import check_output, is_same
from beatwire.recordings.files import source_files

STANDARD_OUTPUT = Path("-")


def check_files(source: str, out: Path | None, alerts: Path | None, model: Path | None) -> None:
    """Check the files of the model, and those that ``beatwire analyze`` writes.

    Raises
    ------
    UserError
        There is no such model, or a file cannot be written, is read, or both are the same.
    """
    read = source_files(source)
    if model is not None:
        from beatwire.model.storage import check_model, model_files

        check_model(model)
        read += model_files(model)
    if out is not None:
        check_out(out, read)
    if alerts is not None and alerts != STANDARD_OUTPUT:
        check_output("--alerts", alerts, sources=read)
        if out is not None and (is_same(alerts, out) or is_same(alerts, alerts_beside(out))):
            raise UserError(f"--alerts: expected another file than those of --out; got {str(alerts)!r}")
