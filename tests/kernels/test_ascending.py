"""Places in the order of their values: against a sorted list."""

import numpy as np
from beatwire.kernels.classes.ascending import insert, remove
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st


@given(st.lists(st.sampled_from([500, -500, 750, 1000, -1250]), min_size=1, max_size=40), st.integers(1, 8))
@settings(max_examples=draws(100), deadline=None)
def test_places_of_a_ring_stay_in_the_order_of_the_sizes_of_their_values(added: list[int], room: int) -> None:
    places, values = np.zeros(room, np.uint8), np.zeros(room, np.int16)
    n = 0
    for k, value in enumerate(added):
        at = k % room
        if n == room:
            remove(places, n, at, values)
            n -= 1
        values[at] = value
        insert(places, n, at, values)
        n += 1
        assert sorted(places[:n].tolist()) == list(range(n))
        assert np.abs(values[places[:n]]).tolist() == sorted(np.abs(values[:n]).tolist())
