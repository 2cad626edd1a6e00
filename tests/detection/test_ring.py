"""The rings: wrap-around, bridges and holes of several lanes."""

from dataclasses import replace

import numpy as np
import pytest
from beatwire.records import Placement, Ringed
from beatwire.records.columns import PLACEMENT_COLUMNS
from beatwire.stages.detection import ring
from beatwire.stages.support.room import ROUNDED, columns_for
from laws import cut
from steps import fresh_of

R = 64
BASE = 10**12 + 17
MARKED = -32768


def write_bridged(state: ring.State, rows: list[tuple[int, ...]], payload: np.ndarray) -> Ringed:
    """Write rows of one lane, with the gaps among them that are bridged; all samples are final."""
    place = np.array(rows, np.int64).reshape(-1, PLACEMENT_COLUMNS)
    lane, first, count = int(place[0, 0]), place[:, 1], place[:, 2]
    quiet = place[count < 0][:, [0, 1, 1]] - [0, 0, 1] * count[count < 0][:, None]
    fresh = fresh_of(
        [int(first.min())], [int((first + abs(count)).max()) + 1], [int(first.min())], rate_hz=100.0, leads=2
    )
    fresh = replace(fresh, lane=np.array([lane]), quiet=quiet)
    return ring.step(state, Placement(payload.view(np.uint8), place, 4, fresh))[1]


def write(
    state: ring.State, rows: list[tuple[int, ...]], payload: np.ndarray, leads: int = 2, lanes: int = 4,
    fresh: tuple[int, int] = (BASE, BASE + 1), base: int = 0,
) -> Ringed:  # fmt: skip
    """Write rows (lane, first, count, position, lead stride, lead-off mask) into the rings; lane 0 has new samples."""
    place = np.array(rows, np.int64).reshape(-1, PLACEMENT_COLUMNS)
    fresh = fresh_of([fresh[0]], [fresh[1]], [base], rate_hz=100.0, leads=leads)
    return ring.step(state, Placement(payload.view(np.uint8), place, lanes, fresh))[1]


def held(ringed: Ringed, lane: int, first: int, stop: int) -> list[list[int]]:
    return ringed.x[lane][:, np.arange(first, stop) % ringed.x.shape[2]].tolist()


@pytest.fixture
def state() -> ring.State:
    return ring.State(ring.Settings(R / 100.0, 0.25))


@pytest.mark.parametrize("seed", range(3))
def test_samples_are_stored_at_their_index_modulo_the_length_of_the_ring(state: ring.State, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(-32767, 32768, (2, 1000)).astype(np.int16)
    for a, b in cut(1000, rng, R):
        ringed = write(state, [(3, BASE + a, b - a, 0, 2 * (b - a), 0)], np.ascontiguousarray(x[:, a:b]).reshape(-1))
        back = max(0, b - R)
        assert held(ringed, 3, BASE + back, BASE + b) == x[:, back:b].tolist()
        assert not ringed.x[:3].any()


@pytest.mark.parametrize("value", [-32767, -1, 0, 1, 255, 256, 32767])
def test_values_are_little_endian_int16(state: ring.State, value: int) -> None:
    payload = np.array([0, value, 7, value], "<i2")
    ringed = write(state, [(0, BASE, 2, 0, 4, 0)], payload)
    assert held(ringed, 0, BASE, BASE + 2) == [[0, value], [7, value]]


@pytest.mark.parametrize("offset", [0, R - 2, R - 1])
def test_a_bridge_is_a_straight_line_also_across_the_end_of_the_ring(state: ring.State, offset: int) -> None:
    first = BASE - BASE % R + offset
    payload = np.array([10, -7, 20, 14], "<i2")
    rows = [(1, first - 1, 1, 0, 2, 0), (1, first, -4, 4, 2, 0)]
    assert held(write_bridged(state, rows, payload), 1, first - 1, first + 4) == [
        [10, 12, 14, 16, 18],
        [-7, -3, 1, 5, 9],
    ]


def test_a_bridge_may_end_at_samples_already_in_the_ring(state: ring.State) -> None:
    payload = np.array([10, -7, 30, 13], "<i2")
    rows = [(1, BASE - 1, 1, 0, 2, 0), (1, BASE + 3, 1, 4, 2, 0), (1, BASE, -3, -1, 0, 0)]
    assert held(write_bridged(state, rows, payload), 1, BASE - 1, BASE + 4) == [
        [10, 15, 20, 25, 30],
        [-7, -2, 3, 8, 13],
    ]


def test_a_falling_bridge_mirrors_a_rising_one(state: ring.State) -> None:
    payload = np.array([32767, -32767, -32767, 32767], "<i2")
    ringed = write_bridged(state, [(0, BASE - 1, 1, 0, 2, 0), (0, BASE, -3, 4, 2, 0)], payload)
    assert held(ringed, 0, BASE, BASE + 3) == [[16383, 0, -16384], [-16384, 0, 16383]]


def test_a_lead_that_is_off_at_an_end_of_a_bridge_has_no_value_in_it(state: ring.State) -> None:
    payload = np.array([10, -7, 99, 99, 50, 60], "<i2")
    rows = [
        (2, BASE - 1, 1, 0, 2, 0),
        (2, BASE, 2, 4, 4, 0b10),
        (2, BASE + 2, -2, 8, 2, 0b10),
        (2, BASE + 4, 1, 8, 2, 0b10),
    ]
    ringed = write_bridged(state, rows, payload)
    assert held(ringed, 2, BASE, BASE + 5) == [[99, 99, 82, 66, 50], [MARKED] * 5]


def test_a_bridge_to_a_lead_without_a_value_has_none(state: ring.State) -> None:
    payload = np.array([10, -7, 40, MARKED, 40, 40, 40, 40, 40, 40], "<i2")
    rows = [(1, BASE - 1, 1, 0, 2, 0), (1, BASE, -2, 4, 2, 0), (1, BASE + 2, 6, 8, 0, 0b10)]
    ringed = write_bridged(state, rows, payload)
    assert held(ringed, 1, BASE, BASE + 2) == [[20, 30], [MARKED, MARKED]]


@pytest.mark.parametrize("offset", [0, R - 3, R - 1])
def test_a_hole_is_filled_with_the_slopes_on_both_sides_also_across_the_end_of_the_ring(
    state: ring.State, offset: int
) -> None:
    """Samples of a cubic are found again; the other lead has a longer hole than may be filled."""
    first = BASE - BASE % R + offset
    x = np.array([[0, 20, 40, 0, 0, 40, 20, 0, 0, 0], [1, 2, 0, 0, 0, 0, 0, 8, 9, 9]], "<i2")
    x[0, 3:5], x[1, 2:7] = MARKED, MARKED
    rows = [(0, first, 10, 0, 20, 0), (0, first, 5, -2, 0, 0)]
    filled_in = held(write(state, rows, x.reshape(-1), fresh=(first, first + 5)), 0, first, first + 8)
    assert filled_in == [[0, 20, 40, 53, 53, 40, 20, 0], [1, 2, *[MARKED] * 5, 8]]


def test_a_hole_at_the_begin_of_a_lane_stays_and_nothing_of_its_past_is_used(state: ring.State) -> None:
    write(state, [(0, BASE - 1, 1, 0, 2, 0)], np.array([77, 88], "<i2"))
    rows = [(0, BASE, 3, 0, 6, 0), (0, BASE, 2, -2, 0, 0)]
    payload = np.array([5, 6, 7, MARKED, 8, 9], "<i2")
    ringed = write(state, rows, payload, fresh=(BASE, BASE + 2), base=BASE)
    assert held(ringed, 0, BASE, BASE + 3) == [[5, 6, 7], [MARKED, 8, 9]]


def test_a_bank_that_grows_keeps_its_samples(state: ring.State) -> None:
    payload = np.array([5, 6], "<i2")
    write(state, [(3, BASE, 1, 0, 2, 0)], payload)
    ringed = write(state, [(100, BASE, 1, 0, 2, 0)], payload, lanes=128)
    assert len(ringed.x) == 128
    assert held(ringed, 3, BASE, BASE + 1) == held(ringed, 100, BASE, BASE + 1) == [[5], [6]]


@pytest.mark.parametrize("rate_hz", [128.0, 250.0, 999.9])
def test_the_length_of_a_ring_is_whole_cache_lines_and_long_enough(rate_hz: float) -> None:
    columns = columns_for(1.7, rate_hz, np.int16)
    assert columns % 32 == 0
    assert 1.7 * rate_hz <= columns < 1.7 * rate_hz + ROUNDED + 32
