"""Streams that have been silent for very long are forgotten: slots become others', alerts end, nobody else notices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire.pipeline.graph import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import RawTick
from beatwire.records.columns import CHUNK_ID_HASH
from beatwire.stages.support.directory import Directory
from beatwire.stages.support.drift_figures import figures
from bedside import Ward, came, short
from laws import Run, Signal, assert_same, listen
from oracles import Sent
from steps import Aligner, chunk, decoded

SOON = Settings(evict_s=240.0)
DAY_US = 86_400_000_000


def sent(first: int, at_s: float, stream: str = "bed") -> Sent:
    return Sent(stream, 1, first, np.arange(first, first + 10, dtype=np.int16)[None], arrival_us=round(at_s * 1e6))


@pytest.mark.parametrize("digest", [None, 3], ids=["own digests", "all the same"])
def test_slots_of_forgotten_streams_go_to_others_and_every_stream_keeps_its_own(digest: int | None) -> None:
    rng = np.random.default_rng(1)
    directory, alive, gone = Directory(60), dict[str, int](), list[int]()
    for generation in range(200):
        directory.give_back(np.array(gone, np.int64))
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
        leaving = rng.permutation(list(alive))[: max(0, len(alive) - 40)].tolist()
        gone = [alive.pop(name) for name in leaving]
        directory.evict(np.array(gone, np.int64))
    assert len(directory.names) <= 60


@pytest.mark.parametrize("looks", [True, False], ids=["slot is another's", "slot is still there"])
@pytest.mark.parametrize(("back_s", "is_new"), [(239.0, False), (241.0, True), (500.0, True)])
def test_a_chunk_after_that_long_is_one_of_a_stream_never_heard_of(looks: bool, back_s: float, is_new: bool) -> None:
    aligner = Aligner(SOON)
    told = []
    for c in (sent(0, 0), sent(0, 100, "other"), sent(10, 302, "other"), sent(0, back_s), sent(10, back_s)):
        if c.arrival_us <= round(back_s * 1e6):
            aligned = aligner.tick([c.message()], arrival_us=[c.arrival_us], now_us=c.arrival_us, caught_up=looks)
            told += [row for row in aligner.kinds(aligned) if row[0] == "bed"]
            assert aligned.rejects.reason == []
    begun, again = ("bed", "RESTART", 0, -1), ("bed", "RESTART", 10, 10)
    assert told == ([begun, begun] if is_new else [begun, again])
    assert aligner.directory.known == 2


def test_alerts_of_a_stream_that_is_forgotten_end_once_and_its_slot_knows_nothing_of_them() -> None:
    ward = Ward()
    ward.tick(came())
    assert short(ward.tick(known=[("bed", 5000)])) == [("asystole", "on", 400, 400)]
    assert short(ward.tick(now_us=10**7)) == [("no data", "on", 10, 10)]
    assert ward.tick(now_us=DAY_US) == []
    ended = ward.tick(now_us=DAY_US + 61_000_000)
    assert short(ended) == [("asystole", "latched", 400, 400), ("no data", "off", 10, 10)]
    assert [a["onset_us"] for a in ended] == [10**9 + 4_000_000, 10**9 + 100_000]
    assert ward.aligner.directory.known == 0
    assert ward.tick(now_us=DAY_US + 190_000_000) == []
    now_us = DAY_US + 200_000_000
    assert ward.tick(came(stream="new", arrival_us=now_us), now_us=now_us) == []
    assert ward.aligner.directory.names == ["new"]
    assert short(ward.tick(now_us=now_us + 3_000_000)) == [("no data", "on", 10, 10)]


def test_a_stream_that_comes_back_just_before_it_is_forgotten_ends_what_was_on_and_begins() -> None:
    ward = Ward()
    ward.tick(came())
    ward.tick(now_us=10**7)
    now_us = DAY_US + 61_000_000
    told = ward.tick(came(10, arrival_us=now_us, lead_off=1), now_us=now_us)
    assert short(told) == [("no data", "off", 10, 10), ("lead off", "on", 10, 10)]
    assert ward.tick(now_us=now_us + 1_000_000) == []
    assert ward.aligner.directory.known == 1


def test_streams_that_come_and_go_cost_no_more_than_those_that_are_there_and_say_the_same() -> None:
    heart = synthesise(1, rate_hz=128.0, seconds=40).recording.samples

    def said(settings: Settings, **clock: Any) -> tuple[Run, Pipeline, list[int]]:
        pipeline, run, rewinds = Pipeline(settings), Run(), []
        listen(pipeline, run)
        for k in range(120):
            beds = [Signal(f"bed-{k // 3}-{b}", heart[:, 200 * b :], 128.0) for b in range(2 + k // 3 % 2)]
            always = Signal("always", heart, 128.0)
            values = [s.chunk(640 * (k % 3), 640 * (k % 3) + 640) for s in beds]
            values += [always.chunk(40 * k % 5000, 40 * k % 5000 + 40, first=40 * k)]
            now_us = 1_700_000_000_000_000 + 5_000_000 * k + 60_000_000 * (k // 3)
            pipeline.emit(RawTick.of(values, now_us=now_us, **clock))
            rewinds.append(pipeline.rewind_tick(0))
        return run, pipeline, rewinds

    usual, kept, marks = said(Settings())
    run, pipeline, rewinds = said(SOON)
    assert len(kept.directory.names) == 101
    assert len(pipeline.directory.names) < 25
    assert rewinds == marks
    ended = {a["id"] for a in run.alerts} - {a["id"] for a in usual.alerts}
    assert not ended, "no alert that is not told otherwise"
    before = {(a["id"], a["state"]) for a in usual.alerts}
    assert {a["rule"] for a in run.alerts if (a["id"], a["state"]) not in before} >= {"no data"}
    run.alerts = [a for a in run.alerts if (a["id"], a["state"]) in before]
    assert_same(run, usual)
    assert set(figures(pipeline.drift).stream.tolist()) <= set(np.flatnonzero(pipeline.directory.is_known()).tolist())
    hasty, busy, _ = said(SOON, caught_up=False)
    assert len(busy.directory.names) == 101
    assert {s: [row[:2] for row in rows] for s, rows in hasty.beats.items()} == {
        s: [row[:2] for row in rows] for s, rows in run.beats.items()
    }


@pytest.mark.parametrize("value", [0.0, 239.0, float("inf"), float("nan")])
def test_to_forget_within_what_a_stream_may_depend_on_is_refused(value: float) -> None:
    with pytest.raises(UserError, match="settings: expected evict_s of at least 240; got"):
        Settings(evict_s=value)
