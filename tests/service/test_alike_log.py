"""Streams whose ids look alike are named in the log."""

import unicodedata
from types import SimpleNamespace
from typing import Any

import pytest
from beatwire.service.observing import alike_log
from beatwire.service.observing.alike_log import AlikeLog
from beatwire.service.observing.pace import EVERY_S
from hypothesis import given
from hypothesis import strategies as st

UNSEEN = ("\u200b", "\u200d", "\ufeff", "\u00ad", "\u2060")


class Log:
    """An `AlikeLog` of a directory made by the test, and what it has logged."""

    def __init__(self) -> None:
        self.directory: Any = SimpleNamespace(names=[], claimed=[])
        self.now_s, self.said = 0.0, list[str]()
        self.log = AlikeLog(lambda: self.directory, lambda: self.now_s)

    def claim(self, *names: str) -> None:
        first = len(self.directory.names)
        self.directory.names += names
        self.directory.claimed = list(range(first, len(self.directory.names)))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(alike_log, "log_event", lambda _event, text, **_: self.said.append(text))
            self.log.note(None)


def changed(name: str, how: str, at: int) -> str:
    return {
        "case": name.swapcase(), "before": " " + name, "behind": name + "\u00a0",
        "NFD": unicodedata.normalize("NFD", name),
        "unseen": name[: at % len(name)] + UNSEEN[at % len(UNSEEN)] + name[at % len(name) :],
        "wide": name.replace("1", "\uff11"),
    }[how]  # fmt: skip


@given(
    name=st.sampled_from(["bed-1", "Zürich 1", "ICU 3/1", "Ä1"]),
    how=st.sampled_from(["case", "before", "behind", "NFD", "unseen", "wide"]), at=st.integers(0, 9),
    turned=st.booleans(),
)  # fmt: skip
def test_ids_that_look_alike_are_logged_once_and_shown_with_what_is_not_seen(
    name: str, how: str, at: int, turned: bool
) -> None:
    pair = [name, changed(name, how, at)]
    log = Log()
    for one in pair[:: -1 if turned else 1]:
        log.claim(one)
    assert len(log.said) == (pair[0] != pair[1])
    assert all(ascii(one) in line for line in log.said for one in pair)


@given(st.sets(st.from_regex(r"\A[a-z]{1,3}-[0-9]{1,2}\Z"), max_size=20))
def test_other_ids_are_not_and_neither_is_a_stream_that_comes_back(ids: set[str]) -> None:
    log = Log()
    log.claim(*sorted(ids))
    log.directory.claimed = list(range(len(ids)))  # evicted, and seen again
    log.log.note(None)
    log.directory = SimpleNamespace(names=[], claimed=[])  # after a hand-over
    log.claim(*sorted(ids))
    assert not log.said


def test_many_that_look_alike_are_one_line_a_minute() -> None:
    log = Log()
    log.claim(*(f"bed-{k}" for k in range(50)), *(f"BED-{k}" for k in range(25)))
    assert len(log.said) == 1
    log.now_s += EVERY_S
    log.claim(*(f"BED-{k}" for k in range(25, 50)))
    assert len(log.said) == 2
