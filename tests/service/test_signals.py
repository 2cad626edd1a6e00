"""SIGINT and SIGTERM at any time: the command ends, without a traceback."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from beatwire import signals
from beatwire.signals import deferred, end_on_signals, stop_on_signals, stop_with_parent
from moments import LIMIT_S

_SLOW = """
import sys, time, types
class Slow(types.ModuleType):
    def __getattr__(self, name):
        try:
            print("ready", flush=True)
            {work}
        finally:
            print("cleaned up", flush=True)
sys.modules["beatwire.cli.main"] = Slow("main")
from beatwire.__main__ import run
run()
"""


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    signals._ASKED.clear()
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_command_that_is_ended_while_it_begins_cleans_up_and_prints_no_traceback(number: int, code: int) -> None:
    command = [sys.executable, "-c", _SLOW.format(work="time.sleep(60)")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, out, err) == (code, "cleaned up\n", "")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_sets_the_event_of_what_runs_until_it_is_stopped(number: int, code: int) -> None:
    end_on_signals()
    with stop_on_signals() as stop:
        assert not stop.code
        os.kill(os.getpid(), number)
        assert stop.wait(LIMIT_S)
        assert stop.code == code


def test_a_worker_whose_input_has_ended_does_what_sigterm_does(monkeypatch: pytest.MonkeyPatch) -> None:
    end_on_signals()
    monkeypatch.setattr(os, "read", lambda *_: b"")
    with pytest.raises(SystemExit, match="143"):
        stop_with_parent() or time.sleep(60)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_what_a_library_raises_after_it_has_dropped_a_signal_is_the_end_that_was_asked_for(
    number: int, code: int
) -> None:
    work = f"""
            try:
                import os
                os.kill(os.getpid(), {int(number)})
                time.sleep(60)
            except BaseException:
                raise RuntimeError("no compiled object yet") from None"""
    command = [sys.executable, "-c", _SLOW.format(work=work)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (code, "")


def test_a_signal_that_is_deferred_is_handled_after_the_block() -> None:
    end_on_signals()
    inside = []

    @deferred()
    def work() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        inside.append(1)

    with pytest.raises(SystemExit):
        work()
    assert inside == [1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_a_library_has_dropped_stops_the_loop_that_begins_after_it(number: int) -> None:
    end_on_signals()
    try:
        os.kill(os.getpid(), number)
        time.sleep(60)
    except (KeyboardInterrupt, SystemExit):  # as a callback from C does
        pass
    with stop_on_signals() as stop:
        assert stop.is_set()


def test_a_signal_that_is_ignored_stays_so() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_on_signals()
    os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN


@pytest.mark.parametrize("ignored", [signal.SIGINT, signal.SIGTERM])
def test_a_loop_that_runs_until_it_is_stopped_is_not_stopped_by_a_signal_that_is_ignored(ignored: int) -> None:
    """So it is with SIGINT of what a shell runs in the background, or nohup."""
    other = signal.SIGTERM if ignored == signal.SIGINT else signal.SIGINT
    signal.signal(ignored, signal.SIG_IGN)
    with stop_on_signals() as stop:
        os.kill(os.getpid(), ignored)
        assert not stop.wait(0.05)
        os.kill(os.getpid(), other)
        assert stop.wait(LIMIT_S)
    assert signal.getsignal(ignored) == signal.SIG_IGN


@pytest.mark.parametrize("order", [(signal.SIGINT, signal.SIGTERM), (signal.SIGTERM, signal.SIGINT, signal.SIGINT)])
def test_each_of_several_signals_that_are_deferred_is_handled_in_order_also_if_one_raises(
    order: tuple[int, ...],
) -> None:
    handled = []

    def handle(number: int, _frame: object) -> None:
        handled.append(number)
        if number == order[0]:
            raise KeyboardInterrupt

    for number in set(order):
        signal.signal(number, handle)

    @deferred()
    def work() -> None:
        for number in order:
            os.kill(os.getpid(), number)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert handled == list(order)
