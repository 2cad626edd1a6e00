"""Outages of the brokers and `no data`: each stream has its limit anew, once."""

import numpy as np
from beatwire.records.feed import Watched
from beds import BEGIN_US, Beds
from hypothesis import given, settings
from hypothesis import strategies as st

LIMIT_US = 2_000_000
NONE, ALL = np.zeros(0, np.int64), np.arange(3)  # so few that none is explained by the feed


@settings(max_examples=20)
@given(
    st.integers(500_001, 1_900_000), st.lists(st.integers(10_000, 1_900_000), min_size=1, max_size=4),
    st.integers(10_000, 1_900_000), st.lists(st.integers(10_000, 400_000), max_size=4),
)  # fmt: skip
def test_each_stream_has_its_limit_anew_after_an_outage_which_lasts_until_a_chunk_comes(
    quiet_us: int, before_us: list[int], first_us: int, behind_us: list[int]
) -> None:
    """Brokers answer again several times; then bed 1 sends, and they are away again at times, which excuses nobody."""
    beds, now_us = Beds(3, LIMIT_US / 1e6), BEGIN_US
    resumed_us = 0
    assert beds.tick(Watched(now_us, BEGIN_US), ALL) == []
    for passed_us in (quiet_us, *before_us):
        now_us += passed_us
        assert beds.tick(Watched(now_us, BEGIN_US, resumed_us), NONE) == []
        resumed_us = now_us
    now_us = sent_us = now_us + first_us
    assert beds.tick(Watched(now_us, sent_us, resumed_us), ALL[1:2]) == []
    for passed_us in behind_us:
        now_us = resumed_us = now_us + passed_us
        assert beds.tick(Watched(now_us, sent_us, resumed_us), NONE) == []
    assert beds.tick(Watched(sent_us + LIMIT_US, sent_us, resumed_us), NONE) == []
    found = beds.tick(Watched(sent_us + LIMIT_US + 1, sent_us, resumed_us), NONE)
    assert found[:1] == [0]
    assert found[-1:] == [2]
