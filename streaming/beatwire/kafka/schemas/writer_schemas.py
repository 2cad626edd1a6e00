"""The writers' schemas of framed messages: looked up in a Schema Registry by threads of their own, within a budget.

In: schema ids. Out: `WriterSchemas.known`, id -> text or `Refusal`. State: the answers, the ids that are wanted, those
that were passed over. Only the threads wait for the registry.

A message of a new id waits for the answer, and its partition with it: milliseconds, once an id. Bytes that are no
framing look like ids that no registry has, and must not delay the partition's other streams:

- ``BUDGET`` new ids in ``WINDOW_S`` seconds are waited for. Further ones are passed over: their messages are rejected.
  Those that come again are looked up all the same, with a budget of their own, and are read once the answer is there.
- An id is waited for during ``HOLD_S`` at most, and no id while the registry has been away for so long.
- No registry has an id above ``MOST_ID``.

An id belongs to one schema for ever, so an answer is kept: ``MOST_SCHEMAS`` schemas, ``MOST_REFUSALS`` refusals. A
refusal may change: the id is looked up again after ``ABSENT_S``, when a message names it again.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Self

from beatwire.kafka.schemas.registry import Registry, RegistryAwayError
from beatwire.wire.writers import Refusal

ABSENT_S = 30.0
HOLD_S = 30.0
BUDGET, WINDOW_S = 20, 5.0
MOST_ID = 2**31 - 1  # registries count in signed integers of 32 bits
MOST_SCHEMAS, MOST_REFUSALS = 1_000, 10_000
_MOST_WANTED = 1_000
_THREADS = 4
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
        Answers so far, text or `Refusal`; the threads add to it, and drop the oldest.
    """

    def __init__(self, registry: Registry, known: Mapping[int, str], report: Callable[[str], object]) -> None:
        self._registry, self._report = registry, report
        self.known: dict[int, str] = dict(known)
        self._found_s: dict[int, float] = dict.fromkeys(known, 0.0)  # when it had a text
        self._refused_s: dict[int, float] = {}  # when the registry refused an id
        self._changed = threading.Condition()
        self._wanted: dict[int, float] = {}  # id -> until when messages wait for it
        self._asked: set[int] = set()  # by a thread at the moment
        self._passed: dict[int, None] = {}
        self._budget, self._second_budget = _Budget(), _Budget()
        self._away_s: float | None = None  # since when the registry does not answer
        self._closed = False
        self._reported_s, self._is_reported = float("-inf"), False
        self._threads = [
            threading.Thread(target=self._run, name=f"schema-registry-{k}", daemon=True) for k in range(_THREADS)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        until_s = time.monotonic() + _CLOSE_S
        for thread in self._threads:
            thread.join(max(0.0, until_s - time.monotonic()))

    def missing(self, ids: Iterable[int]) -> set[int]:
        """Return the ids whose messages have to wait; they are looked up from now on. Does not wait itself."""
        now_s, waits = time.monotonic(), set()
        with self._changed:
            for k in ids:
                if k in self.known:
                    if now_s - self._refused_s.get(k, now_s) > ABSENT_S and self._second_budget.take(now_s):
                        self._want(k, now_s)
                elif k <= MOST_ID and self._waits_for(k, now_s):
                    waits.add(k)
        return waits

    def waiting(self, ids: Iterable[int]) -> set[int]:
        """Return those of the ids whose messages have to wait still."""
        now_s = time.monotonic()
        with self._changed:
            return {k for k in ids if k not in self.known and now_s < self._wanted.get(k, now_s)}

    def _waits_for(self, k: int, now_s: float) -> bool:
        if k in self._wanted:
            if now_s < self._wanted[k]:
                return True
            self._pass_over(k)
        elif k in self._passed:
            if self._second_budget.take(now_s):
                self._want(k, now_s)
        elif self._away_s is not None and now_s - self._away_s > HOLD_S:
            self._pass_over(k)
        elif self._budget.take(now_s):
            self._want(k, now_s + HOLD_S)
            return k in self._wanted
        else:
            self._pass_over(k)
        return False

    def _want(self, k: int, until_s: float) -> None:
        if k not in self._wanted and len(self._wanted) < _MOST_WANTED:
            self._wanted[k] = until_s
            self._changed.notify()

    def _pass_over(self, k: int) -> None:
        self._passed[k] = None
        if len(self._passed) > MOST_REFUSALS:
            del self._passed[next(iter(self._passed))]

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._wanted.keys() - self._asked)
                if self._closed:
                    return
                k = next(k for k in self._wanted if k not in self._asked)
                self._asked.add(k)
            try:
                text = self._registry.text(k)
            except RegistryAwayError as error:
                self._note_away(k, str(error))
                with self._changed:
                    self._changed.wait_for(lambda: self._closed, _RETRY_S)
                    self._asked.discard(k)
            else:
                self._note_answer(k, text)

    def _note_answer(self, k: int, text: str) -> None:
        with self._changed:
            self._asked.discard(k)
            self._wanted.pop(k, None)
            self._passed.pop(k, None)
            self._away_s = None
            for kept in (self._found_s, self._refused_s):
                kept.pop(k, None)
            kept, most = (self._found_s, MOST_SCHEMAS)
            if isinstance(text, Refusal):
                kept, most = self._refused_s, MOST_REFUSALS
            self.known[k], kept[k] = text, time.monotonic()
            if len(kept) > most:
                oldest = next(iter(kept))
                del kept[oldest], self.known[oldest]
            was_reported, self._is_reported = self._is_reported, False
        if was_reported:
            self._report(f"the schema registry at {self._registry.url} answers again")

    def _note_away(self, k: int, error: str) -> None:
        now_s = time.monotonic()
        with self._changed:
            self._away_s = now_s if self._away_s is None else self._away_s
            until_s, wanted = self._wanted.pop(k, now_s), len(self._wanted) + 1
            if now_s < until_s:
                self._wanted[k] = until_s  # behind the others
            else:
                self._pass_over(k)  # asked again when a message names it
            due = now_s - self._reported_s > _REPORT_S
            if due:
                self._reported_s, self._is_reported = now_s, True
        if due:
            self._report(
                f"registry: expected an answer of {self._registry.url} about {wanted} schema ids; got {error}; "
                f"messages of these ids wait for {HOLD_S:g} s at most, and their partitions with them"
            )


class _Budget:
    """``BUDGET`` in each window of ``WINDOW_S`` seconds."""

    def __init__(self) -> None:
        self._since_s, self._left = float("-inf"), BUDGET

    def take(self, now_s: float) -> bool:
        """Take one; return False if none is left."""
        if now_s - self._since_s >= WINDOW_S:
            self._since_s, self._left = now_s, BUDGET
        self._left -= 1
        return self._left >= 0
