"""Freed memory is returned to the system after large ticks, and not after others."""

import subprocess
import sys

import pytest
from beatwire.service import process_tuning
from beatwire.service.process_tuning import MemoryReturn, keep_freed_memory

LARGE = 20_000

# A large block with small ones behind each page of it, as messages are: freed, it stays resident until it is returned.
HOLES = """
import ctypes
from beatwire.bench.hours import resident_mb
from beatwire.service.process_tuning import MemoryReturn, keep_freed_memory
import os
assert keep_freed_memory()
blocks = [bytes(30_000) for _ in range(10_000)]
kept = blocks[::100]
del blocks
before = resident_mb(os.getpid())
memory = MemoryReturn()
memory.after_tick(20_000)
memory.after_tick(0)
print(before - resident_mb(os.getpid()))
"""


def returned_after(ticks: list[int]) -> list[int]:
    """Return the numbers of the ticks of so many messages after which memory is returned."""
    calls: list[None] = []
    memory, returned = MemoryReturn(lambda: calls.append(None)), []
    for number, messages in enumerate(ticks):
        before = len(calls)
        memory.after_tick(messages)
        returned += [number] * (len(calls) - before)
    return returned


def test_memory_is_returned_when_a_row_of_large_ticks_has_ended() -> None:
    assert returned_after([0, 1000, LARGE, 0, 0, LARGE + 1, 1000, 1000]) == [3, 6]


def test_memory_is_returned_within_a_long_row_of_large_ticks() -> None:
    assert returned_after([LARGE] * 35) == [15, 31]


@pytest.mark.skipif(sys.platform != "linux", reason="memory of a process is read from /proc, and returned by glibc")
def test_what_is_free_between_blocks_in_use_is_no_longer_resident() -> None:
    done = subprocess.run([sys.executable, "-c", HOLES], capture_output=True, text=True, check=True)
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
    assert accepted == {-1: 1 << 30, -3: 32 << 20}
