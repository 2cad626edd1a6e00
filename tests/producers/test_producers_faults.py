"""Faults: each has its effect, is counted, and depends only on seed, stream and chunk."""

from collections import Counter

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire.recordings import Recording
from beatwire.wire.avro import decode_chunk
from beatwire_producers.encode import Encoder
from beatwire_producers.faults import KINDS, Clocks, Faults, inject, parse_faults
from beatwire_producers.feeds import Feed, Lanes
from beatwire_producers.schedule import INTACT, Schedule, chunks_of, joined

CHUNK_MS = 200.0
LANES = Lanes.of(
    [Feed(f"s{k}", Recording("r", 250.0, ("II", "V1"), 1.0, np.zeros((2, 50_000), np.int16))) for k in range(10)]
)
LEADS = LANES.ints[:, 2]
ROWS = chunks_of(LANES, CHUNK_MS)
ALL = Faults(*[0.02] * len(KINDS))
EPISODES = ("lead_off", "no_value", "sessions", "rival", "stuck")  # of 15 chunks


def keys(rows: Schedule) -> list[tuple[int, int]]:
    return list(zip(rows.lane.tolist(), rows.number.tolist(), strict=True))


def canonical(rows: Schedule) -> np.ndarray:
    table = np.stack([getattr(rows, name).astype(np.int64) for name in Schedule.__dataclass_fields__], axis=1)
    return table[np.lexsort(table.T[::-1])]


def test_without_faults_the_schedule_is_unchanged() -> None:
    rows, done = inject(ROWS, Faults(), CHUNK_MS, LEADS)
    assert np.array_equal(canonical(rows), canonical(ROWS))
    assert done.counts == dict.fromkeys(KINDS, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_each_fault_affects_about_the_requested_share_of_chunks(kind: str) -> None:
    _, done = inject(ROWS, Faults(**{kind: 0.02}), CHUNK_MS, LEADS, seed=1)
    expected = 0.02 * len(ROWS) if kind not in EPISODES else (1 - 0.98**15) * len(ROWS)
    assert done.counts[kind] == pytest.approx(expected, rel=0.35)
    assert sum(done.counts.values()) == done.counts[kind]


def test_dropped_chunks_are_not_sent_and_duplicated_ones_are_sent_twice() -> None:
    rows, done = inject(ROWS, Faults(dropped=0.05, duplicated=0.05), CHUNK_MS, LEADS)
    sent = Counter(keys(rows))
    assert set(map(tuple, done.chunks["dropped"].tolist())).isdisjoint(sent)
    twice = {key for key, times in sent.items() if times == 2}
    assert twice == set(map(tuple, done.chunks["duplicated"].tolist()))
    assert len(rows) == len(ROWS) - done.counts["dropped"] + done.counts["duplicated"]


def test_reordered_chunks_are_overtaken_by_at_most_a_window() -> None:
    rows, done = inject(ROWS, Faults(reordered=0.05, window=3), CHUNK_MS, LEADS)
    assert sorted(keys(rows)) == sorted(keys(ROWS))
    overtaken = 0
    for lane, number in done.chunks["reordered"].tolist():
        mine = rows.number[rows.lane == lane].tolist()
        overtakers = [n for n in mine[: mine.index(number)] if n > number]
        assert len(overtakers) <= 3
        overtaken += bool(overtakers)
    assert overtaken > 0.9 * done.counts["reordered"]  # not where the next one is as late


def test_late_chunks_are_late_by_the_requested_seconds() -> None:
    rows, done = inject(ROWS, Faults(late=0.02, late_s=5.0), CHUNK_MS, LEADS)
    due = dict(zip(keys(ROWS), ROWS.due_us.tolist(), strict=True))
    late = {key: at - due[key] for key, at in zip(keys(rows), rows.due_us.tolist(), strict=True) if at != due[key]}
    assert set(late) == set(map(tuple, done.chunks["late"].tolist()))
    assert set(late.values()) == {5_000_000}


def test_a_clock_that_jumped_keeps_its_shift() -> None:
    rows, done = inject(ROWS, Faults(clock_jump=0.001, jump_s=10), CHUNK_MS, LEADS)
    shift = dict(zip(keys(rows), (rows.time_us - ROWS.time_us).tolist(), strict=True))
    for lane in range(10):
        jumps = sorted(n for at, n in done.chunks["clock_jump"].tolist() if at == lane)
        mine = np.array([shift[lane, n] for n in range(1000)])
        assert np.flatnonzero(np.diff(mine, prepend=0)).tolist() == jumps
        assert np.all(np.abs(np.diff(mine, prepend=0)) <= 10_000_000)


def test_leads_are_off_for_the_requested_seconds() -> None:
    rows, done = inject(ROWS, Faults(lead_off=0.002, off_s=2.0), CHUNK_MS, LEADS)
    assert set(np.unique(rows.lead_off)) == {0, 0b11}
    off = np.zeros((10, 1000), bool)
    off[rows.lane, rows.number] = rows.lead_off > 0
    assert off.sum() == done.counts["lead_off"]
    edges = np.diff(off.astype(int), axis=1, prepend=0, append=0)
    for lane in range(10):
        lengths = np.flatnonzero(edges[lane] < 0) - np.flatnonzero(edges[lane] > 0)
        assert np.all(lengths[:-1] >= 10)


def test_malformed_chunks_are_of_both_kinds_and_not_sent_twice() -> None:
    rows, done = inject(ROWS, Faults(malformed=0.05, duplicated=0.5), CHUNK_MS, LEADS)
    assert len(np.unique(rows.broken)) == 3
    assert (rows.broken != INTACT).sum() == done.counts["malformed"]


def test_blocks_other_streams_and_order_of_rows_change_nothing() -> None:
    whole, done = inject(ROWS, ALL, CHUNK_MS, LEADS, seed=5)
    clocks = Clocks(np.zeros(10, np.int64))
    blocks = [chunks_of(LANES, CHUNK_MS, begin, min(begin + 7, 1000)) for begin in range(0, 1000, 7)]
    parts = [inject(block, ALL, CHUNK_MS, LEADS, 5, clocks)[0] for block in blocks]
    assert np.array_equal(canonical(joined(*parts)), canonical(whole))
    shuffled = ROWS.take(np.random.default_rng(0).permutation(len(ROWS)))
    again, injected = inject(shuffled, ALL, CHUNK_MS, LEADS, seed=5)
    assert np.array_equal(canonical(again), canonical(whole))
    assert injected.counts == done.counts
    alone, _ = inject(ROWS.take(ROWS.lane == 3), ALL, CHUNK_MS, LEADS, seed=5)
    assert np.array_equal(canonical(alone), canonical(whole.take(whole.lane == 3)))


def test_another_seed_gives_other_faults_and_the_input_is_not_changed() -> None:
    before = canonical(ROWS)
    one, two = (inject(ROWS, ALL, CHUNK_MS, LEADS, seed=s)[0] for s in (1, 2))
    assert len(one) != len(two) or not np.array_equal(canonical(one), canonical(two))
    assert np.array_equal(canonical(ROWS), before)


def test_faults_are_parsed() -> None:
    assert parse_faults("dropped=0.01, clock-jump=0.5,window=5,late_s=2") == Faults(
        dropped=0.01, clock_jump=0.5, window=5, late_s=2.0
    )
    assert not parse_faults(None)
    assert not parse_faults("window=5")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lost=0.1", "--faults: expected names among dropped, duplicated, .*; got 'lost'"),
        ("dropped=2", "--faults: expected dropped within 0-1; got '2'"),
        ("dropped", "--faults: expected dropped within 0-1; got ''"),
        ("late=often", "--faults: expected late within 0-1; got 'often'"),
        ("window=0", "--faults: expected window within 1-100; got '0'"),
    ],
)
def test_invalid_faults_are_reported_in_one_line(text: str, expected: str) -> None:
    with pytest.raises(UserError, match=expected):
        parse_faults(text)


@pytest.mark.parametrize("kind", EPISODES[1:])
def test_messages_of_an_episode_say_what_the_fault_is(kind: str) -> None:
    rows, done = inject(ROWS, Faults(**{kind: 0.01}), CHUNK_MS, LEADS)
    affected = set(map(tuple, done.chunks[kind].tolist()))
    messages = list(map(decode_chunk, Encoder.of(LANES, 0).messages(rows)))
    seen = Counter[tuple[int, int]]()
    for key, message in zip(keys(rows), messages, strict=True):
        is_bad, first = key in affected, key[1] * 50
        seen[key] += 1
        empty = is_bad and kind == "no_value"
        assert message["samples"] == np.full(100, -32768 if empty else 0, "<i2").tobytes()
        assert message["first"] == (0 if is_bad and kind == "stuck" else first)
        assert (message["session"] != 1) == (is_bad and (kind == "sessions" or seen[key] == 2))
    assert {key for key, times in seen.items() if times == 2} == (affected if kind == "rival" else set())
