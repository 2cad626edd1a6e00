"""Eviction: slots of streams that are silent for long are reused, their alerts end, other streams do not change."""

from typing import Any

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire.pipeline import HORIZON_S, Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import RawTick
from beatwire.records.columns import CHUNK_ID_HASH
from beatwire.records.messages import Taken
from beatwire.service.observing.drift_figures import figures
from beatwire.stages import decode, unbundle
from beatwire.stages.support.streams.directory import Directory
from beatwire.stages.support.streams.partitions import murmur2
from beatwire.wire.bundles import encode_bundle
from bedside import Ward, device_chunk, rows_of, states
from laws import Run, Signal, assert_same, collect
from oracles import SentChunk
from steps import Aligner, chunk, decoded

SOON = Settings(evict_s=2 * HORIZON_S)
DAY_US = 86_400_000_000


def sent(first: int, at_s: float, stream: str = "bed") -> SentChunk:
    return SentChunk(stream, 1, first, np.arange(first, first + 10, dtype=np.int16)[None], arrival_us=round(at_s * 1e6))


@pytest.mark.parametrize("digest", [None, 3], ids=["own digests", "all the same"])
def test_slots_of_evicted_streams_are_reused_and_every_other_stream_keeps_its_own(digest: int | None) -> None:
    rng = np.random.default_rng(1)
    directory, alive, evicted = Directory(60), dict[str, int](), list[int]()
    sent_then = list[tuple[Taken, list[bytes]]]()
    for generation in range(200):
        directory.give_back(np.array(evicted, np.int64))
        names = [
            *rng.permutation(list(alive))[:10].tolist(),
            *(f"bed-{generation}-{k}" for k in range(rng.integers(9))),
        ]
        chunks = decoded([chunk(stream=name) for name in names])
        chunks.ints[:, CHUNK_ID_HASH] = chunks.ints[:, CHUNK_ID_HASH] if digest is None else digest
        slot, refused = directory.find(chunks)
        assert refused == []
        assert directory.claimed == [s for name, s in zip(names, slot.tolist(), strict=True) if name not in alive]
        for name, s in zip(names, slot.tolist(), strict=True):
            assert alive.setdefault(name, s) == s
            assert (directory.names[s], directory.keys[s]) == (name, name.encode())
        assert len(set(alive.values())) == len(alive) == directory.known
        sent_then.append((Taken(directory.keys, slot), [name.encode() for name in names]))
        leaving = rng.permutation(list(alive))[: max(0, len(alive) - 40)].tolist()
        evicted = [alive.pop(name) for name in leaving]
        directory.evict(np.array(evicted, np.int64))
    assert len(directory.names) <= 60
    for keys, then in sent_then:  # of messages that are still to be sent
        assert keys == then


def test_a_stream_that_moves_when_partitions_are_added_is_released_after_two_minutes_and_others_are_not() -> None:
    ward = Ward()
    beds = [f"bed-{k}" for k in range(8)]
    place = {bed: murmur2(bed.encode()) % 4 for bed in beds}
    for k, at_s in enumerate((0.0, 1.0)):
        ward.tick(*(sent(10 * k, at_s, bed) for bed in beds), now_us=round(at_s * 1e6))
    directory = ward.limits.directory
    for bed in beds:
        directory.partition[directory.names.index(bed)] = place[bed]
    directory.counts = (4, 6)
    moved = {bed for bed in beds if murmur2(bed.encode()) % 6 != place[bed]}
    assert 0 < len(moved) < len(beds)
    begun = ward.tick(now_us=4_000_000)
    assert {one["stream"] for one in begun if one["rule"] == "no data"} == set(beds)
    over: list[dict[str, Any]] = []
    for at_s in range(5, 400, 5):
        over += ward.tick(now_us=at_s * 1_000_000)
    assert {one["stream"] for one in over if one["state"] == "off"} == moved


@pytest.mark.parametrize("by_gateway", [False, True])
def test_of_the_streams_of_a_gateway_nobody_knows_where_they_belong(by_gateway: bool) -> None:
    values = [chunk(stream=f"bed-{k}") for k in range(8)]
    values = [encode_bundle(values)] if by_gateway else values
    tick = unbundle.step(unbundle.State(), RawTick.of(values, partition=[1] * len(values)))[1]
    directory = Directory(60, counts=(4, 6))
    slot, _ = directory.find(decode.step(decode.State(decode.Settings()), tick)[1])
    assert len(slot) == directory.known == 8
    assert (len(directory.moved(slot)) == 0) is by_gateway


@pytest.mark.parametrize("evicts", [True, False], ids=["slot evicted", "slot not yet evicted"])
@pytest.mark.parametrize(("back_s", "is_new"), [(SOON.evict_s - 1, False), (SOON.evict_s + 1, True), (500.0, True)])
def test_a_chunk_after_the_eviction_time_begins_a_new_stream(evicts: bool, back_s: float, is_new: bool) -> None:
    aligner = Aligner(SOON)
    found = []
    for c in (sent(0, 0), sent(0, 100, "other"), sent(10, 302, "other"), sent(0, back_s), sent(10, back_s)):
        if c.arrival_us <= round(back_s * 1e6):
            aligned = aligner.tick([c.message()], arrival_us=[c.arrival_us], now_us=c.arrival_us, caught_up=evicts)
            found += [row for row in aligner.event_rows(aligned) if row[0] == "bed"]
            assert aligned.rejects.reason == []
    begun, again = ("bed", "RESTART", 0, -1), ("bed", "RESTART", 0, -12)
    assert found == ([begun, begun] if is_new else [begun, again])
    assert aligner.directory.known == 2


def test_eviction_ends_the_alerts_of_a_stream_once_and_clears_its_slot() -> None:
    ward = Ward()
    ward.tick(device_chunk())
    assert rows_of(ward.tick(known=[("bed", 5000)])) == [("asystole", "on", 400, 400)]
    assert rows_of(ward.tick(now_us=10**7)) == [("no data", "on", 10, 10)]
    assert ward.tick(now_us=DAY_US) == []
    ended = ward.tick(now_us=DAY_US + 61_000_000)
    assert rows_of(ended) == [("asystole", "latched", 400, 400), ("no data", "off", 10, 10)]
    assert [a["onset_us"] for a in ended] == [10**9 + 4_000_000, 10**9 + 100_000]
    assert ward.aligner.directory.known == 0
    assert ward.tick(now_us=DAY_US + 190_000_000) == []
    now_us = DAY_US + 200_000_000
    assert ward.tick(device_chunk(stream="new", arrival_us=now_us), now_us=now_us) == []
    assert ward.aligner.directory.names == ["new"]
    assert rows_of(ward.tick(now_us=now_us + 3_000_000)) == [("no data", "on", 10, 10)]


@pytest.mark.parametrize("waiting", [False, True])
def test_a_stream_that_was_never_placed_is_evicted_too(waiting: bool) -> None:
    ward, second = Ward(), 1_000_000
    ward.aligner.align.admission.admits = lambda *_: False
    three = np.zeros((3, 10), np.int16)
    for k in range(1, 5):
        refused = device_chunk(10 * k, samples=three, arrival_us=k * second)
        ward.tick(refused, now_us=k * second, caught_up=not waiting)
    assert ward.tick(now_us=DAY_US) == []
    assert rows_of(ward.tick(now_us=DAY_US + 66 * second)) == [("not monitored", "off", 10, 10)]
    assert states(ward.published) == [("not monitored", "off")]
    assert ward.aligner.directory.known == 0


def test_a_stream_that_resumes_just_before_its_eviction_ends_its_alerts() -> None:
    ward = Ward()
    ward.tick(device_chunk())
    ward.tick(now_us=10**7)
    now_us = DAY_US + 61_000_000
    found = ward.tick(device_chunk(10, arrival_us=now_us, lead_off=1), now_us=now_us)
    assert rows_of(found) == [("no data", "off", 10, 10), ("lead off", "on", 10, 10)]
    assert ward.tick(now_us=now_us + 1_000_000) == []
    assert ward.aligner.directory.known == 1


def test_slots_are_bounded_by_the_streams_in_use_and_the_output_stays_the_same() -> None:
    heart = synthesise(1, rate_hz=128.0, seconds=40).recording.samples

    def run_with(settings: Settings, **clock: Any) -> tuple[Run, Pipeline, list[int]]:
        pipeline, run, rewinds = Pipeline(settings), Run(), []
        collect(pipeline, run)
        for k in range(120):
            beds = [Signal(f"bed-{k // 3}-{b}", heart[:, 200 * b :], 128.0) for b in range(2 + k // 3 % 2)]
            always = Signal("always", heart, 128.0)
            values = [s.chunk(640 * (k % 3), 640 * (k % 3) + 640) for s in beds]
            values += [always.chunk(40 * k % 5000, 40 * k % 5000 + 40, first=40 * k)]
            now_us = 1_700_000_000_000_000 + 5_000_000 * k + 60_000_000 * (k // 3)
            pipeline.emit(RawTick.of(values, now_us=now_us, **clock))
            rewinds.append(pipeline.rewind_tick(0))
        return run, pipeline, rewinds

    usual, kept, marks = run_with(Settings())
    run, pipeline, rewinds = run_with(SOON)
    assert len(kept.directory.names) == 101
    assert len(pipeline.directory.names) < 25
    assert rewinds == marks
    ended = {a["id"] for a in run.alerts} - {a["id"] for a in usual.alerts}
    assert not ended, "expected no alert that a run without eviction does not raise"
    before = {(a["id"], a["state"]) for a in usual.alerts}
    assert {a["rule"] for a in run.alerts if (a["id"], a["state"]) not in before} >= {"no data"}
    run.alerts = [a for a in run.alerts if (a["id"], a["state"]) in before]
    assert_same(run, usual)
    assert set(figures(pipeline.drift).stream.tolist()) <= set(np.flatnonzero(pipeline.directory.is_known()).tolist())
    hasty, busy, _ = run_with(SOON, caught_up=False)
    assert len(busy.directory.names) == 101
    assert {s: [row[:2] for row in rows] for s, rows in hasty.beats.items()} == {
        s: [row[:2] for row in rows] for s, rows in run.beats.items()
    }


@pytest.mark.parametrize("value", [0.0, 239.0, float("inf"), float("nan")])
def test_an_eviction_time_below_its_minimum_is_refused(value: float) -> None:
    with pytest.raises(UserError, match=f"settings: expected evict_s of at least {2 * HORIZON_S:g}; got"):
        Settings(evict_s=value)
