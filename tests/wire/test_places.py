"""Places of beats in the plane of the latents: the same to the bit in a message, in a result, and in any company."""

import numpy as np
from beatwire.kernels.beat_message import gather_floats
from beatwire.offline.results.collect import places_of
from beatwire.records.alignment import BeatFields
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

NUMBER = st.floats(-100, 100, width=32)
LATENTS = arrays(np.float32, st.tuples(st.integers(1, 40), st.just(8)), elements=NUMBER)


@given(LATENTS, arrays(np.float32, (8, 2), elements=NUMBER))
def test_places_are_equal_in_messages_and_results_and_alone(latent: np.ndarray, plane: np.ndarray) -> None:
    places, n = places_of(latent, plane), len(latent)
    others = {name: np.ones(n) for name in BeatFields._fields}
    beats = BeatFields(**others | {"latent": latent, "plane": plane, "floats": np.zeros((n, 10), np.float32)})
    for i in range(n):
        gather_floats(i, beats)
        np.testing.assert_array_equal(beats.floats[i, 7:9], places[i])
        np.testing.assert_array_equal(places_of(latent[i : i + 1], plane)[0], places[i])
