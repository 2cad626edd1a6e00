"""The results of ``beatwire bench``, and what it does without the packages that it compares with."""

from __future__ import annotations

import sys

import pytest
from beatwire.bench import archive, detection
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


def test_without_torch_the_archive_is_compared_with_real_time_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(archive, "SAMPLES", 50_000)
    log: list[str] = []
    results = list(archive.measure(log.append))
    assert [r.name for r in results] == ["archive, times real time"]
    assert "pip install 'beatwire[train]'" in log[0]


def test_without_sleepecg_the_comparison_of_detectors_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sleepecg", None)
    log: list[str] = []
    assert list(detection.measure(log.append)) == []
    assert "pip install 'beatwire[bench]'" in log[0]
