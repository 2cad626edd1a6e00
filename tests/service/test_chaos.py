"""The comparison and the plan of ``beatwire chaos``: whatever differs is found, and counts are exact."""

import contextlib
import json
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from beatwire.bench.chaos import undisturbed, watch
from beatwire.bench.chaos.compare import Comparison, alert_records, compare_records
from beatwire.bench.chaos.plan import BROKER, NETWORK, SCALE, SETS, Counts, Kind, counted, endless
from beatwire.bench.chaos.workers import Worker
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.batch import PolledTick
from beatwire.records import RawTick
from beatwire.wire import names
from beatwire.wire.avro import encode_chunk
from hypothesis import given, settings
from hypothesis import strategies as st
from monitored import polled

BEATS = [((f"bed-{k % 3}", 1, 100 * k), {"rr_ms": 800.0, "score": 1.5, "scored_by": "history"}) for k in range(9)]


def changed(k: int, **fields: object) -> list[tuple[tuple[object, ...], dict[str, object]]]:
    return [(key, beat | fields if n == k else beat) for n, (key, beat) in enumerate(BEATS)]


def test_equal_outputs_are_equal_in_any_order() -> None:
    result = compare_records(BEATS, BEATS[::-1])
    assert result.equal
    assert (result.expected, result.published) == (9, 9)


@pytest.mark.parametrize(
    ("published", "found"),
    [
        (BEATS[1:], {"lost": 1}),
        (BEATS + BEATS[:2], {"twice": 2}),
        ([*BEATS, (("bed-9", 1, 0), {})], {"unexpected": 1}),
        (changed(4, rr_ms=801.0), {"different": 1, "fields": {"rr_ms": 1}}),
        (changed(4, score=1.5002), {"different": 1, "fields": {"score": 1}}),
        (changed(4, score=None), {"different": 1, "fields": {"score": 1}}),
        (changed(4, score=1.50005), {}),
    ],
)
def test_whatever_is_lost_twice_or_different_is_counted(published: list[object], found: dict[str, object]) -> None:
    result = compare_records(BEATS, published)
    assert result.equal is not bool(found)
    expected = Comparison(**({"expected": 9, "published": len(published), "examples": result.examples} | found))
    assert result == expected
    assert bool(result.examples) is bool(found)


def test_alerts_that_depend_on_the_clock_are_not_compared() -> None:
    alerts = [{"rule": rule, "stream": "s", "id": rule, "state": "on"} for rule in ("no data", "asystole")]
    records = alert_records([json.dumps(alert).encode() for alert in alerts])
    assert [key for key, _ in records] == [("asystole", "s", "asystole", "on")]


def test_counted_disturbances_are_made_exactly_so_often() -> None:
    made = Counter(
        counted(Counts(kills=100, freezes=3, scale_changes=20, broker_restarts=20, network_faults=9), seed=5)
    )
    assert (made[Kind.KILL], made[Kind.FREEZE]) == (100, 3)
    assert sum(made[kind] for kind in SCALE) == 20
    assert sum(made[kind] for kind in BROKER) == 20
    assert sorted(made[kind] for kind in NETWORK) == [2, 2, 2, 3]
    assert abs(made[Kind.GROW] - made[Kind.SHRINK]) <= 1  # so that there is always a worker to stop


def test_a_seed_gives_the_same_disturbances_and_a_set_only_its_kinds() -> None:
    first, again, other = (list(islice(endless("worker", seed), 50)) for seed in (1, 1, 2))
    assert first == again != other
    assert set(first) == set(SETS["worker"])
    assert list(endless("none", 1)) == []


@pytest.mark.parametrize(
    ("worst_s", "settled_s", "page_ended", "answers", "grows", "said"),
    [
        (14.0, 80.0, None, 9, 1.1, []),
        (16.0, 80.0, None, 9, 1.1, ["/healthz failed for 16 s, the limit is 15 s"]),
        (14.0, 95.0, None, 9, 1.1, ["caught up after 95 s, the limit is 90 s"]),
        (14.0, 80.0, 1, 9, 1.1, ["the page ended with code 1"]),
        (0.0, 80.0, None, 0, 1.1, ["no worker has answered a probe"]),
        (14.0, 80.0, None, 9, 1.2, ["page: 100 MB became 120 MB became 144 MB, the limit is 15% more twice"]),
    ],
)
def test_what_exceeds_a_limit_of_a_soak_is_said(
    worst_s: float, settled_s: float, page_ended: int | None, answers: int, grows: float, said: list[str]
) -> None:
    workers: Any = SimpleNamespace()
    one = watch.Watch(workers, Path())
    one.worst_s, one.page_ended, one.answers = worst_s, page_ended, answers
    looks = 600
    one.looks = {
        "page": [watch.Look(100.0 * grows ** max(0, k // 100 - 3), 1) for k in range(looks)],
        "worker 1": [watch.Look(100.0, 4), watch.Look(500.0, 4)],
    }
    assert one.exceeded(settled_s) == said


@settings(max_examples=50)
@given(
    times=st.lists(st.tuples(st.integers(0, 15), st.integers(40, 150)), min_size=10, max_size=30),
    takeovers_mb=st.lists(st.floats(0, 100), max_size=2),
    code=st.integers(0, 30),
    leaks=st.booleans(),
)
def test_a_leak_is_told_from_what_takeovers_need(
    times: list[tuple[int, int]], takeovers_mb: list[float], code: int, leaks: bool
) -> None:
    """A worker takes four partitions over, and gives them up, in turn; at one time or another it loads code."""
    looks, kept_mb = list[watch.Look](), 300.0
    for k, (replay_s, seconds) in enumerate(times):
        kept_mb += (takeovers_mb[k] if k < len(takeovers_mb) else 0.0) + 100.0 * (k == code)
        for partitions, lasts_s, more_mb in ((0, replay_s, 400.0), (8, 30, 150.0), (4, seconds, 0.0)):
            looks += [watch.Look(kept_mb + more_mb + 2 * leaks * (len(looks) + s), partitions) for s in range(lasts_s)]
    workers: Any = SimpleNamespace()
    one = watch.Watch(workers, Path())
    one.looks, one.answers = {"worker 1": looks}, 1
    assert len(one.exceeded(0.0)) == leaks


@pytest.mark.parametrize("answers", [True, False])
def test_only_a_probe_that_fails_without_a_pause_counts(monkeypatch: pytest.MonkeyPatch, answers: bool) -> None:
    """A worker that has not joined yet is not asked."""
    worker = SimpleNamespace(number=1, port=1, ready=False, process=SimpleNamespace(pid=1))
    workers: Any = SimpleNamespace(free=lambda: [worker], running=[worker])
    one = watch.Watch(workers, Path())
    now_s = [0.0]
    monkeypatch.setattr(watch, "time", SimpleNamespace(monotonic=lambda: now_s[0]))
    looks: list[bool] = [True, False, False, answers, False, False, True]

    def healthy(_: int) -> bool:
        return looks.pop(0)

    monkeypatch.setattr(watch, "_is_healthy", healthy)
    monkeypatch.setattr(watch, "_covered", lambda _: 4)
    for ready in (False, *(len(looks) * [True])):
        worker.ready, now_s[0] = ready, now_s[0] + 1.0
        one.look()
    assert one.worst_s == (1.0 if answers else 4.0)


def test_the_port_of_a_worker_is_read_among_the_lines_of_its_log(tmp_path: Path) -> None:
    process: Any = None
    worker = Worker(1, process, tmp_path / "log")
    for text, port in (("backend cpu, as asked\n", 0), ("backend cpu, as asked\n40123\nmonitoring 1\n", 40123)):
        worker.log.write_text(text)
        assert worker.port == port


def test_the_undisturbed_run_decides_nothing_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two streams one ends sooner."""
    rows = [(second, stream) for second in range(20) for stream in ("a", "b") if stream == "a" or second < 4]
    ticks: list[PolledTick] = []
    for offset, (second, stream) in enumerate(rows):
        samples = np.zeros((1, 250), np.int16)
        value = encode_chunk(stream, 1, 250 * second, second * 1_000_000, 250.0, ["I"], samples)
        one = polled([value])
        tick = RawTick.of([value], now_us=1_000_000 * (second + 1_000), caught_up=True)
        ticks.append(replace(one, tick=tick, start={0: offset}, positions={0: offset + 1}))
    source: Any = contextlib.nullcontext(SimpleNamespace(take=lambda _: ticks.pop(0)))
    monkeypatch.setattr(undisturbed, "Source", lambda *_: source)
    monkeypatch.setattr(undisturbed, "topics", SimpleNamespace(end_offsets=lambda *_: {0: len(rows)}))
    output = undisturbed.undisturbed_output(Cluster("nowhere"))
    assert ticks == []
    assert {json.loads(value)["rule"] for value in output[names.ALERTS]} == {"flat line"}, "no data is by the clock"
