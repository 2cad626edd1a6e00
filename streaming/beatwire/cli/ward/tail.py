"""``beatwire tail``: beats, alerts or dead letters as they are published, one line each.

In:  the records of ``beatwire.kafka.reading.tail.tail``
Out: aligned lines under a head, or one JSON object per line. Times are those of the device, in UTC; a device without a
     clock counts from its start. The time of a dead letter is that of its publication.
"""

import json
from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from beatwire.cli.options import Bootstrap, ConfigFile, Properties, TopicPrefix, examples, flag, option
from beatwire.cli.terminal import moment, print_message
from beatwire.errors import printable
from beatwire.service.priorities import STARS, STYLES

EXAMPLES = examples(
    "beatwire tail alerts --bootstrap-servers localhost:9092",
    "beatwire tail beats --stream bed-1 --stream bed-2 --bootstrap-servers localhost:9092",
    "beatwire tail beats --json --from-beginning --bootstrap-servers localhost:9092",
    "beatwire tail dead-letters --from-beginning --bootstrap-servers localhost:9092",
)
_BEAT_HEAD = f"{'TIME (UTC)':12}  {'STREAM':16}  {'RATE /MIN':>9}  {'SCORE':>5}  {'QUALITY %':>9}  CLASS"
_LETTER_HEAD = f"{'TIME (UTC)':12}  {'KEY':16}  {'PARTITION':>9}  {'OFFSET':>10}  {'BYTES':>6}  REASON"
_ALERT_HEAD = f"{'TIME (UTC)':12}  {'STREAM':16}  {'':3}  {'STATE':7}  ALERT"
_MOST_ALERTS = 100_000  # whose states are kept, to tell a reminder from a transition
_NARROWEST = 20  # characters of a text that is wrapped under its head; a narrower terminal breaks lines itself


class Topic(StrEnum):
    """A topic that ``beatwire tail`` prints."""

    BEATS = "beats"
    ALERTS = "alerts"
    DEAD_LETTERS = "dead-letters"


def tail(
    kind: Annotated[Topic, typer.Argument(metavar="KIND", help="What to print.")],
    bootstrap: Bootstrap = None,
    properties: Properties = None,
    prefix: TopicPrefix = None,
    config: ConfigFile = None,
    streams: Annotated[
        list[str] | None,
        option(
            "--stream ID",
            "Print this stream only; may be repeated. A stream that does not exist yet is waited for. "
            "Of dead letters: this key.",
            shown="all streams",
        ),
    ] = None,
    earliest: Annotated[
        bool, flag("--from-beginning", "Start with the oldest message in place of the next new one.")
    ] = False,
    as_json: Annotated[bool, flag("--json", "Print one JSON object per line.")] = False,
) -> None:
    """Print beats, alerts or dead letters as they are published, until Ctrl-C.

    A beat has the median rate of its last eight intervals, its score (2: 1 of 100 normal beats is as unusual) and its
    quality (the probability that it is a beat). Its class (S, V or Q) follows if it is not N, and why it has no
    score. The alerts in force come first. An alert has the time of its transition and stars by priority (*** high,
    ** medium, * low); a reminder repeats the time of what it reminds of. A dead letter is a message that cannot be
    used: its key, its place, its size and the reason; --json adds its bytes, and leaves out what was in force before.
    """
    from beatwire.cli.configured import cluster_with_options
    from beatwire.kafka.reading.tail import TOPIC_OF
    from beatwire.kafka.reading.tail import tail as follow
    from beatwire.kafka.topics import check_broker
    from beatwire.signals import stop_on_signals

    cluster = cluster_with_options(config, bootstrap, properties, prefix)
    console = Console(highlight=False)
    line_of: Callable[[dict[str, Any]], Text | str] = _json_line if as_json else line_maker(kind)
    check_broker(cluster, [TOPIC_OF[kind.value]])  # before the head: an error is a single line
    if not as_json:
        _print(console, Text(HEADS[kind], style="bold"), kind)
    with stop_on_signals() as stop:
        records = follow(
            kind.value,
            cluster,
            stop=stop,
            earliest=earliest,
            in_force=not (earliest or as_json),
            streams=tuple(streams or ()),
            notes=print_message,
        )
        for record in records:
            _print(console, line_of(record), kind)


def beat_line(beat: dict[str, Any]) -> Text:
    """Return a beat as a line under its head; what is not known is a dash; its class only if it is not N."""
    rate, score = beat["rate_bpm"], beat["score"]
    shown = f"{score:5.2f}" if score is not None else "    -"
    letter = beat.get("beat_class")
    line = (
        f"{_time(beat['time'])}  {beat['stream']:16}  {f'{rate:.0f}' if rate is not None else '-':>9}  {shown}  "
        f"{100 * beat['quality']:9.0f}  {letter if letter is not None and letter != 'N' else '':5}"
    )
    return Text(printable((f"{line}  not scored: {beat['scored_by']}" if score is None else line).rstrip()))


class AlertLines:
    """Makes the lines of successive alerts: a message that repeats the state of its alert is a reminder."""

    def __init__(self) -> None:
        self._states: dict[str, str] = {}  # of the alerts that are not off, by id

    def __call__(self, alert: dict[str, Any]) -> Text:
        """Return the line of the next message."""
        name, state = alert.get("id", ""), alert.get("state", "")
        before = self._states.pop(name, "on")  # an alert is raised without reminders
        if state != "off":
            self._states[name] = state
            if len(self._states) > _MOST_ALERTS:
                del self._states[next(iter(self._states))]
        return alert_line(alert, alert.get("reminders", 0) if state == before else 0)


def alert_line(alert: dict[str, Any], reminder: int = 0) -> Text:
    """Return a transition of an alert, or the reminder of a number, as a line under its head.

    The time is that of the transition, of a reminder too.
    """
    priority, state = alert.get("priority", ""), alert.get("state", "")
    decided_us = alert.get("decided_us")
    time = _time(moment(decided_us)) if decided_us is not None else "-"
    text = f"reminder {reminder}: {alert.get('text', '')}" if reminder else alert.get("text", "")
    line = f"{time:12}  {alert.get('stream', ''):16}  {STARS.get(priority, ''):3}  {state:7}  {text}"
    line += f" (acknowledged by {alert['ack_by']})" if alert.get("ack_by") else ""
    return Text(printable(line), style=STYLES.get(priority, "") if state == "on" else "dim")


def letter_line(letter: dict[str, Any]) -> Text:
    """Return a rejected message as a line under its head: its time is that of its letter."""
    key = "-" if letter["stream"] is None else printable(letter["stream"])
    return Text(
        f"{_time(letter['published'])}  {key:16}  {letter['partition']:>9}  {letter['offset']:>10}  "
        f"{letter['bytes']:>6}  {printable(letter['reason'])}"
    )


def _json_line(record: dict[str, Any]) -> str:
    return json.dumps(record, default=lambda time: time.isoformat(timespec="microseconds"), allow_nan=False)


def _print(console: Console, line: Text | str, kind: Topic) -> None:
    """Print a line and flush it; in colour, and wrapped, on a terminal only."""
    if isinstance(line, Text) and console.is_terminal:
        console.print(wrapped(line, kind, console), soft_wrap=True)
    else:
        typer.echo(str(line))


def wrapped(line: Text, kind: Topic, console: Console) -> Text:
    """Return a line that is too long for a terminal wrapped: its last column goes on under its head."""
    column = HEADS[kind].rindex(" ") + 1
    if line.cell_len <= console.width or console.width - column < _NARROWEST:
        return line
    parts = line[column:].wrap(console, console.width - column)
    return line[:column] + Text("\n" + " " * column).join(parts)


def _time(time: datetime) -> str:
    return f"{time:%H:%M:%S}.{time.microsecond // 1000:03}"


def line_maker(kind: Topic) -> Callable[[dict[str, Any]], Text]:
    """Return the function that makes the lines of a topic, from the first message on."""
    if kind is Topic.ALERTS:
        return AlertLines()
    return beat_line if kind is Topic.BEATS else letter_line


HEADS = {Topic.BEATS: _BEAT_HEAD, Topic.ALERTS: _ALERT_HEAD, Topic.DEAD_LETTERS: _LETTER_HEAD}
