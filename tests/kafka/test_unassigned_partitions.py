"""Partitions that no member works on: what is kept of them, without a broker."""

from types import SimpleNamespace
from typing import Any

import pytest
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming import unassigned
from beatwire.wire import names


def test_a_topic_that_is_created_again_with_fewer_partitions_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s, waits = [0.0], {0: (5, 9), 1: (5, 9)}
    reader = SimpleNamespace(positions=lambda timeout_s: dict(waits))

    class Reader:
        def __init__(self, *_: Any) -> None: ...

        def __enter__(self) -> Any:
            return reader

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(unassigned, "LagReader", Reader)
    monkeypatch.setattr(unassigned, "look_ahead", lambda _cluster, _topic, behind: dict.fromkeys(behind, True))
    state = unassigned.Unassigned(Cluster("127.0.0.1:1"), "g", names.SAMPLES, lambda: now_s[0])
    found = []
    for k in range(16):
        now_s[0] += unassigned.EVERY_S
        if k == 4:
            del waits[1]
        found += state.find([])
    assert found == [0]
