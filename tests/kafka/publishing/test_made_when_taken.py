"""Keys and values that are made when they are taken: they are those of the list, however they are taken."""

from collections.abc import Sequence

import numpy as np
from beatwire.records.messages import MadeWhenTaken, Slices, Taken
from hypothesis import given
from hypothesis import strategies as st


def slices(messages: Sequence[bytes], width: int) -> Slices:
    buffer = np.frombuffer(b"".join(one.ljust(width, b"?") for one in messages), np.uint8)
    end = np.array([k * width + len(one) for k, one in enumerate(messages)], np.int64)
    return Slices(buffer, end, width)


def check(found: MadeWhenTaken, expected: list[bytes], some: slice) -> None:
    assert len(found) == len(expected)
    assert list(found) == expected
    assert [found[k] for k in range(-len(expected), len(expected))] == expected + expected
    assert found[some] == expected[some]
    assert found == expected
    assert expected == found
    assert found != [*expected, b""]
    assert not expected or found != [*expected[:-1], expected[-1] + b"x"]


@given(st.lists(st.binary(max_size=9), max_size=8), st.integers(9, 12), st.slices(8))
def test_a_part_of_a_buffer_is_the_same_alone_among_some_and_among_all(
    messages: list[bytes], width: int, some: slice
) -> None:  # fmt: skip
    check(slices(messages, width), messages, some)


@given(st.lists(st.binary(max_size=3), min_size=1, max_size=5), st.lists(st.integers(0, 4), max_size=9), st.slices(9))
def test_an_element_is_the_same_alone_among_some_and_among_all(
    names: list[bytes], drawn: list[int], some: slice
) -> None:  # fmt: skip
    at = [k % len(names) for k in drawn]
    objects = np.array([*names, None], np.object_)[:-1]
    check(Taken(objects, np.array(at, np.int64)), [names[k] for k in at], some)


def test_messages_behind_the_first_that_are_made_together_are_those_that_were_written() -> None:
    messages = [b"%d" % k for k in range(2500)]
    assert list(slices(messages, 5)) == messages


def test_messages_are_compared_with_messages_only() -> None:
    assert slices([b"a"], 1) != 3
