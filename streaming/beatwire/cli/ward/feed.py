"""The commands that read devices: feed, watch."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from beatwire.cli.options import (
    SOURCES,
    Bootstrap,
    ColumnName,
    ConfigFile,
    Gain,
    Json,
    Properties,
    Rate,
    RegistryUrl,
    TopicPrefix,
    examples,
    option,
)
from beatwire.cli.terminal import Line, print_message, print_result
from beatwire.cli.ward.broker import BrokerKind
from beatwire.errors import UserError

if TYPE_CHECKING:
    from beatwire.kafka.cluster import Cluster

FEED_EXAMPLES = examples(
    "beatwire feed polar:H10 --bootstrap-servers localhost:9092",
    "beatwire feed lsl:type=ECG --bootstrap-servers localhost:9092 --spool ./spool",
    "beatwire feed 'mqtt://localhost/ward/+/ecg?rate=250&uv=2.5' --bootstrap-servers localhost:9092",
    "beatwire feed serial:/dev/ttyUSB0 --fs 250 --bootstrap-servers localhost:9092",
)
FEED_LINES = {
    "streams": Line("streams", "{:,}"),
    "packets": Line("packets of devices", "{:,}"),
    "messages": Line("messages sent", "{:,}"),
    "samples": Line("samples sent", "{:,}"),
    "sessions": Line("sessions", "{:,}"),
    "holes": Line("holes", "{:,}"),
    "missing_s": Line("  missing in them", "{:,.1f} s"),
    "doubled": Line("packets that came twice", "{:,}"),
    "away": Line("devices went away", "{:,} times"),
    "unreadable": Line("messages that were ignored", "{:,}"),
    "lost": Line("messages lost", "{:,}"),
    "seconds": Line("time taken", "{:,.1f} s"),
}
BROKER_S = 5.0  # for an answer at the start
WATCH_EXAMPLES = examples(
    "beatwire watch polar:H10",
    "beatwire watch brainflow:synthetic --column 0 --record ./records",
    "beatwire watch recording.csv",
)
WATCH_LINES = {
    **FEED_LINES,
    "broker": Line("broker"),
    "beats": Line("beats found", "{:,}"),
    "alerts": Line("alert messages", "{:,}"),
    "rejected": Line("rejected messages", "{:,}"),
    "latency_ms.p50": Line("latency, median", "{:.0f} ms"),
    "latency_ms.p99": Line("latency, 99th percentile", "{:.0f} ms"),
}
DEVICES = (
    "lsl:NAME or lsl:KEY=VALUE (Lab Streaming Layer), mqtt://HOST/TOPIC, serial:PORT, brainflow:BOARD, "
    "polar:NAME or polar:ADDRESS, py:MODULE:CLASS"
)

Sources = Annotated[list[str], typer.Argument(metavar="SOURCE", help=f"Devices: {DEVICES}.")]
StreamId = Annotated[
    str | None, option("--stream ID", "Id of the stream; for a source of one device.", shown="from the device")
]
SpoolFolder = Annotated[
    Path | None,
    option(
        "--spool FOLDER",
        "Folder in which messages wait for the broker. What is left there is sent by the next feed.",
        shown="in memory, up to 256 MiB",
    ),
]
RecordFolder = Annotated[
    Path | None, option("--record FOLDER", "Keep what comes as WFDB records.", shown="nothing is kept")
]
Seconds = Annotated[float | None, option("SECONDS", "Stop after this time.", shown="until Ctrl-C", min=0.1)]


def feed(
    sources: Sources,
    bootstrap: Bootstrap = None,
    stream: StreamId = None,
    spool: SpoolFolder = None,
    record: RecordFolder = None,
    seconds: Seconds = None,
    fs: Rate = None,
    column: ColumnName = None,
    gain: Gain = None,
    properties: Properties = None,
    prefix: TopicPrefix = None,
    registry: RegistryUrl = None,
    config: ConfigFile = None,
    as_json: Json = False,
) -> None:
    """Send live devices to Kafka.

    A device that goes away is waited for, and a broker too, at the start if the spool has messages of an earlier feed:
    nothing is lost on the way, or the exit code is 1. Packets
    get their places from the count or the clock of the device; a missing packet is a hole of its length.
    """
    from beatwire_producers.devices.sources import Options, check_installed, check_options, open_source

    for source in sources:
        check_installed(source)
    options = Options(stream, fs, gain, column)
    check_options(sources, options)

    from beatwire_producers.devices.feed import run_feed
    from beatwire_producers.devices.spool import has_left

    from beatwire.cli.configured import cluster_and_registry
    from beatwire.kafka.reachability import broker_responds
    from beatwire.kafka.topics import check_broker
    from beatwire.signals import stop_after, stop_on_signals
    from beatwire.wire import names

    cluster, opened = cluster_and_registry(config, bootstrap, properties, prefix, registry)
    readers = [(source, open_source(source, options)) for source in sources]
    if spool is not None and has_left(spool) and not broker_responds(cluster, timeout_s=BROKER_S):
        print_message(f"broker: no answer at {cluster} in {BROKER_S:g} s; messages wait on disk")
    else:
        check_broker(cluster, [names.SAMPLES])
    with ExitStack() as stack:
        schema_id = None
        if opened is not None:
            stack.enter_context(opened)
            schema_id = opened.schema_id(names.SAMPLES, cluster.topic(names.SAMPLES))
        stop = stack.enter_context(stop_on_signals())
        stack.enter_context(stop_after(seconds, stop))
        summary = run_feed(readers, cluster, stop, print_message, spool=spool, record=record, schema_id=schema_id)
    print_result(summary.as_dict(), as_json, FEED_LINES)
    if summary.lost:
        raise typer.Exit(1)


def watch(
    sources: Annotated[list[str], typer.Argument(metavar="SOURCE", help=f"Devices: {DEVICES}. Or {SOURCES}.")],
    stream: StreamId = None,
    speed: Annotated[str | None, option("FACTOR", "Of recordings: multiple of real time.", shown="1")] = None,
    broker: Annotated[
        BrokerKind, option("", "Broker to start, as of the demo. The mock starts at once and keeps the last minutes.")
    ] = BrokerKind.MOCK,
    record: RecordFolder = None,
    seconds: Seconds = None,
    fs: Rate = None,
    column: ColumnName = None,
    gain: Gain = None,
    as_json: Json = False,
) -> None:
    """Show a device, or a recording, on the live page, with a monitor: one command, no Kafka.

    Starts a broker, the page and the monitor in this process. The address of the page is printed first.
    """
    from beatwire_producers.devices.sources import (
        Options,
        check_installed,
        check_options,
        hint_for,
        is_device,
        open_source,
    )

    for source in sources:
        if hint := hint_for(source):
            raise UserError(f"watch: expected a device or a recording; got {source!r}{hint}")
    devices = [source for source in sources if is_device(source)]
    for source in devices:
        check_installed(source)
    if devices and len(devices) < len(sources):
        raise UserError("watch: expected devices or recordings; got both")
    if devices and speed is not None:
        raise UserError(f"--speed: expected a recording beside it; got {devices[0]}")
    options = Options(stream, fs, gain, column)
    check_options(devices, options)

    if devices:
        from beatwire_producers.devices.feed import run_feed

    from beatwire.kafka.publishing.live_sender import LiveSender
    from beatwire.service.watch import run_watch
    from beatwire.signals import stop_on_signals

    def feed_devices(cluster: Cluster, ended: threading.Event, say: Callable[[str], None]) -> dict[str, Any]:
        readers = [(source, open_source(source, options)) for source in devices]
        return run_feed(readers, cluster, ended, say, record=record).as_dict()

    def play_recordings(cluster: Cluster, ended: threading.Event, say: Callable[[str], None]) -> dict[str, Any]:
        with LiveSender(cluster) as sender:
            played = play(feeds, sender, speed=pace, stop=ended.is_set)
        say("stopped before its end" if played.stopped else "played to the end")
        return {"streams": played.streams, "messages": played.chunks, "samples": played.samples}

    if not devices:
        from dataclasses import replace

        from beatwire_producers.feeds import feeds_of
        from beatwire_producers.pacing import MAX, parse_speed
        from beatwire_producers.replay import play, read_sources

        if record is not None:
            raise UserError("--record: expected a device beside it; a recording is kept already")
        if stream is not None and len(sources) > 1:
            raise UserError(f"--stream: expected one recording beside it; got {len(sources)}")
        pace = parse_speed(speed or "1")
        if pace == MAX:
            raise UserError("--speed: expected a number; got max (beatwire analyze is for that)")
        feeds = feeds_of(read_sources(sources, fs=fs, column=column, gain=gain, notes=print_message))
        feeds = [replace(feed, stream=stream or feed.stream) for feed in feeds]
    with ExitStack() as stack:
        stop = stack.enter_context(stop_on_signals())
        stay = sys.stdout.isatty() and not as_json
        feeder = feed_devices if devices else play_recordings
        result = run_watch(feeder, broker.value, stop, stay=stay, quiet=as_json, seconds=seconds)
    print_result(result, as_json, WATCH_LINES)
