"""Functions for a team: the threads that share one work item.

A body is written for ``WIDTH`` threads. Loops over samples are ``range(member(), n, WIDTH)``; ``most``, ``fewest`` and
``added`` combine the values of the members; after ``wait`` a member may read what another one has written. All members
take the same decisions; ``member() == 0`` changes the state.

No loop is left by ``break`` into one of these calls: Python 3.12 compiles the short end of a function once for each way
to it, and members that wait in different copies of a call never go on.

Several teams may share an item whose parts do not depend on each other: each does every ``parts``-th part from ``part``
on.

As Python and on the CPU a team is one thread, and these functions do nothing. ``jit.cuda.launchers`` compiles the same
bodies with another ``WIDTH`` and replaces these functions by instructions of the device (``jit.cuda.team``).
"""

from typing import TypeVar

Number = TypeVar("Number", int, float)
WIDTH = 1
BLOCK = 1024  # samples filtered at a time: three rows of int32 fit the first cache of a CPU


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
    """Wait for all members of the team; afterwards each sees what the others have written."""


def most(value: Number) -> Number:
    """Return the largest of the members' values; all members call it."""
    return value


def fewest(value: Number) -> Number:
    """Return the least of the members' values; all members call it."""
    return value


def added(value: Number) -> Number:
    """Return the sum of the members' values; all members call it."""
    return value


def narrow(value: int) -> int:
    """Return an integer that fits 32 bits; machine code computes with it in 32 bits."""
    return value
