"""Messages that wait for the broker: in memory or on disk, in order, whatever ends in between."""

import itertools
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beatwire.errors import FatalError, UserError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.local.mock import MockKafka
from beatwire.kafka.publishing.live_sender import LiveSender
from beatwire.kafka.reading.readers import follow
from beatwire.wire import decode_chunk, names
from beatwire_producers.devices import feed, outbox, sending
from beatwire_producers.devices.chunks import Message
from beatwire_producers.devices.feed import Feed, run_feed
from beatwire_producers.devices.outbox import Memory, Spool
from beatwire_producers.devices.packets import Description, DeviceAwayError, Packet, arrival_s
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st


def message(k: int, size: int = 20) -> Message:
    return Message(b"bed-%d" % (k % 3), k.to_bytes(4, "little") * (size // 4), [("battery", b"80")] if k % 2 else None)


@settings(max_examples=draws(60), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["put", "take", "acknowledged", "end"]), st.integers(1, 40)), max_size=40))
def test_a_spool_gives_every_message_in_order_and_again_only_what_was_not_acknowledged(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    folder = tmp_path_factory.mktemp("spool")
    spool = Spool(folder)
    put = taken = acknowledged = 0
    largest = outbox._FILE_BYTES
    outbox._FILE_BYTES = 300
    try:
        for step, n in [*steps, ("end", 1)]:
            if step == "put":
                spool.put([message(put + k) for k in range(n)])
                put += n
            elif step == "take":
                found = spool.take(n, 0.0)
                assert found == [message(k) for k in range(taken, min(put, taken + n))]
                taken += len(found)
            elif step == "acknowledged":
                spool.all_acknowledged()
                acknowledged = taken
            else:
                spool.close()
                spool = Spool(folder)
                left = spool.take(10_000, 0.0)
                assert len(left) == spool.left
                assert left == [message(k) for k in range(put - len(left), put)]
                assert put - len(left) <= acknowledged
                spool.all_acknowledged()
                taken = acknowledged = put
        spool.finish()
        spool.close()
        assert list(folder.glob("*.spool")) == []
    finally:
        outbox._FILE_BYTES = largest


def test_a_spool_that_was_torn_gives_what_is_whole(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.put([message(k) for k in range(10)])
    spool.close()
    (path,) = tmp_path.glob("*.spool")
    path.write_bytes(path.read_bytes()[:-3])
    again = Spool(tmp_path)
    assert again.take(100, 0.0) == [message(k) for k in range(9)]
    again.close()


@given(st.data(), st.integers(1, 12))
def test_a_damage_costs_the_messages_that_it_hits_and_is_said(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, n: int
) -> None:
    folder = tmp_path_factory.mktemp("spool")
    spool = Spool(folder)
    spool.put([message(k) for k in range(n)])
    spool.close()
    (path,) = folder.glob("*.spool")
    content = bytearray(path.read_bytes())
    whole, ends = bytes(content), np.cumsum([len(outbox.entry_of(message(k))) for k in range(n)]).tolist()
    kind = data.draw(st.sampled_from(["zeros behind", "zeros", "bit"]))
    hit = data.draw(st.integers(0, len(content) - 1))
    last = min(len(content) - 1, hit + data.draw(st.integers(0, 60))) if kind == "zeros" else hit
    if kind == "zeros behind":
        content += bytes(data.draw(st.integers(1, 200)))
    elif kind == "zeros":
        content[hit : last + 1] = bytes(last + 1 - hit)
    else:
        content[hit] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    spared = [k for k, (a, b) in enumerate(itertools.pairwise([0, *ends])) if content[a:b] == whole[a:b]]
    again = Spool(folder)
    assert again.take(100, 0.0) == [message(k) for k in spared]
    between = bool(spared) and spared[-1] + 1 > len(spared)
    assert again.lost == int(between)
    again.finish()
    again.close()
    assert bool(list(folder.glob("*.damaged"))) == between
    assert not list(folder.glob("*.spool"))


def test_a_spool_belongs_to_one_process(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    program = (
        f"from pathlib import Path; from beatwire_producers.devices.outbox import Spool; Spool(Path({str(tmp_path)!r}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "expected a folder of one process; another one uses it" in done.stderr
    spool.close()
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"--spool .*file.*: expected a folder that can be written"):
        Spool(tmp_path / "file" / "below")


def test_memory_that_is_full_loses_what_has_waited_longest() -> None:
    memory = Memory(most_bytes=250)
    memory.put([message(k) for k in range(20)])
    assert memory.lost == 10
    assert memory.take(100, 0.0) == [message(k) for k in range(10, 20)]


class Counting:
    """A reader of a count, 50 packets a second, that goes away now and then."""

    def __init__(self, packets: int, away_at: tuple[int, ...] = ()) -> None:
        self._left, self._away = packets, set(away_at)
        self.at, self._began_s = 0, arrival_s()

    def describe(self) -> Description:
        return Description("bed-1", ("II",), 500.0, 1.0)

    def packets(self):  # type: ignore[no-untyped-def]
        while self.at < self._left:
            if self.at in self._away:
                self._away.remove(self.at)
                raise DeviceAwayError("unplugged")
            first = 10 * self.at
            values = (np.arange(first, first + 10) % 30000).astype(np.int16)
            self.at += 1
            yield Packet(values[None], self._began_s + 0.02 * self.at, count=first)
            time.sleep(0.02)

    def close(self) -> None:
        """Nothing is open."""


def received(cluster: Cluster, enough: int) -> list[tuple[int, int]]:
    """Return first index and length of every chunk, in the order of the topic."""
    stop, found = threading.Event(), list[tuple[int, int]]()
    timer = threading.Timer(120.0, stop.set)
    timer.start()
    for one in follow(cluster, names.SAMPLES, stop=stop, earliest=True):
        chunk = decode_chunk(one.value() or b"")
        found.append((chunk["first"], len(chunk["samples"]) // 2))
        if sum(n for _, n in dict(found).items()) >= enough:
            break
    timer.cancel()
    return found


def received_count(cluster: Cluster, enough: int) -> list[bytes | None]:
    """Return the value of every message, until there are enough."""
    return [one.value() for one in itertools.islice(follow(cluster, names.SAMPLES, earliest=True), enough)]


class AwaySender(LiveSender):
    """A sender whose broker is away for a while: nothing reaches it until ``back`` is set."""

    def __init__(self, cluster: Cluster) -> None:
        self.back = threading.Event()
        self._hidden: list[Any] = []
        super().__init__(cluster, outage_s=float("inf"))

    def send_with_headers(self, *given: Any) -> None:
        self._hidden.append(given)

    def unacknowledged(self) -> int:
        if self.back.is_set() and self._hidden:
            hidden, self._hidden = self._hidden, []
            for given in hidden:
                super().send_with_headers(*given)
        return super().unacknowledged() + sum(len(keys) for _, keys, _, _ in self._hidden)


@pytest.mark.parametrize("where", ["memory", "disk"])
def test_a_broker_that_is_away_costs_nothing_and_is_said(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "_AWAY_S", 0.5)
    monkeypatch.setattr(sending, "_MOST_IN_FLIGHT", 5)
    monkeypatch.setattr(feed, "_MANY", 10)
    said: list[str] = []
    with MockKafka() as kafka, AwaySender(kafka.cluster) as sender:
        box = Spool(tmp_path) if where == "disk" else Memory()
        timer = threading.Timer(3.0, sender.back.set)
        timer.start()
        summary = Feed([("counting", Counting(250))], sender, box, say=said.append).run(threading.Event())
        box.close()
        found = received(kafka.cluster, 2500)
    assert [first for first, _ in found] == sorted(first for first, _ in found)
    assert sum(n for _, n in found) == 2500 == summary.samples
    assert (summary.lost, summary.holes) == (0, 0)
    assert max(n for _, n in found) > 100, "many waiting messages make longer ones"
    assert any(
        "broker: no answer" in line and f"wait {'on disk' if where == 'disk' else 'in memory'}" in line for line in said
    )
    assert any("broker: answers again" in line for line in said)
    assert list(tmp_path.glob("*.spool")) == []


def test_what_the_broker_did_not_take_is_sent_by_the_next_feed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "_FLUSH_S", 1.0)
    said: list[str] = []
    nowhere = Cluster("127.0.0.1:1")
    ended = threading.Event()
    threading.Timer(1.0, ended.set).start()
    run_feed([("counting", Counting(30))], nowhere, ended, said.append, spool=tmp_path)
    assert any("stay on disk and are sent by the next feed" in line for line in said)
    with MockKafka() as kafka:
        run_feed([("counting", Counting(0))], kafka.cluster, threading.Event(), said.append, spool=tmp_path)
        assert sum(n for _, n in received(kafka.cluster, 300)) == 300
    assert any("of an earlier feed are sent first" in line for line in said)
    with pytest.raises(FatalError, match=r"to acknowledge every message; .* are lost"):
        run_feed([("counting", Counting(5))], nowhere, ended, said.append)


def test_a_device_that_goes_away_is_waited_for_with_a_growing_pause() -> None:
    said: list[str] = []
    with MockKafka() as kafka, LiveSender(kafka.cluster, outage_s=float("inf")) as sender:
        readers = [("counting", Counting(60, (20, 21, 22)))]
        summary = Feed(readers, sender, say=said.append, pauses_s=(0.05, 0.1)).run(threading.Event())
        assert sum(n for _, n in received(kafka.cluster, 600)) == 600
    assert (summary.away, summary.sessions, summary.holes) == (3, 1, 0)
    pauses = [line.rpartition(" in ")[2] for line in said if "away" in line]
    assert pauses == ["0.05 s", "0.1 s", "0.1 s"]


def test_a_spool_is_synchronised_once_a_second_and_at_the_end_of_a_file(tmp_path, monkeypatch) -> None:
    synced, now_s = [], [100.0]
    monkeypatch.setattr(outbox.os, "fsync", synced.append)
    monkeypatch.setattr(outbox.time, "monotonic", lambda: now_s[0])
    spool, counts = Spool(tmp_path), []
    for k in range(30):
        spool.put([message(k)])
        now_s[0] += 0.1
        counts.append(len(synced))
    spool.close()
    assert counts[:9] == [2] * 9, "the file, and its name in the folder"
    assert 4 <= counts[-1] <= 5
    assert len(synced) == counts[-1] + 1


def test_a_spool_reads_a_file_once_however_few_messages_are_taken(tmp_path, monkeypatch) -> None:
    read = []
    monkeypatch.setattr(
        outbox, "entries_of", lambda content, of=outbox.entries_of: read.append(len(content)) or of(content)
    )
    spool = Spool(tmp_path)
    spool.put([message(k) for k in range(500)])
    taken = [spool.take(3, 0.0) for _ in range(167)]
    assert [m for some in taken for m in some] == [message(k) for k in range(500)]
    assert sum(read) <= (tmp_path / "000000000001.spool").stat().st_size
    spool.close()


def test_what_an_earlier_feed_has_left_is_not_in_memory_at_once(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(outbox, "_FILE_BYTES", 300_000)
    spool = Spool(tmp_path)
    for k in range(40):
        spool.put([message(k, 1_000) for k in range(100 * k, 100 * k + 100)])
    spool.close()
    tracemalloc.start()
    spool = Spool(tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert spool.left == 4_000
    assert peak < 1_500_000, "of 4 MB in 13 files"
    spool.close()


def test_what_is_acknowledged_leaves_the_disk_while_much_waits(tmp_path, monkeypatch) -> None:
    """Else a feed that is killed sends all of it again."""
    monkeypatch.setattr(outbox, "_FILE_BYTES", 30_000)
    spool = Spool(tmp_path)
    spool.put([message(k, 300) for k in range(100)])
    for k in range(100, 8_000, 100):
        spool.put([message(k, 300) for k in range(k, k + 100)])
    left: list[int] = []
    with MockKafka() as kafka, LiveSender(kafka.cluster, outage_s=float("inf")) as sender:
        sent = sending.Sending(sender, spool, lambda _: None)
        files, all_acknowledged = len(list(tmp_path.glob("*.spool"))), spool.all_acknowledged
        monkeypatch.setattr(spool, "all_acknowledged", lambda: (left.append(len(spool)), all_acknowledged()))
        while len(spool):
            sent.send(0.01)
            assert len(spool._taken) <= 10
        sent.finish(lambda: False)
        assert len(received_count(kafka.cluster, 8_000)) == 8_000
    assert files > 60
    assert sum(0 < n < 8_000 for n in left) > 5
    spool.close()
    assert not list(tmp_path.glob("*.spool"))


@pytest.mark.parametrize("call", ["take", "acknowledged", "begin"])
def test_an_error_of_the_disk_is_one_line(tmp_path, monkeypatch, call) -> None:
    spool = Spool(tmp_path)
    spool.put([message(k) for k in range(10)])

    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    if call == "take":
        monkeypatch.setattr(spool, "_read_on", fail)
        with pytest.raises(FatalError, match=r"--spool .*: cannot be read: Input/output error"):
            spool.take(3, 0.0)
    elif call == "acknowledged":
        monkeypatch.setattr(spool, "_delete", fail)
        with pytest.raises(FatalError, match=r"--spool .*: cannot be written: Input/output error"):
            spool.all_acknowledged()
    else:
        spool.close()
        monkeypatch.setattr(Path, "read_bytes", fail)
        with pytest.raises(FatalError, match=r"--spool .*: cannot be read: Input/output error"):
            Spool(tmp_path)
        return
    spool.close()


def test_what_a_full_disk_has_taken_of_a_batch_is_sent(tmp_path, monkeypatch) -> None:
    spool = Spool(tmp_path)
    spool.put([message(0)])
    assert spool.take(5, 0.0) == [message(0)]

    class Full:
        """A file on a disk with room for some messages."""

        def write(self, content: bytes) -> None:
            written.write(content[: len(content) // 2])
            written.flush()
            raise OSError(28, "No space left on device")

        close = property(lambda _: written.close)

    written = spool._written
    monkeypatch.setattr(spool, "_written", Full())
    with pytest.raises(FatalError, match="cannot be written: No space left on device"):
        spool.put([message(k) for k in range(1, 11)])
    assert 3 <= len(spool.take(20, 0.0)) <= 5
    assert len(spool) == 0
    monkeypatch.setattr(spool, "_written", written)
    spool.close()
