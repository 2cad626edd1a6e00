"""The results of ``beatwire bench``: ratio, target, columns of the table, keys of the JSON."""

from __future__ import annotations

import pytest
from beatwire.bench.result import Result


@pytest.mark.parametrize(
    ("value", "target", "cells"),
    [
        (30.0, "<= 1", ("tick", "30 ms", "limit: 60", "0.5", "met (<= 1)")),
        (90.04, "<= 1", ("tick", "90 ms", "limit: 60", "1.5", "missed (<= 1)")),
        (30.0, ">= 1", ("tick", "30 ms", "limit: 60", "0.5", "missed (>= 1)")),
        (600_000.0, ">= 1", ("tick", "600,000 ms", "limit: 60", "10,000", "met (>= 1)")),
        (0.1617, None, ("tick", "0.162 ms", "limit: 60", "0.0027", "")),
    ],
)
def test_a_result_meets_or_misses_its_target(value: float, target: str | None, cells: tuple[str, ...]) -> None:
    result = Result("tick", value, "ms", "limit", 60.0, target)
    assert result.cells == cells
    assert result.as_dict()["meets"] is (None if target is None else cells[4].startswith("met"))
    assert list(result.as_dict()) == [
        "name", "value", "unit", "against", "against_value", "ratio", "bar", "meets",
    ]  # fmt: skip
