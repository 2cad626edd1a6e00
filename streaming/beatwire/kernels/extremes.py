"""Bodies that find the largest and the least value of a stretch of a ring: of samples or of responses."""

from beatwire.kernels.team import WIDTH, fewest, member, most, narrow
from beatwire.records import I16, I32


def highest(ring: I16 | I32, first: int, n: int) -> int:
    """Return the largest of the values ``[first, first + n)`` of a ring; all members call it."""
    column = first % ring.shape[0]
    head = min(n, ring.shape[0] - column)
    old, new = ring[column : column + head], ring[: n - head]
    found = ring[column]
    for j in range(member(), head, WIDTH):
        found = max(found, old[j])
    for j in range(member(), n - head, WIDTH):
        found = max(found, new[j])
    return most(narrow(int(found)))


def lowest(ring: I16 | I32, first: int, n: int) -> int:
    """Return the least of the values ``[first, first + n)`` of a ring; all members call it."""
    column = first % ring.shape[0]
    head = min(n, ring.shape[0] - column)
    old, new = ring[column : column + head], ring[: n - head]
    found = ring[column]
    for j in range(member(), head, WIDTH):
        found = min(found, old[j])
    for j in range(member(), n - head, WIDTH):
        found = min(found, new[j])
    return fewest(narrow(int(found)))


def least_and_largest(ring: I16 | I32, first: int, n: int) -> tuple[int, int]:
    """Return both of the values ``[first, first + n)`` of a ring, which is read once; all members call it."""
    column = first % ring.shape[0]
    head = min(n, ring.shape[0] - column)
    old, new = ring[column : column + head], ring[: n - head]
    least = largest = ring[column]
    for j in range(member(), head, WIDTH):
        least, largest = min(least, old[j]), max(largest, old[j])
    for j in range(member(), n - head, WIDTH):
        least, largest = min(least, new[j]), max(largest, new[j])
    return fewest(narrow(int(least))), most(narrow(int(largest)))
