"""Lines of a serial port that are lost one by one: an even clock in each line shows where."""

import numpy as np
from beatwire_producers.devices.places import Placer
from beatwire_producers.devices.readers.serial_port import SerialReader
from beatwire_producers.devices.sources import Options
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

SECONDS = 20
LEARN_S = 2


@settings(max_examples=draws(60), deadline=None)
@given(
    seed=st.integers(0, 10**6), rate_hz=st.sampled_from([100, 125, 130, 200, 250, 360]), lost=st.floats(0, 0.03),
    clock=st.sampled_from(["ms", "us", "s"]), together=st.integers(1, 20), is_given=st.booleans(),
    start_s=st.sampled_from([0.0, 3.7, 86_000.0]),
)  # fmt: skip
def test_a_lost_line_is_a_sample_without_a_value(
    seed: int, rate_hz: int, lost: float, clock: str, together: int, is_given: bool, start_s: float
) -> None:
    rng, n = np.random.default_rng(seed), SECONDS * rate_hz
    values = np.cumsum(rng.integers(-9, 10, n)) + 2000
    us = np.rint(1e6 * (start_s + np.arange(n) / rate_hz)).astype(int)
    texts = {"ms": us // 1000, "us": us, "s": [f"{one / 1e6:.3f}" for one in us.tolist()]}[clock]
    kept = np.flatnonzero((rng.random(n) >= lost) | (np.arange(n) < LEARN_S * rate_hz))
    lines = [f"{texts[k]},{values[k]}" for k in kept]
    reader = SerialReader("/dev/none", 115_200, Options(fs=float(rate_hz) if is_given else None))
    placer = Placer(reader._learn("serial:/dev/none", lines[: LEARN_S * rate_hz]))
    placed = []
    for at in range(0, len(lines), together):
        some = lines[at : at + together]
        for packet in reader._packets_of(some, 100.0 + (kept[at + len(some) - 1] + 1) / rate_hz):
            placed += placer.place(packet)
    placed += placer.close(ended=True)
    found = np.full(n + 100, np.nan)
    for one in placed:
        found[one.first : one.first + one.packet.samples.shape[1]] = one.packet.samples[0]
    expected = np.full(n, np.nan)
    expected[kept] = values[kept]
    settled = n - 20 - 2 * together  # the last lines wait for others
    np.testing.assert_array_equal(found[:settled], expected[:settled])
    assert len({one.session for one in placed}) == 1
