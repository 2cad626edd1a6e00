"""The commands that read devices: feed."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from beatwire.cli.options import (  # fmt: skip
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
)
from beatwire.cli.terminal import Line, print_message, print_result

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
    "lost": Line("messages lost", "{:,}"),
    "seconds": Line("time taken", "{:,.1f} s"),
}
DEVICES = (
    "lsl:NAME or lsl:KEY=VALUE (Lab Streaming Layer), mqtt://HOST/TOPIC, serial:PORT, brainflow:BOARD, "
    "polar:NAME or polar:ADDRESS, py:MODULE:CLASS"
)

Sources = Annotated[list[str], typer.Argument(metavar="SOURCE...", help=f"Devices: {DEVICES}.")]
StreamId = Annotated[
    str | None,
    typer.Option(
        "--stream", metavar="ID", show_default="from the device", help="Id of the stream; for a source of one device."
    ),
]
SpoolFolder = Annotated[
    Path | None,
    typer.Option(
        "--spool",
        metavar="FOLDER",
        show_default="in memory, up to 256 MiB",
        help="Folder in which messages wait for the broker. What is left there is sent by the next feed.",
    ),
]
RecordFolder = Annotated[
    Path | None,
    typer.Option("--record", metavar="FOLDER", show_default="nothing is kept", help="Keep what comes as WFDB records."),
]
Seconds = Annotated[
    float | None,
    typer.Option(min=0.1, metavar="SECONDS", show_default="until Ctrl-C", help="Stop after this time."),
]


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

    A device that goes away is waited for, and a broker too: nothing is lost on the way. Packets get their places from
    the count or the clock of the device; a missing packet is a hole of its length.
    """
    from beatwire_producers.devices.sources import Options, check_installed, open_source

    for source in sources:
        check_installed(source)

    from beatwire_producers.devices.feed import Feed
    from beatwire_producers.devices.outbox import Memory, Spool
    from beatwire_producers.devices.wfdb_files import WfdbFolder

    from beatwire.cli.configured import cluster_and_registry
    from beatwire.kafka.live_sender import LiveSender
    from beatwire.kafka.topics import check_broker
    from beatwire.signals import stop_on_signals
    from beatwire.wire import names

    options = Options(stream, fs, gain, column)
    cluster, opened = cluster_and_registry(config, bootstrap, properties, prefix, registry)
    readers = [(source, open_source(source, options)) for source in sources]
    check_broker(cluster, [names.SAMPLES])
    with ExitStack() as stack:
        schema_id = None
        if opened is not None:
            stack.enter_context(opened)
            schema_id = opened.schema_id(names.SAMPLES, cluster.topic(names.SAMPLES))
        outbox: Memory | Spool = Memory()
        if spool is not None:
            outbox = Spool(spool)
            stack.callback(outbox.close)
            if outbox.left:
                print_message(f"broker: {outbox.left:,} messages of an earlier feed are sent first")
        folder = None
        if record is not None:
            folder = WfdbFolder(record)
            stack.callback(folder.close)
        stop = stack.enter_context(stop_on_signals())
        sender = LiveSender(cluster, outage_s=float("inf"))
        stack.callback(sender.close)
        if seconds is not None:
            _stop_after(seconds, stop, stack)
        made = Feed(
            readers, sender, outbox, say=print_message, keep=folder.keep if folder else None, schema_id=schema_id
        )
        summary = made.run(stop)
    print_result(summary.as_dict(), as_json, FEED_LINES)


def _stop_after(seconds: float, stop: threading.Event, stack: ExitStack) -> None:
    """Set an event after some seconds."""
    timer = threading.Timer(seconds, stop.set)
    timer.daemon = True
    timer.start()
    stack.callback(timer.cancel)
