"""Alerts of leads that are off: of some of them, and of all."""

import itertools

import numpy as np
import pytest
from bedside import Ward, acknowledge, device_chunk
from draws import draws
from hypothesis import example, given, settings
from hypothesis import strategies as st

HELD = 500  # samples at 100 Hz: all that were off count as off for so long
LEADS = {"none": 0, "first": 1, "second": 2, "all": 3}


def lived(ward: Ward, stretches: list[tuple[str, int]], acknowledged: bool) -> list[tuple[str, int]]:
    """Send stretches of so many samples in which leads are off; return (state, onset) of what is published of them."""
    found, first = [], 0
    for which, count in stretches:
        chunk = device_chunk(first, samples=np.zeros((2, count), np.int16), lead_off=LEADS[which])
        first += count
        ward.tick(chunk, known=[("bed", first)] if which != "all" else ())
        of_leads = [a for a in ward.published if a["rule"] == "lead off" and not a["reminders"]]
        found += [(a["state"], a["onset"]) for a in of_leads if a["state"] != "ack"]
        if acknowledged and of_leads and of_leads[-1]["state"] == "on":
            acknowledge(ward, of_leads[-1])
    return found


@settings(max_examples=draws(60), deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(list(LEADS)), st.integers(1, 150).map(lambda n: 10 * n)), max_size=10),
    st.booleans(),
)
@example([("none", 100), ("second", 2000), ("all", 100)], True)
@example([("second", 100), ("all", 100)], True)
@example([("second", 100), ("none", 100), ("all", 100)], True)
@example([("all", 100), ("second", 100), ("none", 100), ("all", 100)], False)
def test_where_all_leads_come_off_an_alert_begins_whatever_is_on(
    stretches: list[tuple[str, int]], acknowledged: bool
) -> None:
    found = lived(Ward(), stretches, acknowledged)
    begins = list(itertools.accumulate((count for _, count in stretches), initial=0))
    onsets = [onset for state, onset in found if state == "on"]
    assert [state for state, _ in found] == [("on", "off")[k % 2] for k in range(len(found))]
    last = -2 * HELD
    for (which, count), begin in zip(stretches, begins, strict=False):
        if which == "all":
            if begin - last >= 2 * HELD:
                assert begin in onsets
            elif begin - last < HELD:
                assert begin not in onsets
            last = begin + count
    assert set(onsets) <= {b for (which, _), b in zip(stretches, begins, strict=False) if which != "none"}


@pytest.mark.parametrize("after", [100, 2000])
def test_the_alert_about_some_leads_ends_where_all_come_off(after: int) -> None:
    ward = Ward()
    found = lived(ward, [("none", 100), ("second", after), ("all", 100)], acknowledged=True)
    assert found == [("on", 100), ("off", 100), ("on", 100 + after)]
    assert ward.published[-1]["text"] == "lead off: leads 0 and 1 (from 0)"


def test_all_leads_that_come_off_again_within_five_seconds_are_one_alert() -> None:
    loose = [("all", 50), ("second", 100), ("none", 100), ("first", 50)]
    assert lived(Ward(), [*5 * loose, ("none", 1000)], acknowledged=True) == [("on", 0), ("off", 0)]
