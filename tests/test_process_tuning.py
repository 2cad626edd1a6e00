"""Freed memory is returned to the system after large ticks, and not after others."""

from __future__ import annotations

import subprocess
import sys

import pytest
from beatwire.service.process_tuning import MemoryReturn

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
MemoryReturn().after_tick(20_000)
print(before - resident_mb(os.getpid()))
"""


def test_memory_is_returned_after_large_ticks_only() -> None:
    returned: list[int] = []
    memory = MemoryReturn(lambda: returned.append(messages))
    for messages in (0, 1000, LARGE, 1000, LARGE + 1):
        memory.after_tick(messages)
    assert returned == [LARGE, LARGE + 1]


@pytest.mark.skipif(sys.platform != "linux", reason="memory of a process is read from /proc, and returned by glibc")
def test_what_is_free_between_blocks_in_use_is_no_longer_resident() -> None:
    done = subprocess.run([sys.executable, "-c", HOLES], capture_output=True, text=True, check=True)
    assert float(done.stdout) > 200
