"""Process tuning: freed memory stays with the process, and Python's cycle collector runs rarely.

glibc returns freed blocks of more than a few hundred kilobytes to the system, and each tick allocates its large arrays
anew: page faults took a fifth of the time of the graph in memory. Python's collector searches for cycles after every
700 new objects, and messages are objects without cycles: it took two thirds of the reading thread's time on a
preloaded topic.

Blocks of very large ticks, as after an outage, leave holes between them, and each such tick may take a little more
memory than the last. So when a row of them has ended, or every 16th, what is free is returned after all. It costs page
faults in the next: returned after every second tick, a twentieth of all the time of a preloaded topic.
"""

import ctypes
import gc
import sys
from collections.abc import Callable

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # parameters of glibc's mallopt
_KEEP_BYTES = 1 << 30  # freed memory up to which, and blocks up to which, nothing is returned to the system
_LARGEST_BLOCK = 32 << 20  # that older versions of glibc accept as the latter
LARGE_TICK = 16_384  # messages; live ticks have fewer
_LARGE_IN_A_ROW = 16  # large ticks, after which free memory is returned at the latest
_OBJECTS = 200_000  # new objects between two collections: more than a tick has messages


def spare_collector() -> None:
    """Run the cycle collector rarely, and exclude the objects that exist now."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS, 20, 100)


def keep_freed_memory() -> bool:
    """Let glibc keep freed memory; return False where the allocator is another one."""
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    blocks = mallopt(_MMAP_THRESHOLD, _KEEP_BYTES) or mallopt(_MMAP_THRESHOLD, _LARGEST_BLOCK)
    return bool(mallopt(_TRIM_THRESHOLD, _KEEP_BYTES) and blocks)


class MemoryReturn:
    """Returns freed memory to the system after so many large ticks, and after the last one.

    Parameters
    ----------
    trim
        Returns what is free to the system; by default glibc's ``malloc_trim(0)``, where that is the allocator.
    """

    def __init__(self, trim: Callable[[], object] | None = None) -> None:
        self._trim = glibc_trim() if trim is None else trim
        self._large = 0  # ticks since memory was returned

    def after_tick(self, messages: int) -> None:
        """Return freed memory if a row of large ticks has become long, or has ended."""
        is_large = messages >= LARGE_TICK
        self._large += is_large
        if self._trim is not None and self._large and (not is_large or self._large == _LARGE_IN_A_ROW):
            self._trim()
            self._large = 0


def glibc_trim() -> Callable[[], object] | None:
    """Return the function that returns freed memory to the system; None where the allocator is another one."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform.startswith("linux") else None
    return None if trim is None else lambda: trim(0)
