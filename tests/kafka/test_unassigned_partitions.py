"""Partitions that no member works on: what is kept of them, without a broker."""

import logging
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming import commits, unassigned
from beatwire.kafka.consuming.positions import Position, is_monitors
from beatwire.kafka.consuming.progress import Progress
from beatwire.kafka.consuming.replay import find_starts
from beatwire.wire import names
from confluent_kafka import TopicPartition


def test_a_topic_that_is_created_again_with_fewer_partitions_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s, waits = [0.0], {0: (5, 9), 1: (5, 9)}
    reader = SimpleNamespace(positions=lambda timeout_s: dict(waits), foreign=set(), settings={})

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


def test_a_program_that_is_no_monitor_and_commits_for_the_group_is_said_once_a_partition(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "beatwire")
    foreign, now_s = set[int](), [0.0]
    reader = SimpleNamespace(positions=lambda timeout_s: {}, foreign=foreign, settings={})
    monkeypatch.setattr(unassigned, "LagReader", lambda *_: nullcontext(reader))
    state = unassigned.Unassigned(Cluster("127.0.0.1:1"), "g", names.SAMPLES, lambda: now_s[0])
    for partitions in (set(), {0, 1, 3}, {0, 1, 3}, {0, 1, 2, 3}, set(), {3}):
        foreign.clear()
        foreign |= partitions
        now_s[0] += unassigned.EVERY_S
        assert state.find([0]) == []
    assert [record.fields["partitions"] for record in caplog.records] == [[1, 3], [2], [3]]
    assert "got a commit of another program in partitions 1, 3 of ecg.samples" in caplog.text


@pytest.mark.parametrize(
    ("offset", "metadata", "is_foreign"),
    [(7, "", True), (7, "beatwire rewind=5", False), (7, "another", True), (0, "", False), (-1001, "", False)],
)
def test_a_commit_is_of_a_monitor_or_foreign(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, offset: int, metadata: str, *, is_foreign: bool
) -> None:
    caplog.set_level(logging.WARNING, "beatwire")
    at = TopicPartition(names.SAMPLES, 2, offset, metadata)
    topic = SimpleNamespace(topics={names.SAMPLES: SimpleNamespace(partitions=[2])})
    consumer = SimpleNamespace(
        list_topics=lambda *_, **__: topic,
        committed=lambda *_, **__: [at],
        get_watermark_offsets=lambda *_, **__: (0, 9),
        close=lambda: None,
    )
    monkeypatch.setattr(commits, "_group_reader", lambda *_: consumer)
    with commits.LagReader(Cluster("127.0.0.1:1"), "g") as reader:
        assert reader.positions() == {2: (max(0, offset), 9)}
        assert reader.foreign == ({2} if is_foreign else set())
    no_id: Any = SimpleNamespace(ask=lambda: None, known=None, wait=lambda: None)
    starts = find_starts(consumer, [at], Progress(), no_id, first=True)  # type: ignore[arg-type]
    assert starts[2].at.offset == max(0, offset)
    assert [record.event for record in caplog.records] == ["foreign commit"] * is_foreign


OURS, THEIRS = "limits:111111,models:222222", "limits:111111,models:333333"


@pytest.mark.parametrize("ours", [OURS, None])
def test_monitors_of_a_group_that_have_other_settings_are_said_once_and_that_they_agree_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, ours: str | None
) -> None:
    caplog.set_level(logging.INFO, "beatwire")
    now_s, commit, stated = [0.0], dict.fromkeys(range(4), 5), dict[int, str]()
    found = SimpleNamespace(
        positions=lambda timeout_s: {p: (at, 1_000) for p, at in commit.items()}, foreign=set(), settings=stated
    )
    monkeypatch.setattr(unassigned, "LagReader", lambda *_: nullcontext(found))
    monkeypatch.setattr(unassigned, "look_ahead", lambda *_: {})
    state = unassigned.Unassigned(Cluster(""), "g", names.SAMPLES, lambda: now_s[0], settings=ours)
    steps: list[tuple[dict[int, str | None], list[int]]] = [
        ({0: OURS, 1: OURS, 2: THEIRS, 3: None}, [0, 1]),  # the first look: nobody is known to be at work
        ({0: OURS, 1: OURS}, [0, 1]),  # partition 2 has the commit of a monitor that is gone
        ({0: OURS, 1: OURS, 2: THEIRS, 3: None}, [0, 1]),  # one of an earlier version says nothing
        ({0: OURS, 1: OURS, 2: THEIRS, 3: THEIRS}, [0, 1]),
        ({0: OURS, 1: OURS, 2: THEIRS, 3: THEIRS}, [0, 1]),
        ({0: OURS, 2: OURS}, [0, 2]),  # 2 is this monitor's now
        ({0: OURS, 2: OURS, 3: OURS}, [0, 2]),
        ({0: OURS, 2: OURS, 3: OURS}, [0, 2]),
    ]
    for moved, own in steps:
        stated.update({p: text for p, text in moved.items() if text is not None})
        commit.update({p: commit[p] + 7 for p in moved})
        now_s[0] += unassigned.EVERY_S
        assert state.find(own) == []
    said = [(record.levelname, getattr(record, "fields", {}).get("partitions")) for record in caplog.records]
    expected = [("WARNING", [2]), ("WARNING", [3]), ("INFO", None)]
    assert said == (expected if ours else [])
    assert ("got others (models) in partitions 2 of ecg.samples" in caplog.text) == bool(ours)


@pytest.mark.parametrize(
    ("metadata", "settings", "rewind"),
    [
        ("beatwire rewind=5 at=9 topic=obSTE3MLT0CklpNUVoNolw settings=a:00ff00,b:1234ef", "a:00ff00,b:1234ef", 5),
        ("beatwire rewind=5 settings=a:00ff00 banks=250.0x1", "a:00ff00", 5),
        ("beatwire rewind=5 at=9 banks= newer=x,y:z other=1", None, 5),
        ("beatwire rewind=5 settings=a:00ff00 newer=1", "a:00ff00", 5),
        ("beatwire rewind=5 settings=", None, 7),
        ("beatwire rewind=5 settings=a:00ff0", None, 7),
        ("beatwire rewind=5 newer=1 at=?", None, 7),
    ],
)  # fmt: skip
def test_a_commit_of_a_later_version_is_understood_and_a_damaged_one_is_none_of_a_monitor(
    metadata: str, settings: str | None, rewind: int
) -> None:
    at = Position.from_commit(7, metadata)
    assert (at.settings, at.rewind) == (settings, rewind)
    assert is_monitors(metadata) == (rewind == 5)
    if settings is not None:
        assert Position.from_commit(7, at.metadata) == at
