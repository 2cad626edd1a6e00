"""The columns of a text table as numbers: dates and clock times are seconds, other text remains None.

In:  the columns of a table, or of a block of it, as they were read; those of the block before
Out: :class:`ReadColumns`: the same columns as numbers, by one clock in all blocks
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from beatwire.recordings.columns.clocktext import seconds_after, seconds_of, seconds_of_digits
from beatwire.recordings.columns.parts import split_clock, with_parts
from beatwire.recordings.columns.roles import Table
from beatwire.recordings.text.dialect import GROUPED, MISSING_CELLS, without_groups
from beatwire.recordings.text.layout import Layout
from beatwire.records import F64
from beatwire.tables import Column


@dataclass(frozen=True)
class ReadColumns:
    """The columns of a file as they were read, and as numbers: dates and clock times are seconds.

    ``columns`` are those of ``table``, where ``split``, the columns of a clock in two of them, are not joined.
    """

    layout: Layout
    written: list[Column]
    columns: list[Any]
    table: Table
    split: tuple[int, ...]

    @staticmethod
    def of(layout: Layout, written: list[Column], before: ReadColumns | None = None) -> ReadColumns:
        """Return the columns of a file as numbers; text remains None, where the rows ``before`` were none either."""
        columns: list[Any] = []
        units = [*layout.units]
        for k, column in enumerate(written):
            is_text = isinstance(column, pd.Series)
            values = None if k in layout.digits else numbers_in(column, layout.dialect.decimal) if is_text else column
            dates = _dates_in(column, k, before) if values is None else seconds_of_digits(values)
            if dates is not None:
                values, units[k] = dates, "s"
            if values is None and before is not None and before.columns[k] is not None:
                values = np.full(len(column), np.nan)
            columns.append(values)
        table = Table(layout.names, columns, tuple(units), layout.sensors)
        split = split_clock(table) if before is None else before.split
        return ReadColumns(layout, written, columns, with_parts(table, split), split)


def _dates_in(column: pd.Series, k: int, before: ReadColumns | None) -> F64 | None:
    """Return dates and clock times as seconds, those after other rows by the clock of the last of these."""
    if before is None or before.columns[k] is None or not isinstance(last := before.written[k][-1:], pd.Series):
        return seconds_of(column)
    return seconds_after(last, float(before.columns[k][-1]), column)


def numbers_in(column: pd.Series, decimal: str) -> F64 | None:
    """Return a column of text as numbers, NaN where a cell is none; None if most of its cells are no numbers."""
    if column.dtype.kind == "b":
        return None
    text = column.astype(str).str.strip(" \t'\"").str.replace("\u2212", "-")
    grouped = text.str.fullmatch(GROUPED[decimal])
    plain = text.mask(grouped, text[grouped].map(partial(without_groups, decimal=decimal))) if grouped.any() else text
    found = pd.to_numeric(plain.str.replace(",", ".") if decimal == "," else plain, errors="coerce")
    filled = column.notna() & ~text.str.casefold().isin(MISSING_CELLS)
    is_numeric = int(found.notna().sum()) >= 0.5 * max(1, int(filled.sum()))
    values: F64 | None = found.to_numpy(np.float64) if is_numeric else None
    return values
