"""Metrics of a real monitor over HTTP: text that Prometheus can read, consistent histograms."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from beatwire.kernels.intake import avro
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import REJECT_KINDS, RawTick
from beatwire.service.observing.counters import Latency
from beatwire.service.observing.instruments import Instruments
from beatwire.service.observing.metric_table import METRICS
from beatwire.service.observing.metrics import LATENCY_BOUNDS_S
from beatwire.stages.decode import KINDS
from beatwire.wire.avro import REASONS
from laws import Signal
from monitored import Monitored, feed, get, polled
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families

ROOT = Path(__file__).parents[2]
STAGES = (
    "unbundle", "decode", "align", "ring", "ricker", "nms", "classify", "leads", "doubt", "beats", "windows", "history",
    "gather", "score", "beat_class", "drift", "ventricular", "rhythm", "alert", "lifecycle", "publish", "send",
)  # fmt: skip


@pytest.fixture(scope="module")
def monitored() -> Iterator[Monitored]:
    """A monitor that has replayed two seconds of a stream and published ten, with an asystole and two bad messages."""
    ticks = [polled(values, replay=k < 2) for k, values in enumerate(feed(12, flat_from_s=5))]
    bad = polled([b"\x00 bad", b'{"stream": 3}'], age_us=7_000_000, caught_up=False)
    with Monitored([*ticks, bad]) as one:
        one.run()
        yield one


@pytest.fixture(scope="module")
def families(monitored: Monitored) -> dict[str, Metric]:
    status, kind, text = monitored.get("/metrics")
    assert (status, kind.split(";")[0]) == (200, "text/plain")
    return {family.name: family for family in text_string_to_metric_families(text)}


def values(family: Metric, name: str | None = None) -> dict[tuple[str, ...], float]:
    """Return the samples of a family, or those of them with a name, by the values of their labels in order of names."""
    return {tuple(s.labels.values()): s.value for s in family.samples if name is None or s.name == name}


def check_histogram(family: Metric) -> dict[tuple[str, ...], float]:
    """Check every series of a histogram; return their counts."""
    counts = values(family, f"{family.name}_count")
    for labels, count in counts.items():
        series = [s for s in family.samples if tuple(v for label, v in s.labels.items() if label != "le") == labels]
        buckets = [(float(s.labels["le"]), s.value) for s in series if s.name.endswith("_bucket")]
        assert buckets[-1] == (float("inf"), count)
        assert all(a < b and m <= n for (a, m), (b, n) in pairwise(buckets))
        assert sum(s.name.endswith("_sum") for s in series) == 1
    return counts


def test_every_name_is_in_base_units_and_counters_end_in_total(families: dict[str, Metric]) -> None:
    ours = {name: family for name, family in families.items() if name.startswith("beatwire_")}
    assert len(ours) >= 20
    for name, family in ours.items():
        assert not re.search(r"_(ms|us|milliseconds|kb|mb|percent)(_|$)", name)
        assert family.documentation
        assert "quantile" not in {label for s in family.samples for label in s.labels} or name.endswith("_drift")
        if family.type == "counter":
            assert all(sample.name == f"{name}_total" for sample in family.samples)


def test_prometheus_gets_openmetrics_when_it_asks_for_it(monitored: Monitored, families: dict[str, Metric]) -> None:
    _, kind, text = get(monitored.server.port, "/metrics", "application/openmetrics-text; version=1.0.0")
    assert kind.startswith("application/openmetrics-text")
    assert {family.name for family in openmetrics(text)} == set(families)


def test_the_latency_histogram_counts_every_published_message_once(
    monitored: Monitored, families: dict[str, Metric]
) -> None:
    latency = families["beatwire_latency_seconds"]
    assert check_histogram(latency) == {(): 12.0}
    assert values(families["beatwire_messages"]) == {(): 12.0}
    assert values(families["beatwire_replayed_messages"]) == {(): 2.0}
    assert values(latency, "beatwire_latency_seconds_sum")[()] == pytest.approx(10 * 0.02 + 2 * 7.0)
    buckets = {s.labels["le"]: s.value for s in latency.samples if s.name.endswith("_bucket")}
    assert (buckets["0.01"], buckets["0.025"], buckets["5.0"], buckets["10.0"]) == (0, 10, 10, 12)


def test_cumulative_counts_agree_with_counting() -> None:
    rng = np.random.default_rng(3)
    arrived_us = 60_000_000 - rng.integers(0, 12_000_000, 5000)
    latency = Latency()
    for part in np.array_split(arrived_us, 7):
        latency.add(60_000_000, part)
    seconds = (60_000_000 - arrived_us) / 1e6
    expected = [int((seconds < bound).sum()) for bound in LATENCY_BOUNDS_S]
    assert latency.cumulative(LATENCY_BOUNDS_S) == [*expected, 5000]
    assert latency.sum_s == pytest.approx(seconds.sum())


def test_every_stage_is_timed_once_a_published_tick(families: dict[str, Metric]) -> None:
    ticks = values(families["beatwire_ticks"])[()]
    assert ticks >= 11
    assert check_histogram(families["beatwire_stage_seconds"]) == {(stage,): ticks for stage in STAGES}
    assert check_histogram(families["beatwire_tick_seconds"]) == {(): ticks}


def test_the_seconds_of_a_stage_are_added_up_over_its_calls_in_a_tick() -> None:
    now_s = iter(range(100))
    instruments = Instruments(Pipeline(Settings()), lambda: float(next(now_s)))
    step = instruments.timed("made up", lambda text: text.upper())
    assert [step("a"), step("b")] == ["A", "B"]  # one second each
    instruments.end_tick(published=True)
    step("c")
    instruments.end_tick(published=False)
    instruments.end_tick(published=True)
    durations = instruments.stages["made up"]
    assert (durations.sum_s, durations.cumulative()[-1]) == (2.0, 2)


def test_a_tick_that_is_not_published_is_in_no_histogram() -> None:
    with Monitored([polled(values) for values in feed(3)]) as one:
        one.source.stale = 1
        one.run()
        assert (one.counters.stale_ticks, one.counters.ticks) == (1, 2)
        assert one.counters.latency.cumulative([1.0])[-1] == 2
        assert one.counters.tick_s.cumulative()[-1] == 2
        assert {stage.cumulative()[-1] for stage in one.instruments.stages.values()} == {2}


def test_without_metrics_the_graph_runs_the_steps_themselves() -> None:
    plain, timed = Pipeline(Settings()), Pipeline(Settings())
    Instruments(timed)
    assert [node.func.__module__.rpartition(".")[2] for node in plain.stages] == list(STAGES[:-1])
    assert all(not hasattr(node.func, "__wrapped__") for node in plain.stages)
    assert [node.func.__wrapped__ for node in timed.stages] == [node.func for node in plain.stages]


def test_alerts_are_counted_by_rule_state_and_priority(families: dict[str, Metric]) -> None:
    transitions = values(families["beatwire_alert_transitions"])
    assert transitions["high", "asystole", "on"] == 1.0
    assert transitions["medium", "tachycardia", "off"] == 0.0  # a series from the start, so that a rate sees the first
    active = values(families["beatwire_alerts_active"])
    assert active["high", "asystole"] == 1.0
    assert active["medium", "tachycardia"] == 0.0


def test_rejects_are_counted_by_kind(families: dict[str, Metric]) -> None:
    rejects = values(families["beatwire_rejects"])
    assert {labels for (labels,) in rejects} == set(REJECT_KINDS)
    assert rejects["json",] == 1.0
    assert sum(rejects.values()) == 2.0
    assert set(KINDS.values()) <= set(REJECT_KINDS)
    assert set(KINDS) <= set(REASONS)
    assert avro.RATE not in KINDS


def test_the_lag_is_the_age_of_the_newest_message_while_more_are_waiting() -> None:
    first, *rest = feed(2)
    with Monitored([polled(first, age_us=1_500_000, caught_up=False)]) as one:
        one.run()
        assert one.counters.lag_s == 1.5
        one.source.ticks.extend(polled(values, age_us=1_500_000) for values in rest)
        one.settle()
        assert one.counters.lag_s == 0.0


def test_state_and_build_are_served(families: dict[str, Metric]) -> None:
    states = ("beatwire_healthy", "beatwire_ready", "beatwire_interrupted")
    assert {name: values(families[name])[()] for name in states} == {
        "beatwire_healthy": 1.0, "beatwire_ready": 1.0, "beatwire_interrupted": 0.0,
    }  # fmt: skip
    assert values(families["beatwire_assigned_partitions"]) == {(): 1.0}
    assert values(families["beatwire_streams"]) == {(): 1.0}
    (build,) = families["beatwire_build_info"].samples
    assert build.labels["backend"] == "cpu"


def test_the_metrics_of_the_table_are_served_with_their_labels(families: dict[str, Metric]) -> None:
    served = {}
    for family in families.values():
        if family.name.startswith("beatwire_"):
            name = family.name + ("_total" if family.type == "counter" else "")
            served[name] = {label for s in family.samples for label in s.labels} - {"le"}
    assert {name for name in METRICS if "_gpu_" not in name} == set(served)
    empty = {"beatwire_stream_drift", "beatwire_stream_looks"}  # no samples before a minute of beats
    assert {name: set(METRICS[name].labels) for name in set(served) - empty} == {
        name: labels for name, labels in served.items() if name not in empty
    }


def test_streams_with_hum_are_counted_until_they_are_clean_or_gone() -> None:
    at = np.arange(250 * 14)
    samples = synthesise(1, rate_hz=250.0, seconds=14, leads=2, noise=0.0).recording.samples
    pipeline, signals = Pipeline(Settings()), []
    for k, (mv, stop) in enumerate(((0.4, 3500), (0.4, 1750), (0.02, 3500), (0.0, 0))):
        hum = np.where(at < stop, mv * 1000 / 5.0 * np.sin(2 * np.pi * 50.0 / 250.0 * at), 0.0)
        signals.append(Signal(f"bed-{k}", samples + np.stack([0 * at, hum.round().astype(np.int16)]).astype(np.int16)))
    signals.append(Signal("slow", samples[:, ::3], rate_hz=83.0))
    signals.append(Signal("raw", signals[0].samples, uv_per_unit=0.0))
    counts = []
    for second in range(14):
        span = 250 * second, 250 * (second + 1)
        pipeline.emit(RawTick.of([signal.chunk(*span) for signal in signals if signal.samples.shape[1] >= span[1]]))
        counts.append(pipeline.streams_with_hum)
    assert (counts[0], counts[5], counts[6], counts[-1]) == (0, 2, 2, 1)
    pipeline.reset()
    assert pipeline.streams_with_hum == 0
    pipeline.backend = SimpleNamespace(name="gpu")  # type: ignore[assignment]
    assert pipeline.streams_with_hum is None  # another thread's copy would end the capture of a graph


def test_every_metric_of_the_alert_rules_is_served(families: dict[str, Metric]) -> None:
    text = (ROOT / "compose" / "prometheus" / "rules.yaml").read_text()
    served = {sample.name for family in families.values() for sample in family.samples}
    served |= {f"{name}_bucket" for name, family in families.items() if family.type == "histogram"}
    named = set(re.findall(r"\bbeatwire_\w+", re.sub(r"#.*", "", text)))
    assert len(named) >= 6
    assert named <= served
    alerts = re.findall(r"^ +- alert: (\w+)$", text, re.MULTILINE)
    assert len(alerts) == len(set(alerts)) >= 7
    assert len(re.findall(r"^ +expr:", text, re.MULTILINE)) == len(alerts)
    assert len(re.findall(r"^ +summary:", text, re.MULTILINE)) == len(alerts)


def test_the_page_names_the_values_of_the_labels_as_they_are_served(families: dict[str, Metric]) -> None:
    page = (ROOT / "docs" / "reference" / "metrics.md").read_text()
    for row, name, label in (
        ("`reason`", "beatwire_rejects", "reason"),
        ("`what` of chunks", "beatwire_chunks", "what"),
    ):
        (cell,) = re.findall(rf"^\|{row}\|(.+)\|$", page, re.MULTILINE)
        served = {sample.labels[label] for sample in families[name].samples if label in sample.labels}
        assert set(re.findall(r"`(\w+)`", cell)) == served
