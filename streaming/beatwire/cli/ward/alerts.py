"""``beatwire alerts``: the alerts in force, one line each, the gravest first.

In:  the compacted topic of alerts
Out: a table, on a narrow terminal lines, or one JSON object. Ids are as short as ``beatwire ack`` accepts.
"""

import os
from collections.abc import Collection, Mapping
from typing import Annotated, Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from beatwire.alerts.rule import SHORTEST_ID
from beatwire.cli.options import Bootstrap, ConfigFile, Json, Properties, TopicPrefix, examples, option
from beatwire.cli.terminal import moment, print_message, print_result
from beatwire.errors import printable
from beatwire.service.priorities import STARS, STYLES
from beatwire.wire.fields import Unusable

EXAMPLES = examples(
    "beatwire alerts --bootstrap-servers localhost:9092",
    "beatwire alerts --stream bed-1 --bootstrap-servers localhost:9092",
)
_TABLE_WIDTH, _PIPE_WIDTH = 72, 10_000  # columns: of the table at least; where it is no terminal, a line an alert
_ORDER = {"high": 0, "medium": 1, "low": 2}


def alerts(
    bootstrap: Bootstrap = None,
    properties: Properties = None,
    prefix: TopicPrefix = None,
    config: ConfigFile = None,
    streams: Annotated[
        list[str] | None, option("--stream ID", "This stream only; may be repeated.", shown="all streams")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the alerts in force: those that are on, and those that are over and not acknowledged.

    Unacknowledged ones come first, then the gravest, then the newest. Acknowledge one by its id or all of a stream:
    beatwire ack bed-1 --by NAME.
    """
    from beatwire.cli.configured import cluster_with_options
    from beatwire.kafka.reading.readers import read_active_alerts
    from beatwire.kafka.topics import check_broker
    from beatwire.wire.names import ALERTS

    cluster = cluster_with_options(config, bootstrap, properties, prefix)
    check_broker(cluster, [ALERTS])
    unusable: list[Unusable] = []
    every = read_active_alerts(cluster, unusable=unusable.append)
    if unusable:
        print_message(f"{unusable[0]}" + (f"; and {len(unusable) - 1} others" if len(unusable) > 1 else ""))
    chosen = sorted((one for one in every if not streams or one["stream"] in streams), key=_gravity)
    if as_json:
        print_result({"alerts": chosen}, as_json, {})
    elif not chosen:
        print_message("no alert is in force")
    else:
        console, short = Console(highlight=False), short_ids([one["id"] for one in every])
        if not console.is_terminal and "COLUMNS" not in os.environ:
            console.width = _PIPE_WIDTH
        console.print(_table(chosen, short) if console.width >= _TABLE_WIDTH else _lines(chosen, short))


def short_ids(ids: Collection[str]) -> dict[str, str]:
    """Return the first digits of each id that no other id begins with, all equally many, at least six.

    >>> short_ids(["3f9c21aa", "3f9c21ab", "77aa0012"])["77aa0012"]
    '77aa0012'
    >>> short_ids(["3f9c21aa", "77aa0012"])["77aa0012"]
    '77aa00'
    """
    n = SHORTEST_ID
    while len({one[:n] for one in ids}) < len(set(ids)):
        n += 1
    return {one: one[:n] for one in ids}


def _gravity(alert: Mapping[str, Any]) -> tuple[bool, int, int]:
    return alert["state"] == "ack", _ORDER.get(alert["priority"], len(_ORDER)), -alert["onset_us"]


def _lines(chosen: Collection[Mapping[str, Any]], short: Mapping[str, str]) -> Text:
    """Return for each alert a line about it, and one with what else the table has."""
    lines = []
    for one in chosen:
        stars, *rest, since, text = _cells(one, short)
        lines += [Text(f"{stars} {one['stream']}: {text}", _style(one)), Text(f"    {' '.join(rest)} {since}", "dim")]
    return Text("\n").join(lines)


def _cells(one: Mapping[str, Any], short: Mapping[str, str]) -> tuple[str, str, str, str, str]:
    by = f" (acknowledged by {one['ack_by']})" if one.get("ack_by") else ""
    since = f"{moment(one['onset_us']):%Y-%m-%d %H:%M:%S}"
    return STARS.get(one["priority"], ""), short[one["id"]], one["state"], since, printable(one["text"]) + by


def _style(one: Mapping[str, Any]) -> str:
    return "dim" if one["state"] == "ack" else STYLES.get(one["priority"], "")


def _table(chosen: Collection[Mapping[str, Any]], short: Mapping[str, str]) -> Table:
    table = Table("ID", "SINCE (UTC)", "STREAM", "", "STATE", "ALERT", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for one in chosen:
        stars, name, state, since, text = _cells(one, short)
        table.add_row(*(Text(cell, _style(one)) for cell in (name, since, one["stream"], stars, state, text)))
    return table
