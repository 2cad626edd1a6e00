"""What is logged of streams whose chunks arrive in several partitions: how many, some of their names, once a minute.

In: every tick. Out: an event ``scattered``. State: the names since the last event. Workers then share a stream without
knowing of each other, and a replay, which reads partition by partition, drops most of its chunks.
"""

import logging
import time
from collections.abc import Callable
from typing import Any

from beatwire.service.observing.logs import log_event
from beatwire.service.observing.pace import Pace
from beatwire.stages.support.streams.directory import Directory
from beatwire.wire import names

_MOST_NAMED = 3


class ScatterLog:
    """Logs the streams that a directory finds in several partitions.

    Parameters
    ----------
    directory
        Returns the present one.
    clock_s
        Returns seconds, never decreasing.
    """

    def __init__(self, directory: Callable[[], Directory], clock_s: Callable[[], float] = time.monotonic) -> None:
        self._directory, self._pace = directory, Pace(clock_s)
        self._names: dict[str, None] = {}

    def note(self, _aligned: Any) -> None:
        """Take the end of a tick."""
        self._names |= dict.fromkeys(self._directory().scattered)
        if not self._names or not self._pace.is_due:
            return
        self._pace.note()
        found, self._names = list(self._names), {}
        shown = ", ".join(map(repr, found[:_MOST_NAMED])) + (", ..." if len(found) > _MOST_NAMED else "")
        log_event(
            "scattered",
            f"expected the chunks of a stream in one partition of {names.SAMPLES}; got several of {len(found)} "
            f"{'stream' if len(found) == 1 else 'streams'} ({shown}): workers and replays lose beats of them. Is the "
            "stream id the key of the messages, and have all producers one partitioner?",
            level=logging.WARNING, streams=len(found),
        )  # fmt: skip
