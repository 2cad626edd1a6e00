"""The writers' schemas of framed messages: looked up in a Schema Registry, once an id, by a thread of their own.

In: schema ids. Out: `WriterSchemas.known`, id -> text; an empty text where the registry has none. State: the answers so
far. Only the thread waits for the registry. While it is away the wanted ids stay wanted, it is asked again every
second, and that is reported.

An id belongs to one schema for ever, so an answer is kept. That there is no such schema may change: it is asked again
after `ABSENT_S` seconds, when a message names the id again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Self

from beatwire.kafka.registry import Registry, RegistryAwayError

ABSENT_S = 30.0
_RETRY_S = 1.0
_CLOSE_S = 6.0  # longer than a request takes
_REPORT_S = 30.0  # between two reports of one outage


class WriterSchemas:
    """The answers of a registry.

    Parameters
    ----------
    registry
        Where ids are looked up.
    known
        Answers from before.
    report
        Receives a sentence when the registry does not answer, every half minute of an outage, and at its end.

    Attributes
    ----------
    known : mapping of int to str
        Answers so far; replaced by a new mapping with each answer, never changed.
    """

    def __init__(self, registry: Registry, known: Mapping[int, str], report: Callable[[str], object]) -> None:
        self._registry, self._report = registry, report
        self.known: Mapping[int, str] = dict(known)
        self._changed = threading.Condition()
        self._wanted: set[int] = set()
        self._absent_s: dict[int, float] = {}  # when the registry had no schema of an id
        self._closed = False
        self._reported_s: float | None = None  # None: the registry answers
        self._thread = threading.Thread(target=self._run, name="schema-registry", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(_CLOSE_S)

    def missing(self, ids: Iterable[int]) -> set[int]:
        """Return the ids without an answer, which are looked up from now on; does not wait."""
        ids = set(ids)
        missing = ids - self.known.keys()
        stale = {k for k in ids & self._absent_s.keys() if time.monotonic() - self._absent_s[k] > ABSENT_S}
        if missing or stale:
            with self._changed:
                self._wanted |= missing | stale
                self._changed.notify_all()
        return missing

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._wanted or self._closed)
                if self._closed:
                    return
                wanted = sorted(self._wanted)
            try:
                for schema_id in wanted:
                    self._answer(schema_id, self._registry.text(schema_id))
            except RegistryAwayError as error:
                self._report_outage(str(error), len(self._wanted))
                with self._changed:
                    self._changed.wait_for(lambda: self._closed, _RETRY_S)

    def _answer(self, schema_id: int, text: str) -> None:
        if self._reported_s is not None:
            self._reported_s = None
            self._report(f"the schema registry at {self._registry.url} answers again")
        with self._changed:
            self._wanted.discard(schema_id)
            self._absent_s.pop(schema_id, None)
            if not text:
                self._absent_s[schema_id] = time.monotonic()
            self.known = {**self.known, schema_id: text}

    def _report_outage(self, error: str, wanted: int) -> None:
        now_s = time.monotonic()
        if self._reported_s is None or now_s - self._reported_s > _REPORT_S:
            self._reported_s = now_s
            self._report(
                f"registry: expected an answer of {self._registry.url} about {wanted} schema ids; got {error}; "
                "partitions with messages of these ids wait"
            )
