"""The rule of a missed beat: an interval that is long beside those before it. Pauses: tests/alerts/test_alert.py."""

from itertools import accumulate
from typing import Any

import pytest
from bedside import Ward, device_chunk, rows_of

REGULAR = [90] * 4  # samples at 100 Hz: 67/min


def found(intervals: list[int], *, classes: str = "", errors: float = 0.0, bpm: float = 67.0, **changed: Any) -> list:
    """Return the transitions of the rule, of beats at these intervals after the first."""
    ward = Ward()
    ward.tick(device_chunk())
    beats = [("bed", at, bpm, False, errors) for at in accumulate([50, *intervals])]
    transitions = rows_of(ward.tick(beats=beats, classes=classes, **changed))
    return [(state, decided) for rule, state, _, decided in transitions if rule == "missed beat"]


def test_an_interval_of_nearly_two_is_a_missed_beat_and_ends_after_eight_beats() -> None:
    assert found([*REGULAR, 170, *[90] * 8]) == [("on", 580), ("off", 1300)]


def test_the_text_has_the_interval_and_the_message_the_limit() -> None:
    ward = Ward()
    ward.tick(device_chunk())
    beats = [("bed", at, 67.0, False, 0.0) for at in accumulate([50, *REGULAR, 170])]
    (alert,) = ward.tick(beats=beats)
    assert alert["text"] == "missed beat: 1.7 s between two beats"
    assert (alert["priority"], alert["limit"], alert["value"]) == ("low", 1.75, 1.7)


@pytest.mark.parametrize(("interval", "missed"), [(156, False), (157, True), (300, True), (301, False)])
def test_the_interval_is_beyond_the_ratio_and_no_pause(interval: int, missed: bool) -> None:
    assert bool(found([*REGULAR, interval])) == missed  # 1.75 times 60 / 67 s are 1.567 s


@pytest.mark.parametrize(("interval", "missed"), [(90, False), (101, True)])
def test_above_100_a_second_is_long(interval: int, missed: bool) -> None:
    assert bool(found([45, 45, 45, interval], bpm=133.0)) == missed


def test_a_rate_that_falls_from_beat_to_beat_misses_none() -> None:
    assert found([90, 90, 110, 135, 165]) == []


@pytest.mark.parametrize("classes", ["NNNNVN", "NNNVNN", "NNNNSN", "NNNNQN"])
def test_without_three_normal_beats_before_it_there_is_none(classes: str) -> None:
    assert found([*REGULAR, 170], classes=classes) == []


def test_the_beat_after_it_may_be_an_escape_beat() -> None:
    assert found([*REGULAR, 170], classes="NNNNNV") == [("on", 580)]


def test_two_beats_are_too_few_and_three_are_enough() -> None:
    assert found([90, 170]) == []
    assert found([90, 90, 170]) == [("on", 400)]


def test_normal_beats_that_are_further_apart_than_three_seconds_are_not_in_a_row() -> None:
    assert found([90, 301, 90, 170]) == []
    assert found([90, 301, 90, 90, 170]) == [("on", 791)]
    assert found([90, 300, 90, 170]) == [("on", 700)]


def test_a_longer_limit_of_pauses_makes_no_longer_missed_beats() -> None:
    ward = Ward(pause_s=4.0, asystole_s=5.0)
    ward.tick(device_chunk())
    beats = [("bed", at, 67.0, False, 0.0) for at in accumulate([50, *REGULAR, 310])]
    assert ward.tick(beats=beats) == []


def test_a_wave_that_is_no_beat_does_not_divide_the_interval() -> None:
    """A P wave without a QRS complex, found as a beat, is passed over; the interval is that between beats."""
    ward = Ward()
    ward.tick(device_chunk())
    beats = [("bed", at, 67.0, False, 0.0) for at in accumulate([50, *REGULAR, 80, 90])]
    found = ward.tick(beats=beats, sizes=[1.0] * 5 + [0.1, 1.0])
    assert [(a["rule"], a["value"]) for a in found if a["state"] == "on"] == [("missed beat", 1.7)]


def test_there_is_none_in_noise_or_in_atrial_fibrillation() -> None:
    assert found([*REGULAR, 170], errors=2.0) == []
    assert found([*REGULAR, 170], atrial=True) == []
    assert found([*REGULAR, 170], atrial_possible=True) == []


@pytest.mark.parametrize(("others", "missed"), [(2, False), (3, True)])
@pytest.mark.parametrize("kind", ["unknown", "noisy"])
def test_three_normal_beats_are_needed_behind_an_interval_that_is_not_known_or_a_beat_in_noise(
    ward: Ward, kind: str, others: int, missed: bool
) -> None:
    first, *later = accumulate([50, *REGULAR])
    ward.tick(beats=[("bed", at, 67.0, False, 0.0) for at in (first, *later)])
    if kind == "unknown":
        ward.last.clear()  # as behind a hole
    at = list(accumulate([later[-1], *[90] * (others + (kind == "noisy")), 170]))[1:]
    errors = [2.0 * (kind == "noisy" and k == 0) for k in range(len(at))]
    beats = [("bed", sample, 67.0, False, error) for sample, error in zip(at, errors, strict=True)]
    assert ("missed beat" in {a["rule"] for a in ward.tick(beats=beats)}) == missed


def test_the_ratio_can_be_configured() -> None:
    ward = Ward(missed_beat_ratio=1.6)
    ward.tick(device_chunk())
    beats = [("bed", at, 67.0, False, 0.0) for at in accumulate([50, *REGULAR, 150])]
    assert [a["rule"] for a in ward.tick(beats=beats)] == ["missed beat"]
