"""Whether a source and its options can be used, found without what takes time to load.

In:  the name of a source and the options of the user
Out: one line that says what is wrong, as reading it would
"""

from pathlib import Path
from typing import Any

from beatwire.recordings.places import is_address, is_synthetic, wfdb_record


def check_options(fs: Any, column: Any, gain: Any) -> tuple[float | None, str | None, float | None]:
    """Return the options of a user for a file, if they can be such."""
    from beatwire.recordings.arguments import number, positive, string
    from beatwire.recordings.record import MAX_RATE_HZ, MIN_RATE_HZ

    rate = f"{MIN_RATE_HZ:g}-{MAX_RATE_HZ:g} Hz"
    return (
        None if fs is None else number("--fs", fs, rate, MIN_RATE_HZ, MAX_RATE_HZ),
        None if column is None else string("--column", column, "names or numbers of columns, a text"),
        None if gain is None else positive("--gain", gain, "a positive number of units per millivolt"),
    )


def check_source(
    source: str, fs: float | None = None, column: str | None = None, lead: str | None = None, gain: float | None = None
) -> None:
    """Check that there is such a recording; of a WFDB record also its header, its files and the leads that are wanted.

    Raises
    ------
    UserError
        The source, or an option, cannot be used. What is not found here, its reader finds.
    """
    is_path = not (is_synthetic(source) or is_address(source))
    record = wfdb_record(Path(source).expanduser()) if is_path else None  # NumPy is not loaded for a wrong path
    fs, column, gain = check_options(fs, column, gain)
    if record is not None:
        from beatwire.recordings.signals import check_choice
        from beatwire.recordings.wfdb.record import open_wfdb

        check_choice(open_wfdb(record, fs), fs, column, lead, gain)
