"""The results of ``beatwire bench``: ratio, target, columns of the table, keys of the JSON."""

from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import cast

import numpy as np
import pytest
from beatwire.bench import hours, memory
from beatwire.bench.recorded import append, read, table
from beatwire.bench.result import Result
from beatwire.errors import UserError
from beatwire.pipeline import Pipeline


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


def test_hours_of_signal_are_a_ward_that_is_repeated_in_one_session() -> None:
    lanes = hours.Lanes.of(hours.ward(2, hours.TURN_S, seed=1, leads=(1, 3), events=()).feeds)
    parts = list(hours.signal(lanes, 1 / 3, 60))
    for lane in range(2):
        columns = [np.concatenate([getattr(p, name)[p.lane == lane] for p in parts]) for name in ("first", "count")]
        first, count = columns
        assert first[0] == 0
        np.testing.assert_array_equal(first[1:], first[:-1] + count[:-1])
        assert first[-1] + count[-1] == 20 * 60 * 250
    due_us = np.concatenate([p.due_us for p in parts])
    assert (np.diff(due_us) >= 0).all()
    assert due_us[-1] >= 1200e6


def test_the_memory_of_a_stream_is_that_of_its_arrays_and_not_of_the_modules_it_uses() -> None:
    module = ModuleType("numpy_in_a_state")
    vars(module)["array"] = np.zeros(1000)
    state = SimpleNamespace(xp=module, rings=[np.zeros(100, np.int8)])
    node = SimpleNamespace(state=state, func=np.zeros)
    sizes = memory.array_bytes(cast("Pipeline", SimpleNamespace(stages=[node], marks=[])))
    assert sizes == {"numpy.rings": 8 + 100, "marks": 0}


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_memory_of_the_graph_is_flat_over_eight_hours_of_signal() -> None:
    lanes = hours.Lanes.of(hours.ward(hours.STREAMS, hours.TURN_S, seed=1, leads=(1, 3)).feeds)
    first, *later = hours.graph_mb(lanes, hours.HOURS)
    assert len(later) == hours.HOURS - 1
    assert max(later) <= hours.LIMIT * first


def test_results_are_recorded_and_the_table_has_the_median_of_the_newest_commit(tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    append([Result("tick", value, "ms", "limit", 60.0, "<= 1") for value in (30.0, 50.0, 90.0)], record)
    assert [one["value"] for one in read(record)] == [30.0, 50.0, 90.0]
    older = [one | {"commit": "0000000", "value": 1.0} for one in read(record)]
    row = table(older + read(record)).splitlines()[2]
    assert row.startswith("|tick|50 ms (30-90, 3 runs)|limit 60, ratio 0.833|<= 1: met|")


def test_a_line_that_is_no_measurement_is_named(tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    record.write_text('{"name": "tick"}\n')
    with pytest.raises(UserError, match=r"record.jsonl:1: expected the keys"):
        read(record)
