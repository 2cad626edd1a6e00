"""Silences with holes, with waves too fast to be counted, and of a lead that is lost; and which beats are judged."""

from typing import Any

import pytest
from beatwire.kernels.rhythms.flutter import BLIND, BUSY, REST, TOO_FAST
from bedside import Ward, device_chunk, rows_of, states
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

BLOCK = 200  # samples of the ward's streams, at 100 Hz
CERTAIN = [("bed", at, 70, False, 0.1) for at in (20, 40, 60, 80, 100)]


def blocks_of(*kinds: int) -> list[tuple[str, int, int]]:
    """Return blocks in a row from sample 0 on."""
    return [("bed", BLOCK * (k + 1), kind) for k, kind in enumerate(kinds)]


def onsets(transitions: list[dict[str, Any]], rule: str = "asystole") -> list[int]:
    """Return the onsets of the alerts of a rule."""
    return [a["onset"] for a in transitions if (a["rule"], a["state"]) == (rule, "on")]


@settings(max_examples=draws(60), deadline=None)
@given(st.data(), st.integers(0, 40), st.sampled_from([20, 90, 199]), st.integers(20, 3000))
def test_the_last_two_seconds_of_a_silence_have_no_hole(data: st.DataObject, count: int, apart: int, step: int) -> None:
    ward, end, onset, gaps = Ward(), 100, 500, list[tuple[str, int, int]]()
    ward.tick(device_chunk())
    for _ in range(count):
        first = end + data.draw(st.integers(1, apart))
        end = first + data.draw(st.integers(5, 60))
        gaps.append(("bed", first, end))
        onset = max(onset, end + BLOCK) if first < onset else onset
    found, beats = list[int](), CERTAIN
    for known in range(101, onset + 2 * step, step):
        new = [gap for gap in gaps if known - step <= gap[1] < known]
        found += onsets(ward.tick(beats=beats, gaps=new, known=[("bed", known)]))
        beats = []
    assert found == [onset]


@pytest.mark.parametrize(
    ("kinds", "onset"),
    [
        ([0, 0], 500),
        ([0, TOO_FAST], None),  # it may be a rhythm that is not counted
        ([0, TOO_FAST, 0, REST, REST], 1000),
        ([TOO_FAST, 0], 500),  # half of it lies before the last beat
        ([0, BUSY], None),
        ([BUSY, 0], 500),
        ([0, BLIND], None),  # the heart may beat on the lead that is lost
        ([0, BLIND, BLIND, REST, REST], 1000),
    ],
)
def test_a_silence_that_may_hide_beats_is_asystole_once_it_is_at_rest(
    ward: Ward, kinds: list[int], onset: int | None
) -> None:
    found = ward.tick(beats=CERTAIN, blocks=blocks_of(*kinds), known=[("bed", 1090)])
    assert onsets(found) == ([] if onset is None else [onset])


@pytest.mark.parametrize(
    ("kinds", "is_certain"), [([BLIND, BLIND, BLIND], True), ([BLIND, 0, BLIND], False), ([0, BLIND, BLIND], False)]
)
def test_a_silence_is_certain_if_its_last_beat_was_found_behind_the_loss_of_the_lead(
    ward: Ward, kinds: list[int], is_certain: bool
) -> None:
    beats = [*CERTAIN, *(("bed", at, 70, False, 0.1) for at in (200, 300))]
    assert onsets(ward.tick(beats=beats, blocks=blocks_of(*kinds), known=[("bed", 710)])) == [700] * is_certain


@pytest.mark.parametrize(("last", "is_certain"), [(529, False), (530, True)])
def test_a_beat_in_the_four_seconds_behind_a_hole_is_not_certain(ward: Ward, last: int, is_certain: bool) -> None:
    beats = [*CERTAIN, *(("bed", at, 70, False, 0.1) for at in (300, last))]
    found = ward.tick(beats=beats, gaps=[("bed", 110, 130)], known=[("bed", last + 450)])
    assert onsets(found) == [last + 400] * is_certain


@pytest.mark.parametrize(("last", "paused"), [(299, False), (300, True)])
def test_an_interval_with_waves_too_fast_to_be_counted_is_no_pause(ward: Ward, last: int, paused: bool) -> None:
    beats = [("bed", at, 70, False, 0.1) for at in (100, 200, last, last + 350)]
    found = ward.tick(beats=beats, blocks=blocks_of(0, TOO_FAST, 0))
    assert onsets(found, "pause") == [last + 350] * paused


def test_a_slow_rate_begins_when_all_of_its_intervals_are_behind_waves_too_fast_to_be_counted(ward: Ward) -> None:
    at = [100, 450, *range(500, 1400, 80)]  # beside the waves or less than a block behind them: up to 660
    beats = [("bed", sample, 39.0 if sample > 100 else 70.0, False, 0.1) for sample in at]
    found = ward.tick(beats=beats, blocks=blocks_of(0, TOO_FAST, 0, 0))
    assert onsets(found, "extreme bradycardia") == [660 + 4 * 80]
    assert onsets(found, "bradycardia") == [660 + 8 * 80]


@pytest.mark.parametrize(("fast", "missed"), [(2, True), (3, False)])
def test_an_interval_beside_waves_too_fast_to_be_counted_misses_no_beat(ward: Ward, fast: int, missed: bool) -> None:
    beats = [("bed", at, 67.0, False, 0.0) for at in (450, 540, 630, 720, 810, 980)]
    found = ward.tick(beats=beats, blocks=blocks_of(*[0] * fast, TOO_FAST, 0))
    assert onsets(found, "missed beat") == [980] * missed


@pytest.mark.parametrize("first", [0, 100_000])
def test_faint_waves_are_no_beats_for_twenty_seconds_from_the_first_sample_on(first: int) -> None:
    ward = Ward()
    ward.tick(device_chunk(first))
    beats = [("bed", first + 100 * k, 70, False, 0.1) for k in range(1, 25)]
    found = rows_of(ward.tick(beats=beats, sizes=[0.1] * len(beats)))
    asystole = [("on", first + 400, first + 400), ("latched", first + 400, first + 2000)]
    assert [row[1:] for row in found if row[0] == "asystole"] == asystole


def test_a_beat_whose_interval_is_not_known_does_not_show_that_the_signal_can_be_analysed(ward: Ward) -> None:
    ward.tick(beats=[("bed", at, 70, False, 1.5) for at in range(100, 1500, 80)])
    ward.last.clear()  # as behind a hole
    found = ward.tick(beats=[("bed", at, 70, False, 0.1) for at in (1550, 1630)])
    assert ("cannot analyse", "off", 1000, 1630) in rows_of(found)


def test_a_beat_in_noise_that_ends_an_asystole_is_judged(ward: Ward) -> None:
    found = ward.tick(beats=[*CERTAIN, ("bed", 1400, 70, False, 1.5)], known=[("bed", 1401)])
    found += ward.tick(beats=[("bed", at, 70, False, 1.5) for at in range(1480, 2600, 80)])
    assert onsets(found) == [500]
    assert onsets(found, "cannot analyse") == [2400]


def unanalysed(ward: Ward, first_s: int, seconds: int, **changed: int) -> list[dict[str, Any]]:
    """Return the transitions of a stream that sends beats in noise alone, a chunk and a tick for each second."""
    found, late_s = list[dict[str, Any]](), changed.pop("late_s", 0)
    for k in range(first_s, first_s + seconds):
        time_us = (k + late_s + 1) * 1_000_000
        chunk = device_chunk(100 * k, 100, arrival_us=time_us, **changed)
        beats = [("bed", 100 * k + 50, 70, False, 1.5)]
        found += ward.tick(chunk, beats=beats, known=[("bed", 100 * k + 100)], now_us=time_us)
    return [a for a in found if a["rule"] == "cannot analyse"]


def test_what_cannot_be_analysed_goes_on_in_another_session_and_ends_where_nothing_came_for_long() -> None:
    for changed, ended in (({"session": 2}, []), ({"late_s": 100}, [("cannot analyse", "off", 1000, 1500)])):
        ward = Ward()
        assert rows_of(unanalysed(ward, 0, 15)) == [("cannot analyse", "on", 1000, 1000)]
        assert rows_of(unanalysed(ward, 15, 3, **changed)) == ended


def test_an_alert_that_has_outlasted_its_session_ends_at_once(ward: Ward) -> None:
    unanalysed(ward, 0, 12)
    unanalysed(ward, 0, 2, session=2, late_s=12)
    ward.tick(beats=[("bed", 210, 70, False, 0.1)])
    assert rows_of(ward.published) == [("cannot analyse", "off", 1000, 210)]


def test_the_time_in_which_nothing_was_analysed_begins_anew_where_nothing_came_for_long() -> None:
    ward = Ward()
    assert unanalysed(ward, 0, 8) == unanalysed(ward, 8, 8, late_s=100) == []
    (onset,) = onsets(unanalysed(ward, 16, 8, session=2, late_s=100), "cannot analyse")
    assert 1800 <= onset <= 1900, "another session alone does not begin it anew; marks are a second apart"


def test_an_alert_that_ends_where_its_stream_was_silent_for_long_is_over_at_once(ward: Ward) -> None:
    ward.tick(beats=[("bed", 5, 130)])
    ward.tick(device_chunk(10, arrival_us=100_000_000))
    assert states(ward.published) == [("tachycardia", "off")]
