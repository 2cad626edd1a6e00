"""Bodies for a short list that is kept in ascending order."""

from __future__ import annotations

from beatwire.records import F32


def insert(values: F32, n: int, value: float) -> None:
    """Put a value in its place among ``n`` ascending ones."""
    k = lower_bound(values, n, value)
    for j in range(n, k, -1):
        values[j] = values[j - 1]
    values[k] = value


def remove(values: F32, n: int, value: float) -> None:
    """Take a value out of ``n`` ascending ones."""
    for j in range(lower_bound(values, n, value), n - 1):
        values[j] = values[j + 1]


def lower_bound(values: F32, n: int, value: float) -> int:
    """Return the first place among ``n`` ascending values that is not below ``value``."""
    low = 0
    high = n
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
