"""Health of a monitor: whether its loop turns, where it stands if it does not, and whether it covers its streams.

In: what the loop writes each turn (`LoopState`). Out: a `Verdict`, computed by another thread. A process that is still
compiling has not turned yet: it is healthy and not ready.
"""

import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, NamedTuple

HANG_S = 5.0  # a loop that has not turned for so long is unhealthy: a turn takes 0.1 s without messages
_FRAMES = 5  # innermost frames that are named


class Verdict(NamedTuple):
    """An answer to a probe: whether it is positive, and its JSON body."""

    ok: bool
    body: dict[str, Any]


@dataclass(slots=True)
class LoopState:
    """What the loop writes each turn.

    turned_s    time of the last turn, of the loop's monotonic clock; None before the first
    thread      identifier of the loop's thread
    partitions  assigned to this worker; 0 while the assignment changes
    held        partitions that wait for the schema registry
    interrupted the replay after a change of the assignment has not ended: nothing is published
    interrupted_s  seconds in which that was so
    ended       the loop has ended
    """

    turned_s: float | None = None
    thread: int = 0
    partitions: int = 0
    held: int = 0
    interrupted: bool = False
    interrupted_s: float = 0.0
    ended: bool = False

    def turn(self, now_s: float, partitions: int, *, interrupted: bool, held: int = 0) -> None:
        """Note that the loop turns."""
        if self.turned_s is None:
            self.thread = threading.get_ident()
        elif self.interrupted:
            self.interrupted_s += now_s - self.turned_s
        self.partitions, self.held, self.interrupted, self.turned_s = partitions, held, interrupted, now_s

    def stands_s(self, now_s: float) -> float:
        """Return for how long the loop has not turned; 0 before its first turn and after its end."""
        return 0.0 if self.turned_s is None or self.ended else max(0.0, now_s - self.turned_s)


class Health:
    """Answers probes about one loop.

    Parameters
    ----------
    loop
        What the loop writes.
    clock_s
        The clock of the loop.
    """

    def __init__(self, loop: LoopState, clock_s: Callable[[], float] = time.monotonic) -> None:
        self.loop, self._clock_s = loop, clock_s

    def healthy(self) -> Verdict:
        """Return whether the loop turns; if not, for how long it has not and where its thread stands."""
        stands_s = self.loop.stands_s(self._clock_s())
        if stands_s < HANG_S:
            return Verdict(True, {"status": "healthy"})
        reason = f"the loop has not turned for {stands_s:.1f} s: {where(self.loop.thread)}"
        return Verdict(False, {"status": "unhealthy", "reason": reason})

    def ready(self) -> Verdict:
        """Return whether the monitor covers its streams: assigned, not interrupted, nothing held; if not, why."""
        reason = self._why_not_ready()
        if reason is not None:
            return Verdict(False, {"status": "not ready", "reason": reason})
        return Verdict(True, {"status": "ready", "partitions": self.loop.partitions})

    def _why_not_ready(self) -> str | None:
        loop = self.loop
        if loop.ended:
            return "stopping"
        if loop.turned_s is None:
            return "starting: kernels are being compiled, or the broker has not answered yet"
        if not self.healthy().ok:
            return str(self.healthy().body["reason"])
        if not loop.partitions:
            return "no partition is assigned"
        if loop.interrupted:
            return "interrupted: the replay after a change of the assignment has not ended"
        return f"{loop.held} partitions wait for an answer of the schema registry" if loop.held else None


def where(thread: int) -> str:
    """Return where a thread stands, innermost frame first: ``file:line function < file:line function``."""
    frame = sys._current_frames().get(thread)  # noqa: SLF001  the documented way to another thread's stack
    if frame is None:
        return "its thread has ended"
    innermost = reversed(traceback.extract_stack(frame)[-_FRAMES:])
    return " < ".join(f"{'/'.join(PurePath(f.filename).parts[-2:])}:{f.lineno} {f.name}" for f in innermost)
