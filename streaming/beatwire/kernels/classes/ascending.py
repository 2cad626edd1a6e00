"""Keep the places of values in the order of their values: insert and remove one in a short list.

A value counts by its size: its sign says something else.
"""

from beatwire.records import I16, U8


def insert(places: U8, n: int, place: int, values: I16) -> None:
    """Insert a place among the first ``n``, whose values ascend."""
    k = lower_bound(places, n, abs(int(values[place])), values)
    for j in range(n, k, -1):
        places[j] = places[j - 1]
    places[k] = place


def remove(places: U8, n: int, place: int, values: I16) -> None:
    """Remove a place from the first ``n``, whose values ascend; of the same value there may be several."""
    k = lower_bound(places, n, abs(int(values[place])), values)
    while int(places[k]) != place:
        k += 1
    for j in range(k, n - 1):
        places[j] = places[j + 1]


def lower_bound(places: U8, n: int, value: int, values: I16) -> int:
    """Return the index of the first of ``n`` places whose value is at least ``value``; ``n`` if none is."""
    low = 0
    high = n
    while low < high:
        middle = (low + high) // 2
        if abs(int(values[int(places[middle])])) < value:
            low = middle + 1
        else:
            high = middle
    return low
