"""Process tuning: freed memory stays with the process, and Python's cycle collector runs rarely.

glibc returns freed blocks of more than a few hundred kilobytes to the system, and each tick allocates its large arrays
anew: page faults took a fifth of the time of the graph in memory. Python's collector searches for cycles after every
700 new objects, and messages are objects without cycles: it took two thirds of the reading thread's time on a
preloaded topic.

A backlog, as after an outage or when partitions are taken over, comes in ticks of many sizes. Their blocks leave holes
between those that stay, and each backlog takes more memory than the last. So after one, and now and then within it,
what is free is returned after all. That costs page faults: after every second of the largest ticks, a twentieth of all
the time of a preloaded topic.
"""

import ctypes
import gc
import sys
import time
from collections.abc import Callable

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # parameters of glibc's mallopt
_KEEP_BYTES = 1 << 30  # freed memory up to which, and blocks up to which, nothing is returned to the system
_LARGEST_BLOCK = 32 << 20  # that older versions of glibc accept as the latter
LARGE_TICK = 16_384  # messages; live ticks have fewer
# Messages of ticks behind which others waited, or of large ones, after which memory is returned: when none wait any
# more, and in any case.
_BACKLOG, _MOST = 16_384, 786_432
_RETURN_S = 10.0  # between two times that it is
_OBJECTS = 200_000  # new objects between two collections: more than a tick has messages


def spare_collector() -> None:
    """Run the cycle collector rarely, and exclude the objects that exist now."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS, 20, 100)


def keep_freed_memory() -> bool:
    """Let glibc keep freed memory, in one arena for all threads; return False where there is another allocator.

    What is free at the end of another arena is not returned when `MemoryReturn` asks for it.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    mallopt(_ARENA_MAX, 1)
    blocks = mallopt(_MMAP_THRESHOLD, _KEEP_BYTES) or mallopt(_MMAP_THRESHOLD, _LARGEST_BLOCK)
    return bool(mallopt(_TRIM_THRESHOLD, _KEEP_BYTES) and blocks)


class MemoryReturn:
    """Returns freed memory to the system after a backlog, and after large ticks.

    Parameters
    ----------
    trim
        Returns what is free to the system; by default glibc's ``malloc_trim(0)``, where that is the allocator.
    clock_s
        Returns seconds that never decrease.
    """

    def __init__(self, trim: Callable[[], object] | None = None, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._trim, self._clock_s = glibc_trim() if trim is None else trim, clock_s
        self._messages, self._returned_s = 0, clock_s()  # since then

    def after_tick(self, messages: int, *, caught_up: bool) -> None:
        """Return freed memory if it is time; ``caught_up``: no other messages waited behind those of the tick."""
        if messages >= LARGE_TICK or not caught_up:
            self._messages += messages
        if self._trim is None or self._messages < (_BACKLOG if caught_up else _MOST):
            return
        now_s = self._clock_s()
        if now_s - self._returned_s >= _RETURN_S:
            self._trim()
            self._messages, self._returned_s = 0, now_s


def glibc_trim() -> Callable[[], object] | None:
    """Return the function that returns freed memory to the system; None where the allocator is another one."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform.startswith("linux") else None
    return None if trim is None else lambda: trim(0)
