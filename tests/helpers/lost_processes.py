"""A run of tests by several processes (pytest-xdist) ends with an error where one of them is lost or does not end.

State: what is known of each process that has ended early. With ``--max-worker-restart=0`` a lost process ends the run;
where xdist starts another in its place it may wait for ever (3.8).
"""

import contextlib
import faulthandler
import os
import re
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

# Of a run; the suite takes 13 minutes on two processors.
LONGEST_S = float(os.environ.get("LONGEST_TESTS_S", "2400"))
_REPORTING_S = 60.0  # for the report of a run that is ended

_LOST: dict[str, str] = {}  # by name


def pytest_sessionstart(session: pytest.Session) -> None:
    """Write the stacks of a process that crashes to a file: what it prints is lost among the dots. Limit the run."""
    if given := getattr(session.config, "workerinput", None):
        stacks = Path(session.config.option.basetemp).with_name(f"stacks-{given['workerid']}")
        faulthandler.enable(stacks.open("w"))
    elif session.config.pluginmanager.has_plugin("dsession"):
        timer = threading.Timer(LONGEST_S, _end, [session])
        timer.daemon = True
        timer.start()


def _end(session: pytest.Session) -> None:
    """End what has not ended in time: the processes, which write their stacks; then the run, if it does not report."""
    report = session.config.pluginmanager.get_plugin("terminalreporter")
    report.write_line(f"expected the tests to end in {LONGEST_S:g} s (LONGEST_TESTS_S); they are ended")
    for node in list(session.config.pluginmanager.get_plugin("dsession")._active_nodes):
        node.gateway._io.popen.send_signal(signal.SIGABRT)
    time.sleep(_REPORTING_S)
    os._exit(1)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Keep why a process has ended early."""
    if error:
        with contextlib.suppress(subprocess.TimeoutExpired):  # it has closed its pipes alone
            node.gateway._io.popen.wait(10.0)
        _note(node)


def _note(node: Any) -> None:
    """Keep why a process has ended: a negative exit code is a signal, -9 often a lack of memory."""
    stacks = node.config._tmp_path_factory.getbasetemp() / f"stacks-{node.gateway.id}"
    lines = stacks.read_text().splitlines() if stacks.exists() else []
    own = [line for line in lines if not re.search(r"/(_pytest|pluggy|xdist|execnet)/", line)]
    code = node.gateway._io.popen.returncode
    _LOST[node.gateway.id] = "\n".join([f"{node.gateway.id} ended with exit code {code}", *own])


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail the run if a process ended early: before its first test xdist would report success.

    Where xdist itself fails, by sending something to a process that is lost, it has not been found yet.
    """
    if exitstatus == pytest.ExitCode.INTERNAL_ERROR and (xdist := session.config.pluginmanager.get_plugin("dsession")):
        for node in xdist._active_nodes:
            if node.gateway._io.popen.poll() is not None:
                _note(node)
    if _LOST:
        session.exitstatus = pytest.ExitCode.INTERNAL_ERROR


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print why processes have ended early."""
    for text in _LOST.values():
        terminalreporter.write_line(text)
