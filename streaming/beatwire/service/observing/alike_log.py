"""What is logged of streams whose ids look alike: they may be one bed, whose chunks come under two names.

In: every tick. Out: an event ``alike``, once a minute at most. State: the hashes of the ids as people read them.
"""

import logging
import time
import unicodedata
from collections.abc import Callable
from typing import Any

from beatwire.service.observing.logs import log_event
from beatwire.service.observing.pace import Pace
from beatwire.stages.support.streams.directory import Directory


def as_read(stream: str) -> str:
    """Return a stream id as people read it: without what they do not see, and in small letters.

    >>> as_read(" Bed\u00a0 7\u200b") == as_read("bed 7")
    True
    """
    seen = "".join(sign for sign in unicodedata.normalize("NFKC", stream) if unicodedata.category(sign) != "Cf")
    return " ".join(seen.casefold().split())


class AlikeLog:
    """Logs the streams of a directory whose ids people cannot tell apart.

    Parameters
    ----------
    directory
        Returns the present one.
    clock_s
        Returns seconds, never decreasing.
    """

    def __init__(self, directory: Callable[[], Directory], clock_s: Callable[[], float] = time.monotonic) -> None:
        self._directory, self._pace = directory, Pace(clock_s)
        self._known: Directory | None = None  # whose ids the hashes are of
        self._hashes: set[int] = set()

    def note(self, _aligned: Any) -> None:
        """Take the end of a tick."""
        directory = self._directory()
        if directory is not self._known:
            self._known, self._hashes = directory, set()
        for slot in directory.claimed:
            stream = directory.names[slot]
            read = as_read(stream)
            if hash(read) in self._hashes and self._pace.is_due:
                self._compare(stream, read, directory.names)
            self._hashes.add(hash(read))

    def _compare(self, stream: str, read: str, names: list[str]) -> None:
        other = next((name for name in names if name != stream and as_read(name) == read), None)
        if other is None:  # it has come back
            return
        self._pace.note()
        log_event(
            "alike",
            f"expected ids of streams that people can tell apart; got {stream!a} beside {other!a}: "
            "they are two beds",
            level=logging.WARNING, stream=stream, other=other,
        )  # fmt: skip
