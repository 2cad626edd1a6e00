"""The commands for staff: acknowledge an alert, set the limits of a stream."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any

import typer

from beatwire.cli.options import Bootstrap, ConfigFile, Json, Properties, TopicPrefix, examples, flag, option
from beatwire.cli.parsed import ParsedCommand
from beatwire.cli.terminal import Line, print_message, print_result
from beatwire.errors import FatalError, UserError

ACK_EXAMPLES = examples(
    "beatwire ack bed-1 --by 'Ada Lovelace' --bootstrap-servers localhost:9092",
    "beatwire ack 3f9c21 --by 'Ada Lovelace' --bootstrap-servers localhost:9092",
)
LIMITS_EXAMPLES = examples(
    "beatwire limits bed-1 --bootstrap-servers localhost:9092",
    "beatwire limits bed-1 asystole=5 tachycardia=140 --by 'Ada Lovelace' --bootstrap-servers localhost:9092",
    "beatwire limits bed-1 --reset --by 'Ada Lovelace' --bootstrap-servers localhost:9092",
)
By = Annotated[str | None, option("--by NAME", "Who does it: it is part of the audit log.", shown="none")]


class LimitsCommand(ParsedCommand):
    """A command whose help lists the rules of `beatwire.alerts.limits`, imported when it is shown."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        from beatwire.alerts.limits import SETTABLE

        rules = (f"{_word(rule)} {one.least:g}-{one.most:g} {one.unit}" for rule, one in SETTABLE.items())
        self.help = (self.help or "").replace("{rules}", ", ".join(rules))
        super().format_help(ctx, formatter)


def ack(
    alert: Annotated[
        str,
        typer.Argument(
            metavar="STREAM|ID", help="A stream: all its alerts; or six or more first digits of one (beatwire alerts)."
        ),
    ],
    bootstrap: Bootstrap = None,
    properties: Properties = None,
    prefix: TopicPrefix = None,
    config: ConfigFile = None,
    by: By = None,
    as_json: Json = False,
) -> None:
    """Acknowledge an alert that is on or latched, or all alerts of a stream.

    The monitor publishes it as acknowledged within a second. One that is latched is then over; one that is on ends with
    its condition. Later alerts of the stream are not acknowledged by it.
    """
    from beatwire.cli.configured import cluster_with_options
    from beatwire.kafka.publishing.orders import acknowledge
    from beatwire.kafka.topics import check_broker
    from beatwire.wire.names import ACKS, ALERTS

    name, cluster = _given("ack", by), cluster_with_options(config, bootstrap, properties, prefix)
    check_broker(cluster, [ALERTS, ACKS])
    done = acknowledge(cluster, alert, name)
    if as_json:
        print_result({"acknowledged": done}, as_json, {})
        return
    for one in done:
        print_message(f"acknowledged by {one['ack_by']}: {one['stream']}: {one['text']}")


def limits(
    stream: Annotated[str, typer.Argument(metavar="STREAM", help="Id of the stream.")],
    bootstrap: Bootstrap = None,
    properties: Properties = None,
    prefix: TopicPrefix = None,
    config: ConfigFile = None,
    assignments: Annotated[
        list[str] | None,
        typer.Argument(metavar="RULE=LIMIT", show_default=False, help="New limits; without any, print those in force."),
    ] = None,
    by: By = None,
    reset: Annotated[bool, flag("--reset", "Return to the defaults.")] = False,
    as_json: Json = False,
) -> None:
    """Print or change the limits of a stream's alert rules.

    Rules: {rules}. A change is in force within a second, without a restart; limits that are not named stay as they are.
    """
    from beatwire.alerts.limits import SETTABLE, check_ranges
    from beatwire.alerts.rules import NUMBERS
    from beatwire.cli.configured import load_with_options
    from beatwire.configuration.effect import alert_settings_of, cluster_of
    from beatwire.kafka.other_groups import judging_otherwise, other_defaults
    from beatwire.kafka.publishing.orders import change_limits, read_limits
    from beatwire.kafka.reading.readers import is_known
    from beatwire.kafka.topics import check_broker
    from beatwire.wire.names import AUDIT, SETTINGS

    values = load_with_options(config, bootstrap, properties, prefix).values
    cluster, settings = cluster_of(values), alert_settings_of(values)
    defaults = settings.limits
    given = _parse(stream, assignments or [])
    check_ranges(stream, given)
    name = _given("limits", by) if given or reset else None
    check_broker(cluster, [SETTINGS] if name is None else [SETTINGS, AUDIT])
    before = read_limits(cluster, stream, defaults)
    after = given if reset else before | given
    if name is not None:
        replaced = change_limits(cluster, stream, after, before, name, defaults)
        if replaced is not None:
            print_message(
                f"limits: {replaced['by']} entered limits of {stream} at the same time: {_listed(replaced['limits'])}; "
                "they are replaced by these: compare both, and enter again what is missing"
            )
    with suppress(UserError, FatalError):  # who sets limits need not have the right to read beats
        if not is_known(cluster, stream):
            print_message(f"limits: {stream!r} has no beat of late and no alert: check the id, if it should have some")
    if groups := judging_otherwise(cluster, settings.digest):
        print_message(f"limits: {other_defaults(groups)}")
    shown = {rule: after.get(rule, defaults[NUMBERS[rule]]) for rule in SETTABLE}
    lines = {
        rule: Line(rule, f"{{:g}} {SETTABLE[rule].unit}" + ("" if rule in after else "   (default)")) for rule in shown
    }
    print_result(shown, as_json, lines)


def _listed(limits: Mapping[str, float]) -> str:
    """Return limits as they are entered.

    >>> _listed({"no data": 5.0, "pause": 2.5})
    'no-data=5 pause=2.5'
    """
    return " ".join(f"{_word(rule)}={limit:g}" for rule, limit in limits.items()) or "the defaults"


def _word(rule: str) -> str:
    """Return a rule as it is entered."""
    return rule.replace(" ", "-")


def _given(command: str, by: str | None) -> str:
    if by is None:
        raise UserError(f"{command}: expected --by NAME: who does it; got none")
    return by


def _parse(stream: str, assignments: list[str]) -> dict[str, float]:
    """Return rule -> limit; a rule may be written with hyphens or underscores, and once."""
    found: dict[str, float] = {}
    for text in assignments:
        word, sign, number = text.partition("=")
        rule = word.strip().replace("-", " ").replace("_", " ").lower()
        try:
            limit = float(number)
        except ValueError:
            sign = ""
        if not sign:
            raise UserError(f"limits of {stream!r}: expected RULE=NUMBER, such as asystole=5; got {text!r}")
        if rule in found:
            raise UserError(f"limits of {stream!r}: expected one limit of {rule}; got {found[rule]:g} and {limit:g}")
        found[rule] = limit
    return found
