"""What ``beatwire bench`` says of a figure."""

from __future__ import annotations

import pytest
from beatwire.bench.row import Row


@pytest.mark.parametrize(
    ("value", "bar", "cells"),
    [
        (30.0, "<= 1", ("tick", "30 ms", "the limit: 60", "0.5", "met (<= 1)")),
        (90.04, "<= 1", ("tick", "90 ms", "the limit: 60", "1.5", "missed (<= 1)")),
        (30.0, ">= 1", ("tick", "30 ms", "the limit: 60", "0.5", "missed (>= 1)")),
        (600_000.0, ">= 1", ("tick", "600,000 ms", "the limit: 60", "10,000", "met (>= 1)")),
        (0.1617, None, ("tick", "0.162 ms", "the limit: 60", "0.0027", "")),
    ],
)
def test_a_row_says_whether_its_bar_is_met(value: float, bar: str | None, cells: tuple[str, ...]) -> None:
    row = Row("tick", value, "ms", "the limit", 60.0, bar)
    assert row.cells == cells
    assert row.as_dict()["meets"] is (None if bar is None else cells[4].startswith("met"))
