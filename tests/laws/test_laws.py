"""The laws, on the whole graph: cuts, horizon, recovery, independent lanes, unusable messages, overload."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import RawTick
from beatwire.settings import HORIZON_S
from beatwire_producers.ward import ward
from draws import draws
from hypothesis import HealthCheck, given, settings, strategies
from laws import (
    START_US,
    Run,
    Signal,
    Worker,
    assert_equal,
    collect,
    cut,
    grouped,
    run_graph,
    shuffled,
    ticks_of,
    transitions_by_stream,
)

LOOKAHEAD_S = 0.3  # law 2: output at time t follows from samples up to t + LOOKAHEAD_S


@pytest.fixture(scope="module")
def signals() -> list[Signal]:
    """Return eight streams of different rates and leads with planted arrhythmias and artefacts."""
    shown = ward(8, 40, seed=5, rates_hz=(128, 250, 360, 500, 1000), leads=(1, 2, 3))
    return [
        Signal(f.stream, f.recording.samples, f.recording.rate_hz, f.recording.uv_per_unit or 5.0) for f in shown.feeds
    ]


@pytest.fixture(scope="module")
def whole(signals: list[Signal]) -> Run:
    """Return the output for the streams in chunks of 8000 samples, one stream a tick."""
    run = run_graph(
        [[s.chunk(a, min(a + 8000, s.samples.shape[1])) for a in range(0, s.samples.shape[1], 8000)] for s in signals]
    )
    assert sum(map(len, run.beats.values())) > 250, "expected beats to compare: 8 streams of 40 s"
    assert {"asystole", "tachycardia"} <= {a["rule"] for a in run.alerts}, "expected the planted alerts to compare"
    return run


@pytest.mark.parametrize("seed", range(4))
def test_any_cut_into_chunks_and_ticks_gives_the_same_output(signals: list[Signal], whole: Run, seed: int) -> None:
    rng = np.random.default_rng(seed)
    longest = (20, 60, 200, 900)[seed]
    assert_equal(run_graph(ticks_of(signals, rng, longest)), whole)


def test_single_samples_give_the_same_output(signals: list[Signal]) -> None:
    short = [Signal(s.stream, s.samples[:, :2500], s.rate_hz, s.uv_per_unit) for s in signals[:2]]
    singles = [[s.chunk(a, a + 1)] for s in short for a in range(s.samples.shape[1])]
    ticks = [[m for one in singles[k : k + 25] for m in one] for k in range(0, len(singles), 25)]
    assert_equal(run_graph(ticks), run_graph([[s.chunk(0, 2500)] for s in short]))


@settings(
    max_examples=draws(8), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(cuts=strategies.data())
def test_cuts_drawn_by_hypothesis_give_the_same_output(
    signals: list[Signal], whole: Run, cuts: strategies.DataObject
) -> None:
    """Hypothesis draws the chunk lengths of each stream, the order of streams and the lengths of ticks."""
    lengths = strategies.lists(strategies.integers(1, 3000), min_size=1, max_size=8)
    queues = []
    for s in signals:
        pattern, bounds = cuts.draw(lengths, label=s.stream), [0]
        while bounds[-1] < s.samples.shape[1]:
            bounds.append(min(s.samples.shape[1], bounds[-1] + max(20, pattern[len(bounds) % len(pattern)])))
        queues.append([s.chunk(a, b) for a, b in itertools.pairwise(bounds)])
    messages = shuffled(queues, np.random.default_rng(cuts.draw(strategies.integers(0, 2**32 - 1), label="order")))
    sizes = cuts.draw(strategies.lists(strategies.integers(1, 400), min_size=1, max_size=6), label="ticks")
    ticks, least = [], len(messages) // 300  # so many ticks are enough
    while messages:
        size = max(least, sizes[len(ticks) % len(sizes)])
        ticks.append(messages[:size])
        messages = messages[size:]
    assert_equal(run_graph(ticks), whole)


@pytest.mark.parametrize("rate_hz", [128.0, 360.0])
def test_a_tick_that_ends_when_a_beat_is_decided_gives_the_same_output(rate_hz: float) -> None:
    """Each tick ends with the newest sample that a beat depends on: what is read beyond it is not there yet."""
    signal = with_late_waves(rate_hz, beats=60)
    n = signal.samples.shape[1]
    whole = run_graph([[signal.chunk(0, n)]])
    decided = {row[10] + 1 for row in whole.beats["bed"]}
    assert len(decided) > 50
    ticks = [[signal.chunk(a, b)] for a, b in itertools.pairwise(sorted({0, n, *decided}))]
    assert_equal(run_graph(ticks), whole)


def with_late_waves(rate_hz: float, beats: int) -> Signal:
    """Return a beat a second, with steep waves after R: they move the window of a beat as late as it may be."""
    rng = np.random.default_rng(2)
    n = int((beats + 1) * rate_hz)
    t = np.arange(n) / rate_hz
    x = 300 * np.sin(2 * np.pi * 0.31 * t) + rng.normal(0, 4, n)  # no sample is like the one a second before
    for second in range(1, beats + 1):
        x += 900 * np.exp(-(((t - second) / 0.012) ** 2) / 2)
        for earliest_s, latest_s in ((-0.06, 0.02), (-0.06, 0.02), (0.04, 0.11), (0.04, 0.11)):
            centre, width, height = rng.uniform(earliest_s, latest_s), rng.uniform(0.006, 0.02), rng.uniform(200, 900)
            x += rng.choice([-1, 1]) * height * np.exp(-(((t - second - centre) / width) ** 2) / 2)
    return Signal("bed", np.rint(x).astype(np.int16)[None], rate_hz)


@pytest.mark.parametrize("pass_s", [0.25, 5.0])
def test_the_length_of_a_pass_changes_nothing(signals: list[Signal], whole: Run, pass_s: float) -> None:
    rng = np.random.default_rng(9)
    assert_equal(run_graph(ticks_of(signals, rng, 300), Settings(pass_s=pass_s)), whole)


def test_other_streams_change_nothing(signals: list[Signal], whole: Run) -> None:
    rng = np.random.default_rng(3)
    chosen = signals[5:1:-2]
    alone = run_graph(ticks_of(chosen, rng))
    assert_equal(alone, whole.of(*(s.stream for s in chosen)))


@pytest.mark.parametrize("rule", ["asystole", "tachycardia"])
def test_output_depends_on_the_samples_within_the_horizon_only(signals: list[Signal], whole: Run, rule: str) -> None:
    """Two graphs with different samples before the horizon agree after it, on a stream that raises alerts again."""
    rng = np.random.default_rng(11)
    stream = next(a["stream"] for a in whole.alerts if a["rule"] == rule)
    signal = next(s for s in signals if s.stream == stream)
    person, rate = signal.samples[:1], signal.rate_hz
    repeats = int(np.ceil((HORIZON_S + 90) * rate / person.shape[1]))
    later = np.tile(person, repeats)
    runs = []
    for past in (np.tile(person[:, ::-1], 2), (0.3 * person).astype(np.int16)):
        both = np.concatenate([past[:, : round(20 * rate)], later], axis=1)
        runs.append(run_graph(ticks_of([Signal("bed", both, rate)], rng, 400)))
    settled = (20 + HORIZON_S) * rate
    for run in runs:
        run.beats["bed"] = [row for row in run.beats["bed"] if row[1] >= settled]
        run.alerts = [a for a in run.alerts if a["onset"] >= settled]
    assert len(runs[0].beats["bed"]) > 60
    assert rule in {a["rule"] for a in runs[0].alerts}
    assert_equal(*runs)


def test_output_does_not_depend_on_samples_after_the_lookahead(signals: list[Signal], whole: Run) -> None:
    """Two graphs whose signals differ from a sample on agree up to ``LOOKAHEAD_S`` before it, and not nearer to it."""
    rng = np.random.default_rng(14)
    border = {s.stream: int(s.samples.shape[1] * rng.uniform(0.3, 0.9)) for s in signals}
    other = []
    for s in signals:
        samples = s.samples.copy()
        after = samples[:, border[s.stream] :]
        after[...] = rng.permutation(after.T).T
        other.append(replace(s, samples=samples))
    changed = run_graph(ticks_of(other, rng, 300))
    last = {s.stream: border[s.stream] - LOOKAHEAD_S * s.rate_hz for s in signals}
    assert_equal(until(changed, last), until(whole, last))
    compared = sum(map(len, until(whole, last).beats.values()))
    assert 100 < compared < 0.9 * sum(map(len, whole.beats.values()))
    nearer = {s.stream: border[s.stream] - 0.1 * s.rate_hz for s in signals}
    with pytest.raises(AssertionError):
        assert_equal(until(changed, nearer), until(whole, nearer))


def until(run: Run, last: dict[str, float]) -> Run:
    """Return the beats of a run up to a sample of each stream, and the alerts decided up to there."""
    return Run(
        {stream: [row for row in rows if row[1] <= last[stream]] for stream, rows in run.beats.items()},
        [a for a in run.alerts if a["decided"] <= last[a["stream"]]],
    )


def test_a_successor_that_replays_from_the_rewind_mark_gives_the_output_of_an_undisturbed_run(
    signals: list[Signal],
) -> None:
    rng = np.random.default_rng(12)
    long = [Signal(s.stream, np.tile(s.samples, 5), s.rate_hz, s.uv_per_unit) for s in signals]
    ticks = ticks_of(long, rng, 300, per_tick=60)
    undisturbed = run_graph(ticks)
    at = int(0.8 * len(ticks))
    first, published = Pipeline(Settings()), Run()
    collect(first, published)
    for values in ticks[:at]:
        first.emit(RawTick.of(values))
    mark = first.rewind_tick(0)
    assert 0 < mark < at, "expected a rewind mark inside the run"
    second, discarded = Pipeline(Settings()), Run()
    collect(second, discarded)
    for values in ticks[mark:at]:
        second.emit(RawTick.of(values))
    active = {a["id"]: a for a in published.alerts}
    second.adopt([a for a in active.values() if a["state"] != "off"])
    discarded.beats.clear()
    discarded.alerts.clear()
    for values in ticks[at:]:
        second.emit(RawTick.of(values))
    for stream, rows in discarded.beats.items():
        published.beats.setdefault(stream, []).extend(rows)
    published.alerts += discarded.alerts
    assert len(undisturbed.alerts) > 10, "expected alerts to compare: the planted ones, several times"
    assert_equal(published, undisturbed)


@pytest.mark.parametrize(("times", "taken_over"), [(5, 0.88), (8, 0.8)])
def test_a_worker_that_takes_streams_over_while_its_own_go_on_gives_the_output_of_an_undisturbed_run(
    signals: list[Signal], times: int, taken_over: float
) -> None:
    rng = np.random.default_rng(13)
    long = [Signal(s.stream, np.tile(s.samples, times), s.rate_hz, s.uv_per_unit) for s in signals]
    queues = [[s.chunk(a, b) for a, b in cut(s.samples.shape[1], rng, 300)] for s in long]
    partition_of = {message: k % 2 for k, queue in enumerate(queues) for message in queue}
    ticks = grouped(shuffled(queues, rng), rng, 60)

    def emit(pipeline: Pipeline, number: int, *partitions: int, caught_up: bool = True) -> None:
        values = [message for message in ticks[number] if partition_of[message] in partitions]
        tick = RawTick.of(values, now_us=START_US + number * 200_000, caught_up=caught_up)
        pipeline.emit(replace(tick, partition=np.array([partition_of[m] for m in values], np.int32)))

    undisturbed, survivor, killed = (Worker() for _ in range(3))
    for number in range(len(ticks)):
        emit(undisturbed.pipeline, number, 0, 1)
    at = int(taken_over * len(ticks))
    for number in range(at):
        emit(survivor.pipeline, number, 0)
        emit(killed.pipeline, number, 1)
    mark = killed.pipeline.rewind_tick(1)
    assert 0 < mark < at, "expected a rewind mark inside the run"
    before = survivor.take()
    for number in range(mark, at):
        emit(survivor.pipeline, number, 1, caught_up=False)  # as the source says in a replay
    survivor.take()
    log = {a["id"]: a for a in before.alerts + killed.run.alerts}
    survivor.pipeline.adopt([a for a in log.values() if a["state"] != "off"])
    for number in range(at, len(ticks)):
        emit(survivor.pipeline, number, 0, 1)
    found = before
    for part in (killed.run, survivor.run):
        found.alerts += part.alerts
        for stream, rows in part.beats.items():
            found.beats.setdefault(stream, []).extend(rows)
    assert len(undisturbed.run.alerts) > 10, "expected alerts to compare: the planted ones, several times"
    assert_equal(found, undisturbed.run)


def test_unusable_messages_change_the_rejects_only(signals: list[Signal], whole: Run) -> None:
    rng = np.random.default_rng(4)
    s = signals[0]
    poison = [
        b"", b"\0", b"{", b'{"stream": 3}', b"\xff" * 40, s.chunk(0, 10)[:-3], s.chunk(0, 10) + b"more",
        s.chunk(0, 10, rate_hz=0.0), s.chunk(0, 10, rate_hz=1e9), s.chunk(0, 0), s.chunk(0, 10, stream=""),
        s.chunk(0, 10, rate_hz=s.rate_hz + 1), bytes(10_000_000),
    ]  # fmt: skip
    queues = [[x.chunk(a, b) for a, b in cut(x.samples.shape[1], rng, 300)] for x in signals]
    queues[0] = [queues[0][0], *poison[:6], *queues[0][1:]]
    run = run_graph([*grouped(shuffled([*queues, poison[6:11]], rng), rng, 40), [poison[11], poison[12]]])
    assert len(run.rejects) == len(poison)
    assert_equal(run, whole)


def test_beats_and_rule_alerts_do_not_depend_on_scores(signals: list[Signal], whole: Run) -> None:
    rng = np.random.default_rng(6)
    run = run_graph(ticks_of(signals, rng), overloaded=True)
    for stream, rows in whole.beats.items():
        assert [row[:2] for row in rows] == [row[:2] for row in run.beats[stream]]
        assert all(np.isnan(row[7]) and row[9] == 2 for row in run.beats[stream])
        classes, without = (np.array(r)[:, 11:13] for r in (rows, run.beats[stream]))
        np.testing.assert_array_equal(classes, without, err_msg=stream)
    by_score = {"anomalous beats", "drift"}
    assert {"asystole", "tachycardia"} <= {a["rule"] for a in run.alerts}
    rules = {s: [r for r in rows if r[1] not in by_score] for s, rows in transitions_by_stream(whole).items()}
    assert {s: r for s, r in rules.items() if r} == transitions_by_stream(run)


def test_empty_ticks_change_nothing(signals: list[Signal]) -> None:
    rng = np.random.default_rng(8)
    s = Signal(signals[1].stream, signals[1].samples[:, :4000], signals[1].rate_hz)
    ticks = ticks_of([s], rng)
    padded = [[], *(t for values in ticks for t in (values, [])), []]
    assert_equal(run_graph(padded), run_graph(ticks))
