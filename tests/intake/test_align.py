"""Align and ring against a dictionary per stream: faults of every kind, any cut into ticks."""

import tracemalloc
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest
from beatwire.jit import threads
from beatwire.pipeline import HORIZON_S
from beatwire.pipeline.settings import Settings
from beatwire.records.columns import (
    EVENT_COLUMNS,
    EVENT_SAMPLE,
    EVENT_SLOT,
    EVENT_VALUE,
    FRESH_COLUMNS,
    FRESH_LANE,
    FRESH_SLOT,
)
from beatwire.records.slot_columns import SLOT_FRESH
from beatwire.stages import align
from beatwire.stages.support.streams import placements
from beatwire.stages.support.streams.align_groups import Grouped
from oracles import PlacedStream, SentChunk, filled
from steps import Aligner, chunk

SHORT = Settings(reorder_s=0.4, bridge_s=0.2, pass_s=0.5, duplicate_s=2.0, evict_s=2 * HORIZON_S)
RATE_HZ = 100.0
HOLE = 4


def device(rng: np.random.Generator, stream: str, leads: int, n: int, faults: float) -> list[SentChunk]:
    """Return the chunks of one device; ``faults`` is the probability of a fault in a chunk."""
    made: list[SentChunk] = []
    at, session, mask = int(rng.integers(0, 10_000)), 1, 0
    for _ in range(n):
        size = int(rng.integers(1, 40))
        wrong = str(rng.choice(KINDS)) if rng.random() < faults else ""
        if wrong == "short gap":
            at += int(rng.integers(1, 21))
        elif wrong == "long gap":
            at += int(rng.integers(21, 500))
        elif wrong == "session":
            session, at = session + 1, int(rng.integers(0, 10_000))
        elif wrong == "overlap":
            at = max(0, at - int(rng.integers(1, 30)))
        elif wrong == "mask":
            mask = int(rng.integers(0, 2**leads))
        samples = rng.integers(-32767, 32768, (leads, size)).astype(np.int16)
        if wrong == "no value":
            samples[rng.integers(0, leads), rng.random(size) < 0.4] = -32768
        if wrong == "off without value":
            mask = int(rng.integers(1, 2**leads))
            samples[[k for k in range(leads) if mask >> k & 1]] = -32768
        c = SentChunk(stream, session, at, samples, RATE_HZ, lead_off=mask)
        made.append(c)
        at += size
        made += [bad for kind, bad in misfits(rng, c).items() if kind == wrong]
    for _ in range(int(faults * n / 3)):
        k = int(rng.integers(0, len(made)))
        made.insert(min(len(made), k + int(rng.choice([1, 1, 2, 3, 30]))), made.pop(k))
    return made


def misfits(rng: np.random.Generator, c: SentChunk) -> dict[str, SentChunk]:
    """Return faulty chunks that may follow ``c``, by kind of fault."""
    return {
        "duplicate": replace(c, samples=rng.integers(-9, 9, c.samples.shape).astype(np.int16)),
        "far ahead": replace(c, first=c.stop + int(rng.integers(150, 30_000))),
        "back": replace(c, first=max(0, c.first - int(rng.integers(1, 600)))),
        "rate": replace(c, first=c.stop, rate_hz=360.0),
        "leads": replace(c, first=c.stop, samples=np.ones((len(c.samples) + 1, 5), np.int16), lead_off=0),
        "scale": replace(c, first=c.stop, uv_per_unit=2.0),
        "renamed": replace(c, first=c.stop, leads=tuple(f"L{k}" for k in range(len(c.samples), 0, -1))),
    }


KINDS = ["short gap", "long gap", "session", "overlap", "mask", "no value", "off without value", "duplicate",
         "far ahead", "back", "rate", "leads", "scale", "renamed"]  # fmt: skip


def arrive(rng: np.random.Generator, queues: list[list[SentChunk]]) -> list[SentChunk]:
    """Merge the chunks of devices, each in its order; some are preceded by a silence of 61 s or 301 s.

    A chunk of another rate is left out where it would begin a session: the oracle knows no durations for it.
    """
    order = np.repeat(np.arange(len(queues)), [len(q) for q in queues])
    rng.shuffle(order)
    heads = [iter(q) for q in queues]
    now_us, sessions, merged = 0, len(queues) * [0], []
    for k in order:
        c, begins = next(heads[k]), rng.random() < 0.006
        now_us += int(rng.choice([61_000_000, 301_000_000])) if begins else 10_000
        sessions = len(queues) * [0] if begins else sessions
        if c.rate_hz == RATE_HZ:
            sessions[k] = c.session
        if c.session == sessions[k]:
            merged.append(replace(c, arrival_us=now_us))
    return merged


def new_oracle() -> PlacedStream:
    s = SHORT
    samples = [round(d * RATE_HZ) for d in (s.reorder_s, s.bridge_s, s.duplicate_s)]
    return PlacedStream(*samples, silence_us=round(s.silence_s * 1e6), forget_us=round(s.evict_s * 1e6), hole=HOLE)


def check(aligner: Aligner, oracles: dict[str, PlacedStream]) -> None:
    for stream, oracle in oracles.items():
        if not aligner.has_lane(stream):  # released after a silence
            continue
        assert aligner.position(stream) == (oracle.session, oracle.base, oracle.expected)
        final = aligner.final(stream)
        assert oracle.expected - HOLE - 1 <= final <= oracle.expected
        if final > oracle.base:
            np.testing.assert_array_equal(aligner.ring_samples(stream, oracle.base, final), oracle.filled(final))
        for a, values in oracle.ahead.items():
            assert aligner.ring_samples(stream, a, a + 1)[:, 0].tolist() == list(values)
    assert aligner.counts == dict(+sum((o.counts for o in oracles.values()), Counter()))


def reasons_of(oracles: dict[str, PlacedStream], tick: list[SentChunk]) -> dict[int, str]:
    reasons = {k: oracles[c.stream].take(c) for k, c in enumerate(tick)}
    return {k: why for k, why in reasons.items() if why}


@pytest.mark.parametrize("clock", [False, True], ids=["no clock", "lanes and slots go to others"])
@pytest.mark.parametrize(
    ("seed", "per_tick"),
    [
        pytest.param(seed, per_tick, marks=[pytest.mark.slow] if seed > 3 and per_tick == 1 else [])
        for seed in range(8)
        for per_tick in (1, 7, 200)
    ],
)
def test_the_rings_hold_what_a_dictionary_per_stream_holds(seed: int, per_tick: int, clock: bool) -> None:
    rng = np.random.default_rng(seed)
    faults = (0.0, 0.1, 0.5, 0.9)[seed % 4]
    queue = arrive(rng, [device(rng, f"bed-{k}", k % 3 + 1, 120, faults) for k in range(4)])
    aligner, oracles = Aligner(SHORT, ring_s=400.0), defaultdict(new_oracle)
    at = forgotten = 0
    while at < len(queue):
        tick = queue[at : at + int(rng.integers(1, 2 * per_tick))]
        now_us = tick[-1].arrival_us if clock else 0
        with threads.using(1 + seed % 3, 1):  # with several each stream is a group
            aligned = aligner.tick([c.message() for c in tick], arrival_us=[c.arrival_us for c in tick], now_us=now_us)
        reasons = reasons_of(oracles, tick)
        assert sorted(aligned.rejects.message) == sorted(reasons)
        assert all(reasons[k] in text for k, text in zip(aligned.rejects.message, aligned.rejects.reason, strict=True))
        check(aligner, oracles)
        at += len(tick)
        forgotten += len(aligned.evicted)
    if per_tick == 1:  # in longer ticks a stream may resume in the tick that would evict it
        silences = np.diff([c.arrival_us for c in queue]) > (SHORT.evict_s + 60) * 1e6
        assert (forgotten > 0) == (clock and bool(silences.any()))
    if faults > 0.4:
        assert all(aligner.counts[name] > 0 for name in aligner.counts)
        assert len(aligner.counts) >= 7


@pytest.mark.parametrize("seed", range(4))
def test_rings_of_the_size_of_the_graph_hold_all_samples_that_a_pass_reads(seed: int) -> None:
    """After each pass the rings hold its new samples and the samples before them that a decision reads."""
    rng = np.random.default_rng(seed)
    queue = arrive(rng, [device(rng, f"bed-{k}", 2, 150, 0.4) for k in range(3)])
    aligner, oracles = Aligner(SHORT), defaultdict(new_oracle)
    watched = 0
    back, longest = round((SHORT.nms.block_s + SHORT.design.delay_s) * RATE_HZ), SHORT.longest_pass_s * RATE_HZ
    for at in range(0, len(queue), 50):
        tick = queue[at : at + 50]
        reasons_of(oracles, tick)
        aligner.tick([c.message() for c in tick], arrival_us=[c.arrival_us for c in tick], watch=True)
        watched += len(aligner.watched)
        for fresh, x in aligner.watched:
            for lane, slot, start, stop, base, session in zip(
                fresh.lane, fresh.slot, fresh.start, fresh.stop, fresh.base, fresh.session, strict=True
            ):
                known = oracles[aligner.directory.names[slot]].past[int(session), int(base)]
                needed = np.arange(max(base, start - back), stop)
                assert stop - start <= longest
                truth = filled(np.array([known[a] for a in sorted(known)], np.int64).T, HOLE)[:, needed - base]
                np.testing.assert_array_equal(x[lane][:, needed % x.shape[2]], truth)
    assert watched > 50


@pytest.mark.parametrize("is_first", [True, False], ids=["lanes are given", "all have lanes"])
@pytest.mark.parametrize("holey", [1, 3], ids=["every chunk has a hole", "every third"])
def test_groups_that_need_more_room_together_get_it_once(
    is_first: bool, holey: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Grouped] = []
    monkeypatch.setattr(align, "Grouped", lambda *given: seen.append(Grouped(*given)) or seen[-1])
    whole = np.arange(100, dtype=np.int16)
    hole = np.where(whole == 5, -32768, whole).astype(np.int16)

    def rows(count: int, smallest: int) -> tuple[int, int, list[np.ndarray]]:
        aligner = Aligner()
        with threads.using(count, smallest):
            for t in range(1 if is_first else 2):
                is_last = is_first or t == 1
                samples = [hole if is_last and k % holey == 0 else whole for k in range(48)]
                given = [chunk(stream=f"bed-{k}", first=100 * t, samples=samples[k]) for k in range(48)]
                aligned = aligner.tick(given)
        slots = np.delete(aligner.align.slots, SLOT_FRESH, axis=1)  # that is a row of the group
        found = [aligned.events, aligned.seen, slots, aligner.ring.rings[0]]
        for placement in aligned.passes:
            found += [placement.place, placement.fresh.lane, placement.fresh.start, placement.fresh.stop]
        return len(seen[-1].groups.at), int(seen[-1].groups.room[-1]), found

    _, room, expected = rows(1, 1)
    for count, smallest in ((2, 6), (3, 8)):
        groups, grouped_room, found = rows(count, smallest)
        assert groups > 4
        assert grouped_room <= 2 * room + groups * (8 * 100 + 4 * 128)
        assert len(found) == len(expected)
        for one, several in zip(expected, found, strict=True):
            np.testing.assert_array_equal(several, one)


def test_the_stretches_of_gaps_are_found_among_the_slots_of_the_gaps_alone() -> None:
    fresh = np.zeros((FRESH_COLUMNS, 100_000), np.int64)
    fresh[FRESH_SLOT], fresh[FRESH_LANE] = np.arange(100_000), np.arange(100_000)[::-1]
    gaps = np.zeros((3, EVENT_COLUMNS), np.int64)
    gaps[:, EVENT_SLOT], gaps[:, EVENT_SAMPLE], gaps[:, EVENT_VALUE] = [70_000, 5, 100_001], [10, 20, 30], [15, 25, 35]
    tracemalloc.start()
    try:
        quiet = placements._quiet(fresh, gaps)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert quiet.tolist() == [[29_999, 10, 15], [99_994, 20, 25]]
    assert peak < 4_000_000  # bytes; lists of all slots and lanes take 13 MB more
