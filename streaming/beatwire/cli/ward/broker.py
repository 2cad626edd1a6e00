"""The commands that start or prepare a Kafka broker: demo, broker, topics."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from beatwire.cli.options import (
    Bootstrap,
    ConfigFile,
    Json,
    Properties,
    RegistryUrl,
    Seed,
    TopicPrefix,
    examples,
    option,
)
from beatwire.cli.terminal import Line, print_result

BROKER_EXAMPLES = examples("beatwire broker", "beatwire broker --port 9192 --dir ./kafka-log")
TOPICS_EXAMPLES = examples("beatwire topics --bootstrap-servers kafka1:9092,kafka2:9092 --partitions 16")

DEMO_LINES = {
    "broker": Line("broker"),
    "backend": Line("backend"),
    "samples": Line("samples sent", "{:,}"),
    "beats": Line("beats found", "{:,}"),
    "alerts": Line("alert messages", "{:,}"),
    "rejected": Line("rejected messages", "{:,}"),
    "gaps": Line("gaps in the signal", "{:,}"),
    "planted": Line("planted events"),
    "found": Line("  found"),
    "missed": Line("  missed"),
    "samples_per_s": Line("throughput", "{:,} samples/s"),
    "latency_ms.p50": Line("latency, median", "{:.0f} ms"),
    "latency_ms.p99": Line("latency, 99th percentile", "{:.0f} ms"),
}


class BrokerKind(StrEnum):
    """The broker that the demo starts."""

    AUTO = "auto"
    KAFKA = "kafka"
    MOCK = "mock"


def demo(
    streams: Annotated[int, option("INTEGER", "Number of beds in the synthetic ward; one stream each.", min=1)] = 8,
    seconds: Annotated[
        float | None,
        option("SECONDS", "Duration of the demo.", shown="until Ctrl-C on a terminal, otherwise 30", min=10),
    ] = None,
    broker: Annotated[
        BrokerKind,
        option(
            "",
            "Broker to start: kafka (a real Apache Kafka), mock (the mock cluster of librdkafka), "
            "or auto (kafka if it is installed, otherwise mock).",
        ),
    ] = BrokerKind.AUTO,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Run a complete monitor on this machine and show its alerts, and its live page in a browser.

    Starts a broker, plays a synthetic ward with planted events through it, and monitors it. The address of the page is
    printed first; with --json there is no page. The exit code is 1 if the
    monitor misses a planted event.
    """
    from beatwire.service.demo.run import run_demo

    if seconds is None and (as_json or not sys.stdout.isatty()):
        seconds = 30.0
    result = run_demo(streams, seconds, broker.value, seed, quiet=as_json)
    if not as_json:
        typer.echo()  # after the alerts
    print_result(result if as_json else {name: result[name] for name in DEMO_LINES}, as_json, DEMO_LINES)
    if result["missed"]:
        raise typer.Exit(1)


def broker(
    port: Annotated[int, option("PORT", "TCP port to listen on; 0 selects a free port.", min=0, max=65535)] = 9092,
    directory: Annotated[
        Path | None,
        option(
            "--dir FOLDER",
            "Folder for the log of the broker, which holds all messages.",
            shown="a temporary folder, deleted at exit",
        ),
    ] = None,
    jars: Annotated[
        Path | None,
        option(
            "FOLDER",
            "Folder with the jar files of Kafka, for a machine without network access.",
            shown="downloaded once, 44 MB, and kept in the user's cache",
        ),
    ] = None,
) -> None:
    """Run a real Apache Kafka on this machine, without Docker.

    One node on 127.0.0.1 with the topics of the monitor. It runs until Ctrl-C.
    """
    from beatwire.kafka.local.broker import main_broker

    main_broker(port, directory, jars)


def topics(
    bootstrap: Bootstrap = None,
    properties: Properties = None,
    prefix: TopicPrefix = None,
    config: ConfigFile = None,
    partitions: Annotated[
        int, option("INTEGER", "Partitions of each topic; at most that many workers can share the streams.", min=1)
    ] = 4,
    replication: Annotated[
        int | None, option("INTEGER", "Copies of each message.", shown="the setting of the broker", min=1)
    ] = None,
    registry: RegistryUrl = None,
) -> None:
    """Create the topics of the monitor on an existing Kafka.

    Existing topics are not changed. With --registry the schemas of the topics are registered there too, and kept
    compatible with the version before (BACKWARD).
    """
    from beatwire.cli.configured import cluster_and_registry
    from beatwire.kafka.topics import TOPICS, check_broker, create_topics
    from beatwire.wire.schema_files import SCHEMAS

    cluster, opened = cluster_and_registry(config, bootstrap, properties, prefix, registry)
    check_broker(cluster)
    created = create_topics(cluster, partitions=partitions, replication=replication or -1)
    for name in TOPICS:
        typer.echo(f"{cluster.topic(name)}: {'created' if name in created else 'already exists'}")
    if opened is None:
        return
    with opened:
        for name in SCHEMAS:
            found = opened.register(name, cluster.topic(name))
            typer.echo(f"{found.subject}: schema id {found.schema_id}, {'new' if found.new else 'already registered'}")
