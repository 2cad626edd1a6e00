"""The waiting room: a rate that no stream has opens a bank only for a stream that goes on; nothing of it is lost."""

from dataclasses import replace

import numpy as np
import pytest
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import RawTick
from beatwire.wire import encode_chunk
from laws import Run, Signal, assert_same, collect, shuffled
from of_several_rates import RATES_HZ, beds, chunks_of, strays


def run_over(
    ticks: list[list[bytes]], settings: Settings | None = None, tick_us: int = 250_000
) -> tuple[Pipeline, Run]:
    pipeline, run = Pipeline(settings or Settings()), Run()
    collect(pipeline, run)
    for number, values in enumerate(ticks):
        pipeline.emit(RawTick.of(values, now_us=1_700_000_000_000_000 + number * tick_us, caught_up=False))
    return pipeline, run


@pytest.fixture(scope="module")
def whole() -> Run:
    return run_over([[s.chunk(0, s.samples.shape[1]) for s in beds()]])[1]


@pytest.mark.parametrize("seconds", [0.04, 0.25, 2.0])
def test_streams_of_new_rates_lose_nothing_while_they_wait(whole: Run, seconds: float) -> None:
    pipeline, run = run_over(chunks_of(beds(), seconds), tick_us=round(seconds * 1e6))
    assert_same(run, whole)
    assert sorted(bank.rate_hz for bank in pipeline.aligned.state.admission.banks) == list(RATES_HZ)


def test_what_waits_is_placed_when_another_stream_opens_the_bank() -> None:
    first = Signal("first", synthesise(3, rate_hz=250.0, seconds=2).recording.samples, 250.0)
    beds = [Signal(name, synthesise(4, rate_hz=360.0, seconds=20).recording.samples, 360.0) for name in ("a", "b")]
    whole = run_over([[first.chunk(0, 500)], [bed.chunk(0, 7200) for bed in beds]])[1]
    slow, fast = beds
    ticks = [[first.chunk(0, 500)], [slow.chunk(0, 90)], [fast.chunk(0, 7200)], [slow.chunk(90, 7200)]]
    assert_same(run_over(ticks)[1], whole)


def test_strays_open_no_bank_and_change_no_other_stream(whole: Run, rng: np.random.Generator) -> None:
    ticks = [[*tick, *strays(20, rng)] for tick in chunks_of(beds(), 0.25)]
    ticks = [shuffled([[value] for value in tick], rng) for tick in ticks]
    pipeline, run = run_over([chunks_of(beds(), 0.25)[0][:1], *ticks])
    assert_same(run.of(*(s.stream for s in beds())), whole)
    assert len(pipeline.aligned.state.admission.banks) == len(RATES_HZ)
    assert pipeline.directory.known == len(RATES_HZ)


def test_strays_in_the_first_tick_open_no_bank(whole: Run, rng: np.random.Generator) -> None:
    first, *ticks = chunks_of(beds(), 0.25)
    pipeline, run = run_over([[*first, *strays(100, rng)], *ticks])
    assert_same(run.of(*(s.stream for s in beds())), whole)
    assert sorted(bank.rate_hz for bank in pipeline.aligned.state.admission.banks) == list(RATES_HZ)


def test_a_session_that_begins_and_ends_within_a_tick_lets_no_stray_in() -> None:
    bed = beds()[0]
    other = Signal(bed.stream, bed.samples, bed.rate_hz, session=2)
    strays = [Signal(bed.stream, bed.samples, 250.0 + k / 1024).chunk(63, 126) for k in range(1, 20)]
    pipeline, _ = run_over([[bed.chunk(0, 63)], [other.chunk(0, 63), *strays, other.chunk(63, 126)]])
    assert [bank.rate_hz for bank in pipeline.aligned.state.admission.banks] == [250.0]
    assert len(pipeline.aligned.state.admission.waiting) == 19
    assert pipeline.aligned.state.admission.waiting.oldest_tick(0, 99) == 1


def test_a_stream_that_changes_its_rate_after_a_session_within_a_tick_loses_nothing() -> None:
    bed, changed = beds()[0], Signal("bed-0", beds()[1].samples, 360.0, session=1)
    between = Signal(bed.stream, bed.samples, bed.rate_hz, session=2)
    ticks = [[bed.chunk(0, 63)], [between.chunk(0, 63), changed.chunk(0, 90)]]
    ticks += [[changed.chunk(90 * k, 90 * k + 90)] for k in range(1, 80)]
    pipeline, run = run_over(ticks)
    assert [bank.rate_hz for bank in pipeline.aligned.state.admission.banks] == [250.0, 360.0]
    _, alone = run_over([[changed.chunk(0, 7200)]])
    assert_same(Run(run.beats), Run(alone.beats))


def test_a_stream_that_sent_enough_after_a_session_within_a_tick_is_placed_in_the_next(
    rng: np.random.Generator,
) -> None:
    bed, changed = beds()[0], Signal("bed-0", beds()[1].samples, 360.0, session=1)
    between = Signal(bed.stream, bed.samples, bed.rate_hz, session=2)
    ticks = [[bed.chunk(0, 63)], strays(1, rng), [between.chunk(0, 63), changed.chunk(0, 720)], []]
    pipeline, _ = run_over(ticks)
    assert [bank.rate_hz for bank in pipeline.aligned.state.admission.banks] == [250.0, 360.0]
    assert len(pipeline.aligned.state.admission.waiting) == 1


def test_a_stream_that_sent_enough_in_a_replay_is_placed_in_the_first_tick_after_it(rng: np.random.Generator) -> None:
    first, late = beds()[:2]
    pipeline = run_over([[first.chunk(0, 250)], strays(1, rng)])[0]
    replayed = RawTick.of([late.chunk(0, 720)], now_us=1_700_000_000_250_000)
    pipeline.emit(replace(replayed, open_banks={0: frozenset({(250.0, 1)})}))
    assert len(pipeline.aligned.state.admission.waiting) == 2
    pipeline.emit(RawTick.of([], now_us=1_700_000_000_500_000))
    assert [bank.rate_hz for bank in pipeline.aligned.state.admission.banks] == [250.0, 360.0]


def test_strays_are_dropped_and_counted_after_a_silence(rng: np.random.Generator) -> None:
    first = chunks_of(beds(), 0.25)[0][:1]
    pipeline, _ = run_over([first, strays(30, rng), first, strays(1, rng)], tick_us=40_000_000)
    assert pipeline.counts["strays"] == 30
    assert len(pipeline.aligned.state.admission.waiting) == 1


def test_what_was_dropped_by_a_later_chunk_of_its_stream_in_the_same_tick_is_a_reject(rng: np.random.Generator) -> None:
    first, (stray,) = chunks_of(beds(), 0.25)[0][:1], strays(1, rng)
    pipeline, run = Pipeline(Settings()), Run()
    collect(pipeline, run)
    arrival_us = 1_700_000_000_000_000 + 40_000_000 * np.arange(6)
    arrival_us[5] += 40_000_000
    pipeline.emit(RawTick.of([*first, stray], arrival_us=arrival_us[:2]))
    pipeline.emit(RawTick.of([stray, stray, *first, stray], arrival_us=arrival_us[2:]))
    left = pipeline.aligned.state.admission.waiting
    assert (pipeline.counts["strays"], len(run.rejects), len(left)) == (3, 3, 1)


def test_the_clock_alone_drops_nothing(rng: np.random.Generator) -> None:
    first = chunks_of(beds(), 0.25)[0][:1]
    pipeline, _ = run_over([first, strays(3, rng), [], [], []], tick_us=40_000_000)
    assert (pipeline.counts["strays"], len(pipeline.aligned.state.admission.waiting)) == (0, 3)


def test_an_unusable_message_of_the_partition_ends_the_wait_as_well(rng: np.random.Generator) -> None:
    first = chunks_of(beds(), 0.25)[0][:1]
    pipeline, _ = run_over([first, strays(3, rng), [], [b"{"]], tick_us=40_000_000)
    assert (pipeline.counts["strays"], len(pipeline.aligned.state.admission.waiting)) == (3, 0)


def test_a_successor_reads_the_chunks_that_wait() -> None:
    signals = beds()
    ticks = chunks_of(signals, 0.25)
    pipeline, _ = run_over([ticks[0][:1], *([] for _ in range(5)), ticks[0][1:], []])
    assert pipeline.rewind_tick(0) == 0  # of bed-0
    room = pipeline.aligned.state.admission.waiting
    assert room.oldest_tick(0, 99) == 6
    assert room.oldest_tick(1, 99) == 99


def test_a_stream_that_waited_is_replayed_from_its_first_chunk() -> None:
    signals = beds()
    ticks = chunks_of(signals, 0.25)
    alone = [tick[1:2] for tick in ticks]  # only bed-1, of another rate, goes on
    pipeline, _ = run_over([ticks[0][:1], [], [], *alone[:20]], Settings(silence_s=4.0), tick_us=250_000)
    slot = pipeline.directory.names.index("bed-1")
    assert pipeline.marks.ticks[slot, 0] == 3


def test_a_known_stream_changes_its_rate_with_its_session() -> None:
    changed = Signal("bed-0", beds()[1].samples, 360.0, session=2)
    ticks = [chunks_of(beds()[:1], 0.25)[0], *([changed.chunk(90 * k, 90 * k + 90)] for k in range(80))]
    pipeline, run = run_over(ticks)
    assert [bank.rate_hz for bank in pipeline.aligned.state.admission.banks] == [250.0, 360.0]
    _, alone = run_over([[changed.chunk(0, 7200)]])
    assert_same(Run(run.beats), Run(alone.beats))
    assert len(run.beats["bed-0"]) > 10


def test_a_stream_that_changes_its_rate_without_a_session_is_rejected_at_once() -> None:
    wrong = Signal("bed-0", beds()[0].samples, 251.0)
    pipeline, run = run_over([chunks_of(beds()[:1], 0.25)[0], [wrong.chunk(63, 90)]])
    assert run.rejects == ["align: stream 'bed-0' is 250 Hz; this chunk says 251 Hz"]
    assert len(pipeline.aligned.state.admission.waiting) == 0


@pytest.mark.parametrize("cut", [0, 1, 2, 3, 4, 5])
def test_it_is_rejected_at_once_however_ticks_are_cut(cut: int) -> None:
    """In one tick with the beginning of its session too, as in a replay: it would wait, and be rejected once more."""
    bed, later = beds()[0], Signal("bed-0", beds()[0].samples, 250.0, session=2)
    wrong, wrong_later = (Signal("bed-0", beds()[0].samples, 251.0, session=session) for session in (1, 2))
    values = [
        bed.chunk(0, 63), wrong.chunk(63, 90), bed.chunk(63, 90), wrong_later.chunk(0, 63), later.chunk(0, 63),
        wrong_later.chunk(63, 90),
    ]  # fmt: skip
    pipeline, run = run_over([values[:cut], values[cut:]])
    assert run.rejects == 2 * ["align: stream 'bed-0' is 250 Hz; this chunk says 251 Hz"]
    assert len(pipeline.aligned.state.admission.waiting) == 1, "a session of another rate, before it has another"


@pytest.mark.parametrize("kind", ["stuck", "sessions"])
def test_a_stream_that_keeps_to_its_bank_is_placed_whatever_its_counts_and_sessions_say(kind: str) -> None:
    """Two leads, which no other stream has: a count that never rises, or a session for each message."""
    pipeline = Pipeline(Settings())
    rules: set[str] = set()
    pipeline.subscribe(
        pipeline.alerts, lambda found: rules.update(a["rule"] for a in found.transitions if a["stream"] == "odd")
    )
    lead = np.zeros((2, 50), "<i2")
    for k in range(80):
        now_us = 1_782_345_678_000_000 + 200_000 * k
        good = encode_chunk("good", 1, 50 * k, now_us, 250.0, ["II"], lead[0], uv_per_unit=5.0)
        session = 1 if kind == "stuck" else k + 1
        odd = encode_chunk("odd", session, 0, now_us, 250.0, ["I", "II"], lead, uv_per_unit=5.0)
        pipeline.emit(RawTick.of([good, odd], now_us=now_us + 200_000, arrival_us=[now_us + 100_000] * 2))
    assert rules & {"no data", "cannot analyse"}, "without a bank nothing is said"
