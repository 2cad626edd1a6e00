"""Freed memory is returned to the system after a backlog, and not after live ticks."""

import subprocess
import sys

import pytest
from beatwire.service import process_tuning
from beatwire.service.process_tuning import MemoryReturn, keep_freed_memory

LARGE = 20_000

# Small blocks as of messages, of which few are kept: freed, the others stay resident until they are returned.
HOLES = """
import os, threading
from beatwire.bench.hours import resident_mb
from beatwire.service.process_tuning import MemoryReturn, keep_freed_memory
assert keep_freed_memory()
kept = []
def work():
    blocks = [bytes(30_000) for _ in range(10_000)]
    kept.extend(blocks[::{every}])
{run}
before = resident_mb(os.getpid())
now_s = [0.0]
memory = MemoryReturn(clock_s=lambda: now_s[0])
now_s[0] = 60.0
memory.after_tick(20_000, caught_up=True)
print(before - resident_mb(os.getpid()))
"""
IN_A_THREAD = "thread = threading.Thread(target=work)\nthread.start()\nthread.join()"


def returned_after(ticks: list[tuple[int, bool]]) -> list[int]:
    """Return the seconds after which memory is returned; a tick a second has messages, and others wait or not."""
    calls: list[None] = []
    now_s = [0.0]
    memory, returned = MemoryReturn(lambda: calls.append(None), lambda: now_s[0]), []
    for number, (messages, caught_up) in enumerate(ticks, 1):
        before, now_s[0] = len(calls), float(number)
        memory.after_tick(messages, caught_up=caught_up)
        returned += [number] * (len(calls) - before)
    return returned


LIVE, BEHIND = (1000, True), (3000, False)


def test_memory_is_returned_after_a_backlog_whatever_the_size_of_its_ticks() -> None:
    assert returned_after([*[LIVE] * 20, *[BEHIND] * 50, *[LIVE] * 40]) == [71]
    assert returned_after([*[BEHIND] * 6, *[LIVE] * 40]) == [10], "soon after the start, or the last time"
    assert returned_after([(LARGE, True), *[LIVE] * 40]) == [10]


def test_memory_is_not_returned_after_live_ticks_nor_after_a_few_that_are_behind() -> None:
    assert returned_after([*[LIVE] * 100, *[BEHIND] * 5, *[LIVE] * 100]) == []


def test_memory_is_returned_within_a_long_backlog() -> None:
    assert returned_after([(LARGE, False)] * 90) == [40, 80]


@pytest.mark.skipif(sys.platform != "linux", reason="memory of a process is read from /proc, and returned by glibc")
@pytest.mark.parametrize("every", [100, 10_000], ids=["between blocks in use", "behind them"])
@pytest.mark.parametrize("run", ["work()", IN_A_THREAD], ids=["main thread", "another"])
def test_what_is_free_is_no_longer_resident(run: str, every: int) -> None:
    text = HOLES.format(run=run, every=every)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert float(done.stdout) > 200


@pytest.mark.skipif(sys.platform != "linux", reason="glibc is Linux's")
def test_older_versions_of_glibc_keep_blocks_up_to_the_size_that_they_accept(monkeypatch: pytest.MonkeyPatch) -> None:
    accepted: dict[int, int] = {}

    class Older:
        @staticmethod
        def mallopt(parameter: int, value: int) -> int:
            is_accepted = parameter != -3 or value <= 32 << 20
            if is_accepted:
                accepted[parameter] = value
            return int(is_accepted)

    monkeypatch.setattr(process_tuning.ctypes, "CDLL", lambda _: Older)
    assert keep_freed_memory()
    assert accepted == {-1: 1 << 30, -3: 32 << 20, -8: 1}
