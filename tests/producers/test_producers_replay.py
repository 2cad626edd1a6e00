"""Replay on the embedded broker: everything that is sent arrives, and errors are reported in one line."""

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from beatwire import signals
from beatwire.cli.main import app
from beatwire.errors import UserError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.local.mock import MockKafka, is_mock
from beatwire.kafka.publishing.sender import Sender
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings import read_recording
from beatwire.records import RawTick
from beatwire.signals import INTERRUPTED
from beatwire.wire import avro, names
from beatwire_producers.faults import Faults
from beatwire_producers.feeds import feeds_of
from beatwire_producers.pacing import MAX, Pacer
from beatwire_producers.replay import play, replay
from beatwire_producers.ward import ward
from confluent_kafka import TopicPartition
from moments import own_s
from typer.testing import CliRunner


@pytest.fixture
def broker() -> Iterator[Cluster]:
    with MockKafka() as mock:
        yield mock.cluster


class Reader(threading.Thread):
    """Reads and commits, in the background or when `read` is called."""

    def __init__(self, cluster: Cluster, group: str = "beatwire", background: bool = True) -> None:
        super().__init__(daemon=True)
        settings = {
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 5,
            "queued.max.messages.kbytes": 256,  # the client must not read far ahead of the commits
            "fetch.message.max.bytes": 262_144,
            "fetch.queue.backoff.ms": 2,
        }
        self.consumer = cluster.consumer(settings)
        parts = self.consumer.list_topics(names.SAMPLES, timeout=5).topics[names.SAMPLES].partitions
        self.consumer.assign([TopicPartition(names.SAMPLES, part, 0) for part in parts])  # joining takes seconds
        self.messages: list[tuple[bytes, bytes]] = []
        self.stopped = threading.Event()
        if background:
            self.start()

    def run(self) -> None:
        while not self.stopped.is_set():
            self.read()
        self.consumer.close()

    def read(self) -> None:
        got = self.consumer.consume(10_000, 0.02)
        if got:
            self.messages += [(m.key() or b"", m.value() or b"") for m in got]
            self.consumer.commit(asynchronous=False)

    def take(self, count: int, timeout_s: float = 120.0) -> list[tuple[bytes, bytes]]:
        deadline = time.monotonic() + timeout_s
        while len(self.messages) < count and time.monotonic() < deadline:
            self.stopped.wait(0.01)
        self.stopped.set()
        self.join(60)
        return self.messages


def test_at_full_speed_more_data_than_the_mock_keeps_arrives_complete(broker: Cluster) -> None:
    reader = Reader(broker, background=False)  # reads only while the producer waits for it
    recording = read_recording("synthetic:seconds=60,leads=2,rate=500")
    assert is_mock(broker)
    with Sender(broker) as sender:
        summary = play(feeds_of([recording], 300), sender, speed=MAX, sleep=lambda _: reader.read())
    reader.start()
    assert summary.bytes > 30 << 20  # four partitions keep 20 MiB
    assert summary.chunks == 300 * 300
    assert summary.samples == 300 * 2 * 30_000
    messages = reader.take(summary.chunks)
    assert len(messages) == summary.chunks
    some = [avro.decode_chunk(value) for key, value in messages if key == b"synthetic-1"]
    together = np.concatenate([np.frombuffer(c["samples"], "<i2").reshape(2, -1) for c in some], axis=1)
    assert np.array_equal(together, recording.samples)


def test_a_csv_is_replayed_with_its_own_samples_in_order(broker: Cluster, tmp_path: Path) -> None:
    reader = Reader(broker)
    values = np.round(np.random.default_rng(1).normal(0, 1, 500), 3)
    path = tmp_path / "mine.csv"
    path.write_text("time,II\n" + "".join(f"{k / 250:.3f},{v}\n" for k, v in enumerate(values)))
    reported: list[tuple[float, float]] = []
    summary = replay([str(path)], broker, speed="20", progress=lambda at, of: reported.append((at, of)))
    chunks = [avro.decode_chunk(value) for _, value in reader.take(summary.chunks)]
    assert (summary.streams, summary.chunks, summary.samples, summary.stopped) == (1, 10, 500, False)
    assert np.array_equal(np.concatenate([np.frombuffer(c["samples"], "<i2") for c in chunks]), np.rint(values * 1000))
    assert {(c["stream"], c["rate_hz"], tuple(c["leads"]), c["uv_per_unit"]) for c in chunks} == {
        ("mine-1", 250.0, ("II",), 1.0)
    }
    assert np.allclose(np.diff([c["time"].timestamp() for c in chunks]), 0.2, atol=1e-6)
    assert reported[-1] == (2.0, 2.0)
    assert 0.09 < summary.seconds < 5
    assert set(summary.as_dict()) >= {"streams", "chunks", "samples", "faults", "seconds", "behind_ms"}


def test_a_recording_that_is_replayed_again_is_a_new_session_and_has_its_beats_again(broker: Cluster) -> None:
    reader = Reader(broker)
    pipeline, beats = Pipeline(Settings()), [0]
    pipeline.subscribe(pipeline.beats, lambda found: beats.append(beats[-1] + len(found.sample)))
    for _ in range(2):
        replay(["synthetic:seconds=10"], broker, speed="20")
    messages = [value for _, value in reader.take(100)]
    assert len({avro.decode_chunk(value)["session"] for value in messages}) == 2
    for value in messages[:50]:
        pipeline.emit(RawTick.of([value]))
    first = beats[-1]
    for value in messages[50:]:
        pipeline.emit(RawTick.of([value]))
    assert first >= 8
    assert beats[-1] == 2 * first


def test_chunks_are_sent_when_their_last_sample_exists(broker: Cluster) -> None:
    now_s, waits = [100.0], []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        now_s[0] += seconds

    with Sender(broker) as sender:
        feeds = feeds_of([read_recording("synthetic:seconds=60")], 10)
        summary = play(feeds, sender, speed=1.0, seconds=30, clock=lambda: now_s[0], sleep=sleep)
    assert summary.chunks == 10 * 150
    assert now_s[0] - 100.0 == pytest.approx(30.2, abs=0.05)
    assert max(waits) <= 0.2 + 1e-6
    assert summary.behind_ms["max"] < 0.001


@pytest.mark.parametrize(("seconds", "chunk_ms", "sent_s"), [(11, 10_000, 11.0), (99, 200, 30.0), (None, 300, 30.0)])
def test_the_summary_says_how_much_signal_was_sent(
    broker: Cluster, seconds: float | None, chunk_ms: float, sent_s: float
) -> None:
    told: list[tuple[float, float]] = []
    with Sender(broker) as sender:
        feeds = feeds_of([read_recording("synthetic:seconds=30")], 3)
        summary = play(
            feeds, sender, speed=MAX, seconds=seconds, chunk_ms=chunk_ms, progress=lambda at, of: told.append((at, of))
        )
    assert (summary.signal_s, summary.samples) == (sent_s, 3 * 250 * sent_s)
    assert told[-1] == (sent_s, sent_s)


def test_faults_are_injected_and_counted(broker: Cluster) -> None:
    reader = Reader(broker)
    recording = read_recording("synthetic:seconds=20")
    faults = Faults(dropped=0.05, duplicated=0.05, reordered=0.05, late=0.01, malformed=0.02)
    with Sender(broker) as sender:
        summary = play(feeds_of([recording], 20), sender, speed=MAX, faults=faults, seed=7)
    messages = reader.take(summary.chunks)
    assert len(messages) == summary.chunks == 2000 - summary.faults["dropped"] + summary.faults["duplicated"]
    bad = 0
    for _, value in messages:
        try:
            avro.decode_chunk(value)
        except Exception:
            bad += 1
    assert bad == summary.faults["malformed"] > 0
    assert all(summary.faults[kind] > 0 for kind in ("dropped", "duplicated", "reordered", "late"))


def test_a_ward_plays_the_planted_defects(broker: Cluster) -> None:
    reader = Reader(broker)
    made = ward(8, 30)
    with Sender(broker) as sender:
        summary = play(made.feeds, sender, speed=MAX)
    messages = reader.take(summary.chunks)
    gap, off, bad = (next(p for p in made.planted if p.kind == kind) for kind in ("gap", "lead_off", "malformed"))

    def first_samples(stream: str) -> dict[int, int]:
        chunks = [avro.decode_chunk(v) for k, v in messages if k.decode() == stream and v[0] != 255]
        return {c["first"]: c["lead_off"] for c in chunks}

    assert not any(gap.first <= first < gap.last for first in first_samples(gap.stream))
    masks = first_samples(off.stream)
    assert {mask for first, mask in masks.items() if off.first <= first < off.last} == {1}
    assert sum(v[0] == 255 for k, v in messages if k.decode() == bad.stream) == 1


def test_a_replay_can_be_stopped(broker: Cluster) -> None:
    with Sender(broker) as sender:
        summary = play(feeds_of([read_recording("synthetic")], 2), sender, stop=lambda: True)
    assert summary.stopped
    assert summary.chunks == 0


def test_a_replay_that_ctrl_c_stops_is_not_done(broker: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    words = ["replay", "synthetic:seconds=20", "--bootstrap-servers", broker.bootstrap, "--speed", "50"]
    assert CliRunner().invoke(app, words).exit_code == 0
    monkeypatch.setattr(Pacer, "wait", interrupted)
    done = CliRunner().invoke(app, words)
    assert (done.exit_code, done.stdout.rstrip().endswith("stopped early           yes")) == (INTERRUPTED, True)
    assert not [line for line in done.stdout.splitlines() if line != line.rstrip()]


def test_a_replay_ends_after_a_signal_that_a_library_has_dropped(
    broker: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signals, "_ASKED", [15])
    words = ["replay", "synthetic:seconds=20", "--bootstrap-servers", broker.bootstrap]
    assert CliRunner().invoke(app, words).exit_code == 143


def test_an_address_without_a_broker_is_named_within_seconds() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound, but not listening
        address = f"127.0.0.1:{held.getsockname()[1]}"
        began_s = own_s()
        with pytest.raises(UserError, match=address):
            replay(["synthetic:seconds=5"], Cluster(address))
        assert own_s() - began_s < 8


def test_a_missing_topic_is_named(broker: Cluster) -> None:
    with pytest.raises(UserError, match=r"'ecg\.nothing'"):
        replay(["synthetic:seconds=5"], broker, topic="ecg.nothing")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"sources": []}, "replay: expected at least 1 source; got 0"),
        ({"speed": "fast"}, "--speed: expected a number above 0, or max; got 'fast'"),
        ({"streams": 0}, "--streams: expected at least 1; got 0"),
        ({"chunk_ms": 0}, "--chunk-ms: expected 1-10000; got 0"),
        ({"sources": ["synthetic:leads=12,rate=1000"], "chunk_ms": 5000}, "--chunk-ms: expected messages below 64 kB"),
        ({"faults": "lost=1"}, "--faults: expected names among"),
        ({"seconds": 0}, "--seconds: expected more than 0; got 0"),
    ],
)
def test_an_invalid_setting_is_reported_in_one_line(
    broker: Cluster, settings: dict[str, object], expected: str
) -> None:
    arguments = {"sources": ["synthetic:seconds=5"], "cluster": broker} | settings
    with pytest.raises(UserError) as error:
        replay(**arguments)  # type: ignore[arg-type]
    assert str(error.value).startswith(expected)


def test_what_was_taken_is_sent_before_sigterm_ends_a_replay(broker: Cluster) -> None:
    taken, waits = [], iter(range(20))

    class Counting(Sender):
        def send(self, topic, keys, values):
            taken.extend(values)
            super().send(topic, keys, values)

    def sleep(seconds: float) -> None:
        time.sleep(seconds)
        if next(waits, None) is None:
            raise SystemExit(143)

    with pytest.raises(SystemExit), Counting(broker, {"linger.ms": 5_000}) as sender:
        play(feeds_of([read_recording("synthetic:seconds=60")], 2), sender, speed=4.0, sleep=sleep)
    reader = Reader(broker, background=False)
    deadline_s = time.monotonic() + 10.0
    while len(reader.messages) < len(taken) and time.monotonic() < deadline_s:
        reader.read()
    reader.consumer.close()
    assert len(taken) > 0
    assert sorted(value for _, value in reader.messages) == sorted(taken)
