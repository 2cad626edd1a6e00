"""Polled messages as arrays: runs of a partition, error events, parts without messages."""

from types import SimpleNamespace

import numpy as np
import pytest
from beatwire.kafka.consuming.batch import _constant_stretches, join_messages, partition_runs, split_errors, truncate


def test_runs_and_constant_stretches_end_where_the_column_changes():
    rng = np.random.default_rng(5)
    for _ in range(50):
        column = np.sort(rng.integers(0, 6, rng.integers(1, 40))).astype(np.int32)
        runs = partition_runs(column)
        assert [run.partition for run in runs for _ in range(run.begin, run.end)] == column.tolist()
        stretches = list(_constant_stretches(column.tolist().__getitem__, 0, len(column)))
        assert [value for begin, end, value in stretches for _ in range(begin, end)] == column.tolist()


def test_an_error_event_is_not_a_payload():
    class Event:
        def __init__(self, error):
            self.error = lambda: error

    bad, good = Event("why"), Event(None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("beatwire.kafka.consuming.batch.Message", SimpleNamespace(error=lambda event: event.error()))
        assert split_errors([good, bad, good]) == ([good, good], ["why"])


def test_a_poll_without_messages_is_an_empty_part():
    part = join_messages([])
    assert len(part.payload) == len(part.length) == len(part.partition) == 0
    assert part.next_offset == {}
    assert truncate([], {0: 3}) == []
