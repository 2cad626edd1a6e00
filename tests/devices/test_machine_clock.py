"""The clock of the machine that a feed runs on is set: times follow it, places do not."""

import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import pytest
from beatwire.wire import decode_chunk
from beatwire_producers.devices import packets
from beatwire_producers.devices.chunks import CHUNK_S, Message
from beatwire_producers.devices.packets import Description, Packet, arrival_s
from beatwire_producers.devices.reading import Reading
from hypothesis import given, settings
from hypothesis import strategies as st

YEARS_S = 56 * 365.25 * 86400.0
PACKET_S, HZ = 0.1, 250


class Machine:
    """Clocks of a machine: one only rises, the other one is set."""

    def __init__(self) -> None:
        self.now_s = self.set_s = 0.0

    def __enter__(self) -> Self:
        self._patch = pytest.MonkeyPatch()
        clocks = SimpleNamespace(monotonic=lambda: self.now_s, time=lambda: packets._BEGAN_S + self.now_s + self.set_s)
        self._patch.setattr(packets, "time", clocks)
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.undo()


class Device:
    """A reader of packets of 0.1 s, on whose machine the clock is set before some of them."""

    def __init__(self, machine: Machine, kind: str, steps: dict[int, float], n: int) -> None:
        self.machine, self.kind, self.steps, self.n = machine, kind, steps, n

    def describe(self) -> Description:
        return Description("bed-1", ("II",), HZ, 1.0)

    def packets(self) -> Iterator[Packet]:
        size = round(PACKET_S * HZ)
        for k in range(self.n):
            self.machine.now_s += PACKET_S
            self.machine.set_s += self.steps.get(k, 0.0)
            values = (np.arange(size * k, size * (k + 1)) % 30_000).astype(np.int16)
            stated: dict[str, Any] = {"count": size * k} if self.kind == "counts" else {}
            if self.kind == "times":
                stated = {"time_s": 7.0 + PACKET_S * k}
            yield Packet(values[None], arrival_s(), **stated)

    def close(self) -> None:
        """Nothing is open."""


def sent(kind: str, steps: dict[int, float], n: int) -> tuple[list[Any], list[str]]:
    """Return the chunks that are sent, in order, and what is said."""
    messages: list[Message] = []
    said: list[str] = []
    with Machine() as machine:
        reading = Reading(
            "x", Device(machine, kind, steps, n), messages.extend, {}, say=said.append, keep=None, chunk_s=CHUNK_S,
            pauses_s=(1.0, 1.0),
        )  # fmt: skip
        reading.run(threading.Event())
        assert reading.failure is None
        reading.flush()
    return [decode_chunk(message.value) for message in messages], said


@settings(max_examples=15, deadline=None)
@given(
    kind=st.sampled_from(["counts", "times", "neither"]),
    at=st.integers(5, 60),
    step_s=st.sampled_from([YEARS_S, -YEARS_S]) | st.floats(-9000, 9000).filter(lambda s: abs(s) > 0.2),
    again_s=st.just(0.0) | st.floats(0.2, 100.0),
)
def test_times_follow_a_clock_of_this_machine_that_is_set_and_places_do_not(
    kind: str, at: int, step_s: float, again_s: float
) -> None:
    chunks, said = sent(kind, {at: step_s, at + 30: again_s}, at + 60)
    assert len({c["session"] for c in chunks}) == 1
    ends = [c["first"] + len(c["samples"]) // 2 for c in chunks]
    assert [c["first"] for c in chunks[1:]] == ends[:-1], "no hole"
    zero_s = [c["time"].timestamp() - c["first"] / HZ for c in chunks]
    moved_s = np.array(zero_s) - zero_s[0]
    where = np.array([c["first"] for c in chunks]) / HZ / PACKET_S
    slack_s = 0.15 if kind == "neither" else 0.02
    for begin, stop, by_s in ((0, at - 2, 0.0), (at + 2, at + 28, step_s), (at + 32, at + 60, step_s + again_s)):
        inside = (where >= begin) & (where < stop)
        assert np.abs(moved_s[inside] - by_s).max(initial=0.0) < slack_s
    assert sum("times follow it" in line for line in said) == 1 + (again_s != 0.0)


def test_a_clock_that_runs_a_little_unevenly_is_not_one_that_was_set() -> None:
    _, said = sent("counts", dict.fromkeys(range(90), 0.001), 60)
    assert not [line for line in said if "times follow it" in line]
