"""The command line: which commands there are, and how an error becomes an exit code.

Exit codes: 0 success; 1 the program or its environment failed, or the result is negative (``demo`` missed an event,
``evaluate`` could not run a record, ``report`` could not read one of several); 2 the arguments or the input cannot be
used; 130 and 143 ended by SIGINT and by SIGTERM (`beatwire.signals`). An error is one line on standard error. Each
command parses its arguments in a module of its own, and imports what it needs when it runs; the module itself is
imported when its command is given, or the help of all: to build the options of all takes a third of a start.
"""

import errno
import functools
import logging
import os
import sys
from collections.abc import Collection
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any, NamedTuple

import typer

from beatwire.cli.parsed import ParsedCommand, ParsedGroup
from beatwire.cli.terminal import print_message
from beatwire.errors import FatalError, LostCardError, UserError, reason
from beatwire.service.observing.logs import log_event, print_waiting, writes_json

# One thread each for the linear algebra libraries, set before NumPy is imported: the matrices of the network are
# too small to be worth more, and the threads would compete with those of the kernels.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(_variable, "1")

# Titles of the panels that group the commands in the help text.
_START, _LIVE, _RECORDINGS, _DEVELOPMENT = "Start here", "Live monitoring with Kafka", "Recordings", "Development"


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # on standard output: of files commands say it themselves

_NO_PATH = (errno.ENAMETOOLONG, errno.EACCES)  # it cannot even be found out whether it exists
_SHOWN = 200  # letters of a path in an error


class Command(NamedTuple):
    """Where a command is: a function, or a group of commands, of its name in a module of this package.

    module    below ``beatwire.cli``
    panel     of the help text
    examples  the name of the examples of its help in that module, empty if it has none
    kind      the name of its class there, empty: `ParsedCommand`
    """

    module: str
    panel: str
    examples: str = ""
    kind: str = ""


COMMANDS = {
    "demo": Command("ward.broker", _START),
    "watch": Command("ward.feed", _START, "WATCH_EXAMPLES"),
    "doctor": Command("doctor", _START, "EXAMPLES"),
    "broker": Command("ward.broker", _LIVE, "BROKER_EXAMPLES"),
    "topics": Command("ward.broker", _LIVE, "TOPICS_EXAMPLES"),
    "config": Command("config", _LIVE, "EXAMPLES"),
    "feed": Command("ward.feed", _LIVE, "FEED_EXAMPLES"),
    "replay": Command("ward.replay", _LIVE, "EXAMPLES"),
    "monitor": Command("ward.monitor", _LIVE, "EXAMPLES"),
    "tail": Command("ward.tail", _LIVE, "EXAMPLES"),
    "dashboard": Command("ward.dashboard", _LIVE, "EXAMPLES"),
    "alerts": Command("ward.alerts", _LIVE, "EXAMPLES"),
    "ack": Command("ward.staff", _LIVE, "ACK_EXAMPLES"),
    "limits": Command("ward.staff", _LIVE, "LIMITS_EXAMPLES", "LimitsCommand"),
    "analyze": Command("recordings.analyze", _RECORDINGS, "EXAMPLES"),
    "archive": Command("archive", _RECORDINGS, "EXAMPLES"),
    "report": Command("recordings.report", _RECORDINGS, "EXAMPLES"),
    "evaluate": Command("measuring.measure", _RECORDINGS, "EVALUATE_EXAMPLES"),
    "export": Command("recordings.export", _RECORDINGS),
    "bench": Command("measuring.measure", _DEVELOPMENT),
    "chaos": Command("measuring.chaos", _DEVELOPMENT, "EXAMPLES"),
    "train": Command("measuring.train", _DEVELOPMENT),
}


@functools.cache
def _app() -> typer.Typer:
    """Return the command line with all commands."""
    return _with(COMMANDS)


def __getattr__(name: str) -> Any:
    if name == "app":
        return _app()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _with(names: Collection[str]) -> typer.Typer:
    """Return the command line with some commands."""
    made = typer.Typer(
        cls=ParsedGroup,
        help="A streaming ECG monitor: heartbeats, anomaly scores and alerts from live ECG streams or from recordings. "
        "Not a medical device.",
        epilog="First steps:\n\n"
        "beatwire demo   (a complete monitor on this machine, with a page in the browser)\n\n"
        "beatwire analyze synthetic:seconds=60   (a recording, without Kafka)",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
        rich_markup_mode="markdown",
    )
    made.callback()(_beatwire)
    for name in names:
        command = COMMANDS[name]
        module = import_module(f"beatwire.cli.{command.module}")
        given = getattr(module, name)
        if isinstance(given, typer.Typer):
            for one in given.registered_commands:
                one.cls = ParsedCommand
            made.add_typer(given, name=name, cls=ParsedGroup, rich_help_panel=command.panel)
            continue
        epilog = getattr(module, command.examples) if command.examples else None
        kind = getattr(module, command.kind) if command.kind else ParsedCommand
        made.command(rich_help_panel=command.panel, epilog=epilog, cls=kind)(given)
    return made


def _print_version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        typer.echo(f"beatwire {version('beatwire')}")
        raise typer.Exit


def _beatwire(
    _version: Annotated[
        bool, typer.Option("--version", metavar="", is_eager=True, callback=_print_version, help="Show the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; an error becomes one line on standard error and an exit code.

    A character that standard output cannot encode is printed as an escape: what is printed is not lost for a name.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    print_waiting()
    word = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    try:
        command = _with([word]) if word in COMMANDS else _with(()) if sys.argv[1:] == ["--version"] else _app()
        command(prog_name="beatwire")
    except UserError as error:
        _print_error(error, "red")
        sys.exit(2)
    except FatalError as error:
        _print_error(error, "bold red")
        if isinstance(error, LostCardError):
            sys.stdout.flush()
            os._exit(1)  # after a GPU has failed, the exit handlers of its libraries print errors or hang
        sys.exit(1)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            _print_error(FatalError(f"standard output: expected room for the result; got: {reason(error)}"), "bold red")
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left of it is not tried again
            sys.exit(1)
        if isinstance(error, OSError) and error.errno in _NO_PATH:
            shown = str(error.filename)[:_SHOWN]
            _print_error(UserError(f"{shown}: expected a path that can be looked for; got: {reason(error)}"), "red")
            sys.exit(2)
        if not _is_of_kafka(error):
            raise
        from beatwire.kafka.topics import error_text

        _print_error(FatalError(f"kafka: expected the brokers to go on; got {error_text(error)}"), "bold red")
        sys.exit(1)


def _is_of_kafka(error: Exception) -> bool:
    """Return True for an error of the client that nothing has handled, as one that ends it."""
    client = sys.modules.get("confluent_kafka")
    return client is not None and isinstance(error, client.KafkaException)


def _print_error(error: Exception, style: str) -> None:
    if writes_json():
        log_event("error", str(error), level=logging.ERROR)
        return
    print_message(f"beatwire: {error}", style)
