"""Insert, remove and find values in a short list in ascending order."""

from beatwire.records import F32


def insert(values: F32, n: int, value: float) -> None:
    """Insert a value among the first ``n``, which are ascending."""
    k = lower_bound(values, n, value)
    for j in range(n, k, -1):
        values[j] = values[j - 1]
    values[k] = value


def remove(values: F32, n: int, value: float) -> None:
    """Remove a value from the first ``n``, which are ascending."""
    for j in range(lower_bound(values, n, value), n - 1):
        values[j] = values[j + 1]


def lower_bound(values: F32, n: int, value: float) -> int:
    """Return the index of the first of ``n`` ascending values that is at least ``value``; ``n`` if none is."""
    low = 0
    high = n
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
