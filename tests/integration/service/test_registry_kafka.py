"""The Schema Registry in the path of the samples, on a real Kafka: what waits for it, what does not."""

import json
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest
from beatwire.backends.cpu import CPU
from beatwire.cli.main import app
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.publishing.sink import Sink
from beatwire.kafka.schemas.registry import Registry
from beatwire.kafka.schemas.writer_schemas import WriterSchemas
from beatwire.pipeline import Pipeline, Settings
from beatwire.service.monitor import Monitor
from beatwire.stages import decode
from beatwire.wire import names
from beatwire.wire.avro import frame
from beatwire_producers.replay import replay
from kafka_messages import quick_sender, values_in
from moments import LIMIT_S
from registry_server import RegistryServer
from typer.testing import CliRunner
from writer_schemas import ours, with_field, without, written

pytestmark = pytest.mark.kafka
SUBJECT = "ecg.samples-value"
BEDS = [b"bed-3", b"bed-5", b"bed-2", b"bed-0"]  # each in a partition of its own


@pytest.fixture
def server():
    with RegistryServer() as running:
        yield running


@contextmanager
def reading(kafka, server, group="g", report=print):
    """A source that looks ids up, as the monitor opens it."""
    with (
        Registry(server.url) as registry,
        WriterSchemas(registry, registry.versions(names.SAMPLES), report) as schemas,
        Source(kafka.cluster, group, schemas=schemas) as source,
    ):
        yield source


def send(kafka, *messages):
    """Send messages (key, value) in their order."""
    with quick_sender(kafka.cluster) as sender:
        sender.send(names.SAMPLES, [key for key, _ in messages], [value for _, value in messages])


def first_samples(source, count, *, within=200):
    """Take ticks until so many messages were decoded: the streams' first samples, in order, and the reasons."""
    got, reasons = {}, []
    for _ in range(within):
        polled = source.take(0.1)
        if polled is None:
            continue
        chunks = decode.step(decode.State(decode.Settings()), polled.tick)[1]
        reasons += chunks.rejects.reason
        for number, row in zip(chunks.message.tolist(), chunks.ints, strict=True):
            got.setdefault(polled.origin.messages[number].key(), []).append(int(row[4]))
        if sum(map(len, got.values())) + len(reasons) >= count:
            break
    return got, reasons


def test_the_command_registers_the_schemas_and_prints_their_ids(kafka, server):
    command = ["topics", "--bootstrap-servers", kafka.bootstrap, "--registry", server.url]
    first = CliRunner().invoke(app, command)
    assert [line for line in first.stdout.splitlines() if "schema id" in line][:3] == [
        "ecg.samples-value: schema id 1, new",
        "ecg.samples-beatwire.SampleBundle: schema id 2, new",
        "ecg.beats-value: schema id 3, new",
    ]
    again = CliRunner().invoke(app, command[:-2], env={"BEATWIRE_REGISTRY__URL": server.url})
    assert "ecg.acks-value: schema id 5, already registered" in again.stdout


def test_messages_of_three_versions_are_read_and_an_id_costs_one_request(kafka, server):
    old, new = server.add(SUBJECT, ours()), server.add(SUBJECT, with_field())
    with reading(kafka, server) as source:
        other = server.add("other-value", with_field("x"))
        before = len(server.requests)
        writers = {old: ours(), new: with_field(), other: with_field("x")}
        bed = BEDS[0]
        send(kafka, *((bed, written(writers[1 + k % 3], 1 + k % 3, first=k, stream="bed-3", x="y")) for k in range(30)))
        assert first_samples(source, 30) == ({bed: list(range(30))}, [])
        assert len(server.requests) == before + 1


def test_an_incompatible_schema_and_an_unknown_id_are_dead_letters_with_the_reason(kafka, server):
    bad = server.add(SUBJECT, without("rate_hz"))
    with reading(kafka, server) as source:
        bed = BEDS[0]
        send(kafka, (bed, written(without("rate_hz"), bad)), (bed, frame(b"x", 77)), (bed, written(ours(), 0)[5:]))
        got, reasons = first_samples(source, 3)
    assert got == {bed: [0]}
    assert reasons[0].startswith(f"decode: schema id {bad} cannot be read as SampleChunk: No default value")
    assert reasons[1] == "decode: schema id 77 is not in the schema registry"


def test_while_the_registry_is_away_only_partitions_with_unknown_ids_wait_and_nothing_is_lost(kafka, server, wait):
    known = server.add(SUBJECT, ours())
    reports: list[str] = []
    with reading(kafka, server, report=reports.append) as source:
        later = server.add("other-value", with_field())
        server.stop()

        def batch(begin):
            for k in range(begin, begin + 5):
                for number, bed in enumerate(BEDS):
                    new = number == 1 and k >= 3
                    yield bed, written(with_field() if new else ours(), later if new else known, first=k)

        send(kafka, *batch(0))
        got, reasons = first_samples(source, 18)
        assert (got, reasons) == ({bed: list(range(3 if n == 1 else 5)) for n, bed in enumerate(BEDS)}, [])
        assert source.held == 1
        wait(lambda: len(reports) == 1, 40)
        send(kafka, *batch(5))
        got, _ = first_samples(source, 15)
        assert got == {bed: list(range(5, 10)) for n, bed in enumerate(BEDS) if n != 1}
        caught_up = [polled.tick.caught_up for _ in range(20) if (polled := source.take(0.1)) is not None]
        assert caught_up[-1]  # streams that wait are silent: their alert "no data" can begin
        server.start()
        got, reasons = first_samples(source, 7)
        assert (got, reasons, source.held) == ({BEDS[1]: list(range(3, 10))}, [], 0)


def test_a_worker_that_stops_while_messages_wait_leaves_them_to_the_next_one(kafka, server):
    known, later = server.add(SUBJECT, ours()), server.add("other-value", with_field())
    bed, stop = BEDS[0], threading.Event()
    messages = [(bed, written(with_field() if k > 2 else ours(), later if k > 2 else known, first=k)) for k in range(6)]
    messages += [(bed, b"broken")]

    def run(source, done):
        with Sink(kafka.cluster) as sink:
            monitor = Monitor(Pipeline(Settings(detector="rule"), CPU), source, sink)
            return monitor.run(stop, until=done)

    with reading(kafka, server) as source:
        server.stop()
        send(kafka, *messages)
        counters = run(source, lambda counters: counters.messages >= 3 and source.held > 0)
        assert counters.messages == 3
        server.start()
    with reading(kafka, server) as source:
        assert run(source, lambda counters: counters.messages >= 4).messages == 4
    assert values_in(kafka, names.DEAD_LETTERS) == [b"broken"]


def test_the_schemas_in_the_registry_are_those_of_the_package(kafka, server):
    CliRunner().invoke(app, ["topics", "--bootstrap-servers", kafka.bootstrap, "--registry", server.url])
    assert json.loads(server.schemas[1]["schema"]) == ours()


def test_the_monitor_as_a_user_starts_it_reads_by_the_registry(kafka, server, wait):
    bad = server.add(SUBJECT, without("rate_hz"))
    send(kafka, (BEDS[0], written(without("rate_hz"), bad)), (BEDS[0], written(ours(), server.add(SUBJECT, ours()))))
    command = [sys.executable, "-m", "beatwire", "monitor", "--backend", "cpu", "--registry", server.url]
    with subprocess.Popen(
        [*command, "--bootstrap-servers", kafka.bootstrap], stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            wait(lambda: bool(values_in(kafka, names.DEAD_LETTERS)) or process.poll() is not None)
        finally:
            process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=LIMIT_S)[1]
    assert process.returncode == 0, said
    assert f"schema registry {server.url}: 2 versions of ecg.samples" in said
    assert "1 rejects" in said


def test_a_registry_that_is_away_at_the_start_ends_the_command_with_one_line(kafka, server):
    server.stop()
    done = CliRunner().invoke(app, ["topics", "--bootstrap-servers", kafka.bootstrap, "--registry", server.url])
    assert str(done.exception).startswith(f"registry: expected a Schema Registry at {server.url}; got ")


def test_a_replay_is_framed_with_the_id_of_the_registered_schema(kafka, server):
    server.add("other-value", with_field())
    with Registry(server.url) as registry:
        schema_id = registry.register(names.SAMPLES).schema_id
        replay(["synthetic:seconds=2"], kafka.cluster, speed="max", registry=registry)
    values = values_in(kafka, names.SAMPLES)
    assert len(values) == 10
    assert {value[:5] for value in values} == {frame(b"", schema_id)}
