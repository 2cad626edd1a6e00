"""Time in tests: limits that matter only when something fails, a clock that a test owns, what a thread took itself.

A test waits for a condition. A duration is asserted only where it is what is tested, and then without the time in which
the machine let others run.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

LIMIT_S = 120.0  # of any wait; a busy machine takes a tenth of it


def wait_until(done: Callable[[], object], within_s: float = LIMIT_S, said: Callable[[], object] = lambda: "") -> None:
    """Wait until a condition is true; fail with what is ``said`` when it is not after ``within_s``."""
    ends_s = time.monotonic() + within_s
    while not done():
        assert time.monotonic() < ends_s, f"not within {within_s:g} s {said()}".strip()
        time.sleep(0.01)


@dataclass
class Clock:
    """Stands for the module ``time``, or for a function that returns the time.

    now_s   the time
    tick_s  what each reading adds
    """

    now_s: float = 100.0
    tick_s: float = 0.0

    def __call__(self) -> float:
        self.now_s += self.tick_s
        return self.now_s

    monotonic = __call__

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


def own_s() -> float:
    """Return a clock that stands while this thread could run and the machine ran others."""
    try:
        waited_ns = int(Path("/proc/thread-self/schedstat").read_text().split()[1])
    except (OSError, IndexError):
        waited_ns = 0
    return time.monotonic() - waited_ns / 1e9
