"""The command line: which commands there are, and how an error becomes an exit code.

Exit codes: 0 success; 1 the program or its environment failed, or the result is negative (``demo`` missed an event,
``evaluate`` could not run a record); 2 the arguments or the input cannot be used; 130 and 143 ended by SIGINT and by
SIGTERM (`beatwire.signals`). An error is one line on standard
error. Each command parses its arguments in a module of its own and imports what it needs when it runs, so that
``--help`` is fast.
"""

from __future__ import annotations

import logging
import os
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from beatwire.cli.archive import EXAMPLES as ARCHIVE_EXAMPLES
from beatwire.cli.archive import archive
from beatwire.cli.config import EXAMPLES as CONFIG_EXAMPLES
from beatwire.cli.config import config
from beatwire.cli.doctor import EXAMPLES as DOCTOR_EXAMPLES
from beatwire.cli.doctor import doctor
from beatwire.cli.measuring import measure
from beatwire.cli.measuring.chaos import EXAMPLES as CHAOS_EXAMPLES
from beatwire.cli.measuring.chaos import chaos
from beatwire.cli.measuring.train import train
from beatwire.cli.recordings.analyze import EXAMPLES as ANALYZE_EXAMPLES
from beatwire.cli.recordings.analyze import analyze
from beatwire.cli.recordings.export import export
from beatwire.cli.recordings.report import EXAMPLES as REPORT_EXAMPLES
from beatwire.cli.recordings.report import report
from beatwire.cli.terminal import print_message
from beatwire.cli.ward import broker, live, staff
from beatwire.cli.ward.alerts import EXAMPLES as ALERTS_EXAMPLES
from beatwire.cli.ward.alerts import alerts
from beatwire.cli.ward.dashboard import EXAMPLES as DASHBOARD_EXAMPLES
from beatwire.cli.ward.dashboard import dashboard
from beatwire.cli.ward.feed import FEED_EXAMPLES, WATCH_EXAMPLES, feed, watch
from beatwire.cli.ward.tail import EXAMPLES as TAIL_EXAMPLES
from beatwire.cli.ward.tail import tail
from beatwire.errors import FatalError, LostCardError, UserError
from beatwire.service.observing.logs import log_event, writes_json

# One thread each for the linear algebra libraries, set before NumPy is imported: the matrices of the network are
# too small to be worth more, and the threads would compete with those of the kernels.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(_variable, "1")

# Titles of the panels that group the commands in the help text.
_START, _LIVE, _RECORDINGS, _DEVELOPMENT = "Start here", "Live monitoring with Kafka", "Recordings", "Development"

app = typer.Typer(
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


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"beatwire {version('beatwire')}")
        raise typer.Exit


@app.callback()
def _beatwire(
    _version: Annotated[
        bool,
        typer.Option("--version", metavar="", is_eager=True, callback=_print_version, help="Show the version."),
    ] = False,
) -> None:
    pass


app.command(rich_help_panel=_START)(broker.demo)
app.command(rich_help_panel=_START, epilog=WATCH_EXAMPLES)(watch)
app.command(rich_help_panel=_START, epilog=DOCTOR_EXAMPLES)(doctor)
app.command(rich_help_panel=_LIVE, epilog=broker.BROKER_EXAMPLES)(broker.broker)
app.command(rich_help_panel=_LIVE, epilog=broker.TOPICS_EXAMPLES)(broker.topics)
app.command(rich_help_panel=_LIVE, epilog=CONFIG_EXAMPLES)(config)
app.command(rich_help_panel=_LIVE, epilog=FEED_EXAMPLES)(feed)
app.command(rich_help_panel=_LIVE, epilog=live.REPLAY_EXAMPLES)(live.replay)
app.command(rich_help_panel=_LIVE, epilog=live.MONITOR_EXAMPLES)(live.monitor)
app.command(rich_help_panel=_LIVE, epilog=TAIL_EXAMPLES)(tail)
app.command(rich_help_panel=_LIVE, epilog=DASHBOARD_EXAMPLES)(dashboard)
app.command(rich_help_panel=_LIVE, epilog=ALERTS_EXAMPLES)(alerts)
app.command(rich_help_panel=_LIVE, epilog=staff.ACK_EXAMPLES)(staff.ack)
app.command(rich_help_panel=_LIVE, cls=staff.LimitsCommand, epilog=staff.LIMITS_EXAMPLES)(staff.limits)
app.command(rich_help_panel=_RECORDINGS, epilog=ANALYZE_EXAMPLES)(analyze)
app.command(rich_help_panel=_RECORDINGS, epilog=ARCHIVE_EXAMPLES)(archive)
app.command(rich_help_panel=_RECORDINGS, epilog=REPORT_EXAMPLES)(report)
app.command(rich_help_panel=_RECORDINGS, epilog=measure.EVALUATE_EXAMPLES)(measure.evaluate)
app.command(rich_help_panel=_DEVELOPMENT)(measure.bench)
app.command(rich_help_panel=_DEVELOPMENT, epilog=CHAOS_EXAMPLES)(chaos)
app.add_typer(export, name="export", rich_help_panel=_RECORDINGS)
app.add_typer(train, name="train", rich_help_panel=_DEVELOPMENT)


def main() -> None:
    """Run the command line; an error becomes one line on standard error and an exit code."""
    try:
        app(prog_name="beatwire")
    except UserError as error:
        _print_error(error, "red")
        sys.exit(2)
    except FatalError as error:
        _print_error(error, "bold red")
        if isinstance(error, LostCardError):
            sys.stdout.flush()
            os._exit(1)  # after a GPU has failed, the exit handlers of its libraries print errors or hang
        sys.exit(1)


def _print_error(error: Exception, style: str) -> None:
    if writes_json():
        log_event("error", str(error), level=logging.ERROR)
        return
    print_message(f"beatwire: {error}", style)
