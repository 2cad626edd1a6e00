"""Messages that wait for the broker: in memory or on disk, until it takes them."""

import itertools
import threading
from pathlib import Path
from typing import Any

import pytest
from beatwire.cli.main import app
from beatwire.cli.ward import feed as cli
from beatwire.errors import FatalError, UserError
from beatwire.kafka import topics
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.local.mock import MockKafka
from beatwire.kafka.publishing.live_sender import LiveSender
from beatwire.kafka.reading.readers import follow
from beatwire.wire import decode_chunk, names
from beatwire_producers.devices import feed, sending, sources
from beatwire_producers.devices import spool as spool_files
from beatwire_producers.devices.feed import Feed, run_feed
from beatwire_producers.devices.outbox import Memory
from beatwire_producers.devices.packets import DeviceAwayError
from beatwire_producers.devices.spool import Spool
from device_feeds import Counting, message
from typer.testing import CliRunner


def test_memory_that_is_full_loses_what_has_waited_longest() -> None:
    memory = Memory(most_bytes=250)
    memory.put([message(k) for k in range(20)])
    assert memory.lost == 10
    assert memory.take(100, 0.0) == [message(k) for k in range(10, 20)]


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


@pytest.mark.parametrize("left", [True, False], ids=["killed before", "new"])
def test_a_feed_that_was_killed_begins_again_without_its_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, left: bool
) -> None:
    monkeypatch.setattr(sending, "_FLUSH_S", 0.2)
    monkeypatch.setattr(cli, "BROKER_S", 0.3)
    monkeypatch.setattr(sources, "open_source", lambda *_: Counting(1_000))

    def check_broker(cluster: Cluster, _: object) -> None:
        raise UserError(f"expected a broker at {cluster}")

    monkeypatch.setattr(topics, "check_broker", check_broker)
    if left:
        killed = Spool(tmp_path)
        killed.put([message(k) for k in range(3)])
        killed.close()
    words = ["feed", "py:device_feeds:Counting:", "--bootstrap-servers", "127.0.0.1:1", "--spool", str(tmp_path)]
    done = CliRunner().invoke(app, [*words, "--seconds", "0.5"])
    if left:
        assert done.exit_code == 0, done
        assert "broker: no answer at 127.0.0.1:1 in 0.3 s; messages wait on disk" in done.stderr
        again = Spool(tmp_path)
        assert again.left > 3
        again.close()
    else:
        assert isinstance(done.exception, UserError)
        assert "expected a broker at 127.0.0.1:1" in str(done.exception)
        assert not list(tmp_path.iterdir())


def test_a_device_that_goes_away_is_waited_for_with_a_growing_pause() -> None:
    said: list[str] = []
    with MockKafka() as kafka, LiveSender(kafka.cluster, outage_s=float("inf")) as sender:
        readers = [("counting", Counting(60, (20, 21, 22)))]
        summary = Feed(readers, sender, say=said.append, pauses_s=(0.05, 0.1)).run(threading.Event())
        assert sum(n for _, n in received(kafka.cluster, 600)) == 600
    assert (summary.away, summary.sessions, summary.holes) == (3, 1, 0)
    pauses = [line.rpartition(" in ")[2] for line in said if "away" in line]
    assert pauses == ["0.05 s", "0.1 s", "0.1 s"]


def test_a_device_that_was_never_there_has_not_gone_away(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    reader, stop = Counting(60), threading.Event()

    def describe() -> None:
        if len(said) == 3:
            stop.set()
        raise DeviceAwayError("no such port")

    monkeypatch.setattr(reader, "describe", describe)
    with MockKafka() as kafka, LiveSender(kafka.cluster, outage_s=float("inf")) as sender:
        summary = Feed([("counting", reader)], sender, say=said.append, pauses_s=(0.05, 0.1)).run(stop)
    assert summary.away == 0


def test_what_is_acknowledged_leaves_the_disk_while_much_waits(tmp_path, monkeypatch) -> None:
    """Else a feed that is killed sends all of it again."""
    monkeypatch.setattr(spool_files, "_FILE_BYTES", 30_000)
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
