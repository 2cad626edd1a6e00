"""The directory of streams against a dictionary: growth, collisions, invalid stream ids."""

import logging
from dataclasses import replace

import numpy as np
import pytest
from beatwire.records import Chunks
from beatwire.records.columns import CHUNK_ID_HASH
from beatwire.service.observing.pace import EVERY_S
from beatwire.service.observing.scatter_log import ScatterLog
from beatwire.stages.support.streams.directory import Directory
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from steps import chunk, decoded


def named(names: list[str], partition: list[int] | None = None, digest: int | None = None) -> Chunks:
    """Return decoded chunks of streams by name; ``digest`` replaces the digests of all ids."""
    chunks = decoded([chunk(stream=name) for name in names], partition=partition)
    assert not chunks.rejects.message
    if digest is not None:
        chunks.ints[:, CHUNK_ID_HASH] = digest
    return chunks


def check(directory: Directory, names: list[str]) -> None:
    assert directory.names == list(dict.fromkeys(names))
    keys = directory.keys[: len(directory.names)].tolist()
    assert keys == [name.encode() for name in directory.names]
    assert [directory.ids[s, : directory.id_size[s]].tobytes() for s in range(len(directory.names))] == keys


@pytest.mark.parametrize("digest", [None, 0, 255, 2**32 - 1], ids=["own digests", "all 0", "all 255", "all ones"])
def test_every_stream_has_one_slot_in_order_of_arrival_although_digests_collide(digest: int | None) -> None:
    rng = np.random.default_rng(1)
    n = 5000 if digest is None else 300
    names = [f"ward-{k % 7}/bed-{k}" for k in rng.integers(0, n // 2, n)]
    directory = Directory(n)
    seen: list[str] = []
    for part in np.array_split(np.array(names), 40):
        some = [str(name) for name in part]
        slot, refused = directory.find(named(some, digest=digest))
        seen += some
        assert refused == []
        assert slot.tolist() == [list(dict.fromkeys(seen)).index(name) for name in some]
    check(directory, seen)
    assert directory.capacity >= len(directory.names)


@settings(max_examples=draws(30), deadline=None)
@given(
    st.lists(
        st.text(st.characters(codec="utf-8", categories=("L", "N", "P")), min_size=1, max_size=16),
        min_size=1,
        max_size=40,
    )
)
def test_any_printable_text_is_a_stream_id(names: list[str]) -> None:
    directory = Directory(100)
    slot, refused = directory.find(named(names))
    assert refused == []
    assert [directory.names[s] for s in slot] == names


def test_ids_that_share_a_prefix_or_a_length_have_different_slots() -> None:
    names = ["a", "aa", "ab", "ba", "a" * 63, "a" * 64, "a" * 63 + "b"]
    directory = Directory(100)
    assert directory.find(named(names, digest=3))[0].tolist() == list(range(7))
    assert directory.find(named(names[::-1], digest=3))[0].tolist() == list(range(6, -1, -1))


def test_beyond_the_limit_new_streams_are_refused_and_known_ones_accepted() -> None:
    directory = Directory(2)
    slot, refused = directory.find(named(["a", "b", "c", "a", "d"]))
    assert slot.tolist() == [0, 1, -1, 0, -1]
    assert refused == [
        (2, "expected at most 2 streams; 'c' would be one more"),
        (4, "expected at most 2 streams; 'd' would be one more"),
    ]
    check(directory, ["a", "b"])


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"bed-\xff", "expected a stream id in UTF-8; got b'bed-\\xff'"),
        (b"\xc0\x80", "expected a stream id in UTF-8; got b'\\xc0\\x80'"),
        (b"\xed\xa0\x80x", "expected a stream id in UTF-8; got b'\\xed\\xa0\\x80x'"),
        (b"bed\n3", "expected a printable stream id; got 'bed\\n3'"),
        (b"bed\x003", "expected a printable stream id; got 'bed\\x003'"),
        (b"ecg.samples", "expected a stream id that is not the name of the topic; got 'ecg.samples'"),
        (b"ecg.samples/3", "expected a stream id that is not the name of the topic; got 'ecg.samples/3'"),
    ],
)
def test_ids_that_are_not_printable_text_are_refused_and_not_stored(raw: bytes, reason: str) -> None:
    good = chunk(stream="x" * len(raw))
    directory = Directory(10, "ecg.samples")
    chunks = decoded([good, good.replace(b"x" * len(raw), raw), good])
    assert directory.find(chunks)[0].tolist() == [0, -1, 0]
    assert directory.find(chunks)[1] == [(1, reason)]
    check(directory, ["x" * len(raw)])


def test_the_partition_of_a_stream_is_that_of_its_last_chunk() -> None:
    directory = Directory(100)
    directory.find(named(["a", "b", "a"], partition=[3, 4, 5]))
    assert directory.partition[:2].tolist() == [5, 4]
    directory.find(named([f"bed-{k}" for k in range(80)], partition=[7] * 80))
    assert directory.partition[:3].tolist() == [5, 4, 7]


def test_a_tick_without_chunks_adds_no_streams() -> None:
    slot, refused = Directory(1).find(decoded([]))
    assert (len(slot), refused) == (0, [])


@settings(max_examples=draws(60), deadline=None)
@given(st.lists(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3)), max_size=5), max_size=12))
def test_a_stream_that_comes_from_another_partition_in_three_ticks_is_scattered_once(
    ticks: list[list[tuple[str, int]]],
) -> None:
    directory, last, moves = Directory(4), dict[str, int](), dict[str, int]()
    for tick in ticks:
        new, moved = {name for name, _ in tick} - last.keys(), set[str]()
        directory.find(named([name for name, _ in tick], [partition for _, partition in tick]))
        for name, partition in tick:
            if name not in new and partition != last[name]:
                moved.add(name)
        last |= dict(tick)
        moves |= {name: moves.get(name, 0) + 1 for name in moved}
        assert sorted(directory.scattered) == sorted(name for name in moved if moves[name] == 3)


def test_streams_in_several_partitions_are_logged_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "beatwire")
    directory, now_s = Directory(10), [0.0]
    log = ScatterLog(lambda: directory, lambda: now_s[0])
    for tick in range(20):
        for names in (["bed-1"], ["bed-2", "bed-3", "bed-4", "bed-5"] if tick > 9 else []):
            directory.find(named(names, [tick % 2] * len(names)))
            log.note(None)
        now_s[0] += EVERY_S / 12
    assert [record.fields["streams"] for record in caplog.records] == [1, 4]
    assert "1 stream ('bed-1'): workers and replays lose beats" in caplog.records[0].getMessage()
    assert "4 streams ('bed-2', 'bed-3', 'bed-4', ...)" in caplog.records[1].getMessage()


def test_a_stream_is_scattered_once_however_often_it_moves_and_so_is_the_next_one_in_its_slot() -> None:
    directory = Directory(1)
    for name in ("a", "b"):
        found = list[str]()
        for k in range(600):
            directory.find(named([name], [k % 2]))
            found += directory.scattered
        assert found == [name]
        directory.evict(np.array([0]))
        directory.give_back(np.array([0]))


def test_a_stream_is_not_taken_for_one_of_a_bundle_because_the_one_before_it_in_its_slot_was() -> None:
    directory = Directory(1, counts=(4, 6))
    chunks = named(["a"])
    directory.find(replace(chunks, bundled=np.array([True])))
    assert directory.bundled[0]
    directory.evict(np.array([0]))
    directory.give_back(np.array([0]))
    directory.find(named(["b"]))
    assert not directory.bundled[0]
