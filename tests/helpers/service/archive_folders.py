"""Folders of recordings, and archives of them, for the tests of archives."""

from pathlib import Path
from typing import Any

import beatwire
import pandas as pd
from beatwire.api.archive import run_archive
from beatwire.archives.run import Archived
from beatwire.archives.store import RESULTS, Store

NAMES = ["a 1.csv", "ward=2/ü%.csv", "ward=2/flat.csv", "wfdb/100", "wfdb/203"]


def run(folder: Any, out: Any, client: Any, **given: Any) -> Archived:
    return run_archive(folder, out, scheduler=client, notes=lambda _: None, **given)


def patterns(folder: Path) -> list[Path]:
    return [folder / "**" / "*.csv", folder / "wfdb"]


def row(out: Path, name: str) -> dict[str, Any]:
    found = Store(out).row(name)
    assert found is not None
    return found


def assert_as_analyzed(out: Path, source: Path, name: str, lead: str) -> None:
    """Compare the tables of a recording with those of analyze: the same bits."""
    expected = beatwire.analyze(source, lead=lead)
    for table in RESULTS:
        path = Store(out).path(table, name)
        frame = pd.read_parquet(path)
        theirs = getattr(expected, table)
        assert list(frame.columns) == list(theirs.columns)
        for column in frame:
            ours, other = frame[column].to_numpy(), theirs[column].to_numpy()
            if len(frame) and other.dtype != object:
                assert ours.dtype == other.dtype, (table, column)
            assert len(ours) == len(other)
            same = pd.Series(ours).equals(pd.Series(other.astype(ours.dtype)))
            assert same, (table, column)
    assert row(out, name)["beats"] == len(expected.beats)
