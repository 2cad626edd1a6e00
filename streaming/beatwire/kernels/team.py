"""Bodies for a team: the threads that share one work item.

A body is written for ``WIDTH`` threads. Loops over samples go ``range(member(), n, WIDTH)``, what every
thread has found is put together by ``most``, ``fewest`` and ``added``, and what one writes another may
read after ``wait``. Decisions are taken by every member alike; state is changed by ``member() == 0``.

Of an item whose stretches need nothing of each other several teams may take turns: each does every ``parts``-th from
``part`` on.

As Python and on the CPU a team is one thread, and all this is nothing; ``jit.cuda.launchers`` compiles the
same bodies with a ``WIDTH`` of its own and puts the device's instructions in place of these.
"""

from __future__ import annotations

from typing import TypeVar

Number = TypeVar("Number", int, float)
WIDTH = 1
BLOCK = 1024  # samples worked on at a time: what the fastest memory holds


def member() -> int:
    """Return the number of this thread in its team."""
    return 0


def part() -> int:
    """Return the number of this team among those that share its item."""
    return 0


def parts() -> int:
    """Return how many teams share an item."""
    return 1


def wait() -> None:
    """Wait for the whole team, and see what it wrote."""


def most(value: Number) -> Number:
    """Return the largest of the members' values, to each of them."""
    return value


def fewest(value: Number) -> Number:
    """Return the least of the members' values, to each of them."""
    return value


def added(value: Number) -> Number:
    """Return the sum of the members' values, to each of them."""
    return value


def narrow(value: int) -> int:
    """Return an integer that is known to fit 32 bits, so that machines compute with it in no more."""
    return value
