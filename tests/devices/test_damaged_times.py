"""Times and counts that are damaged move no packet, and a rate is measured without them."""

import itertools

import numpy as np
import pytest
from beatwire_producers.devices.packets import Description, Packet
from beatwire_producers.devices.places import Placer
from device_packets import START_S
from draws import draws
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize("damaged", [1.7e308, -1.7e308, float("inf"), float("nan"), 1e12, -1e12, 0.0, START_S - 60])
@pytest.mark.parametrize("has_count", [True, False])
@pytest.mark.parametrize("is_epoch", [True, False])
def test_a_damaged_time_moves_nothing(damaged: float, has_count: bool, is_epoch: bool) -> None:
    placer = Placer(Description("bed-1", rate_hz=250.0, is_epoch=is_epoch))
    placed = []
    for k in range(60):
        time_s = damaged if k == 30 else START_S + k / 10
        count = 25 * k if has_count else None
        samples = np.arange(25 * k, 25 * (k + 1))[None]
        placed += placer.place(Packet(samples, START_S + (k + 1) / 10, time_s, count))
    placed += placer.close()
    assert [one.first for one in placed] == list(range(0, 1500, 25))
    assert {one.session for one in placed} == {placed[0].session}
    wrong_s = [abs(one.time_us / 1e6 - START_S - one.first / 250) for one in placed]
    is_plausible = is_epoch and damaged == START_S - 60  # of an epoch clock: it may have been set
    assert max(wrong_s[:30] + wrong_s[31:] + [0.0 if is_plausible else wrong_s[30]]) < 0.1


def test_a_rate_is_measured_where_a_count_is_damaged() -> None:
    placer = Placer(Description("bed-1"))
    for k in range(60):
        count = 1 << 64 if k == 29 else 25 * k
        placer.place(Packet(np.arange(25 * k, 25 * (k + 1))[None], START_S + (k + 1) / 10, START_S + k / 10, count))
    assert placer.rate_hz == 250.0


@settings(max_examples=draws(40), deadline=None)
@given(
    rate_hz=st.sampled_from([100.0, 130.0, 250.0, 500.0]),
    size=st.integers(8, 50),
    damaged=st.dictionaries(
        st.integers(0, 12),
        st.sampled_from([None, 0.0, 1e300, -1e13, 5e11, float("nan"), START_S - 60, START_S + 3_600]),
        max_size=3,
    ),
    gaps=st.dictionaries(st.integers(1, 60), st.floats(1.3, 5.0), max_size=2),
    is_epoch=st.booleans(),
)
@example(rate_hz=250.0, size=25, damaged={0: None}, gaps={}, is_epoch=True)
@example(rate_hz=250.0, size=25, damaged={0: 0.0}, gaps={}, is_epoch=False)
@example(rate_hz=250.0, size=10, damaged={}, gaps={50: 3.0}, is_epoch=True)  # the last one that is learnt follows it
@example(rate_hz=250.0, size=10, damaged={}, gaps={50: 1.04, 51: 2.0}, is_epoch=True)
@example(rate_hz=250.0, size=10, damaged={}, gaps={1: 1.96}, is_epoch=False)
@example(rate_hz=250.0, size=10, damaged={0: 0.0, 9: None}, gaps={1: 1.96, 10: 1.2}, is_epoch=True)
@example(rate_hz=100.0, size=8, damaged={0: 0.0, 2: 0.0}, gaps={}, is_epoch=False)  # the one between them is true
@example(rate_hz=100.0, size=8, damaged={3: -1e13, 5: 0.0, 7: 5e11}, gaps={}, is_epoch=True)
def test_a_rate_is_measured_where_times_are_damaged_or_packets_missing_and_these_move_nothing(
    rate_hz: float, size: int, damaged: dict[int, float | None], gaps: dict[int, float], is_epoch: bool
) -> None:
    places = sorted(damaged)
    assume(all(b - a > 1 for a, b in itertools.pairwise(places)))  # two in a row are a clock that was set
    placer, placed, packet_s, number, sent = Placer(Description("bed-1", is_epoch=is_epoch)), [], size / rate_hz, 0, []
    for k in range(round(6.0 / packet_s)):
        number += round(gaps.get(k, 0.0) / packet_s)
        sent.append(number)
        number += 1
    learnt = sum(one < 3.0 / packet_s for one in sent)
    assume(places[-1:] < [learnt - 3] and (not gaps or learnt > 12))
    for k, number in enumerate(sent):
        time_s = damaged.get(k, START_S + number * packet_s)
        samples = np.arange(size * number, size * (number + 1))[None]
        placed += placer.place(Packet(samples, START_S + (number + 1) * packet_s, time_s))
    placed += placer.close()
    assert placer.rate_hz == pytest.approx(rate_hz, rel=1e-3)
    assert [one.first for one in placed] == [size * number for number in sent]
    assert max(abs(one.time_us / 1e6 - START_S - one.first / rate_hz) for one in placed) < 0.1
