"""Alerts that nobody answers are published again: when, how often, and never for time without samples."""

from typing import Any

import pytest
from beatwire.kernels.rhythms.flutter import POSSIBLE, WAVES
from beatwire.stages import lifecycle
from beatwire.stages.judging import alert
from bedside import Ward, acknowledge, device_chunk, in_asystole, states
from hypothesis import given, settings
from hypothesis import strategies as st

HZ = 100


def test_an_unanswered_alert_is_published_again_after_each_interval_until_it_is_acknowledged(ward: Ward) -> None:
    begun = in_asystole(ward)
    again = []
    for minute in range(1, 4):
        ward.tick(known=[("bed", begun["onset"] + 60 * HZ * minute - 1)])
        assert ward.published == []
        ward.tick(known=[("bed", begun["onset"] + 60 * HZ * minute)])
        again += ward.published
    assert [a | {"reminders": 0} for a in again] == 3 * [begun], "only the count changes"
    assert [a["reminders"] for a in again] == [1, 2, 3]
    acknowledge(ward, begun)
    ward.tick(known=[("bed", 100_000)])
    assert states(ward.published) == [("asystole", "ack")]
    assert ward.published[0]["reminders"] == 3


def test_reminders_do_not_depend_on_the_cutting_into_ticks() -> None:
    published = []
    due = range(450, 100_000, 60 * HZ)
    for marks in (sorted({*range(400, 100_001, 400), *due}), [100_000]):
        ward = Ward()
        ward.tick(device_chunk())
        found = []
        for known in marks:
            ward.tick(known=[("bed", known)])
            found += ward.published
        published.append(found)
    assert published[0] == published[1]
    assert [a["reminders"] for a in published[0]] == list(range(17))


@pytest.mark.parametrize("behind", [0, 30], ids=["with the watermark", "ahead of it"])
def test_a_reminder_that_is_due_as_a_block_ends_the_alert_comes_before_its_end(behind: int) -> None:
    """A fibrillation that is possible for a minute after its last block ends after 60 s, when a reminder is due."""
    ward = Ward()
    ward.tick(device_chunk())
    found = []
    for k in range(31):
        end = 200 + 200 * k
        ward.tick(
            beats=[("bed", end - 90)],
            blocks=[("bed", end, WAVES if k == 0 else POSSIBLE)],
            known=[("bed", end - behind)],
        )
        found += ward.published
    ward.tick(known=[("bed", 6400)])
    found += ward.published
    assert [(a["rule"], a["state"], a["reminders"]) for a in found] == [
        ("ventricular fibrillation", state, reminders) for state, reminders in (("on", 0), ("on", 1), ("latched", 1))
    ]


def test_an_alert_because_nothing_arrives_is_published_again_by_the_clock(ward: Ward) -> None:
    ward.tick(device_chunk(10, arrival_us=1_000_000), now_us=1_000_000)
    ward.tick(now_us=3_100_000)
    assert states(ward.published) == [("no data", "on")]
    counts = []
    for second in range(4, 200):
        ward.tick(now_us=second * 1_000_000)
        counts += [(second, a["reminders"]) for a in ward.published]
    assert counts == [(64, 1), (124, 2), (184, 3)]
    ward.tick(now_us=400_000_000, caught_up=False)
    assert ward.published == [], "while messages wait, silence is not the device's"


@settings(max_examples=10)
@given(handed_over=st.sets(st.integers(4, 160), max_size=20))
def test_an_alert_of_a_stream_that_goes_on_is_published_again_in_time_by_whoever_has_it(handed_over: set[int]) -> None:
    ward, found, said_us = Ward(), list[tuple[int, int]](), dict[str, int]()
    for turn in range(1, 160):
        at_us = turn * 4_000_000
        ward.tick(device_chunk(400 * turn, 400, session=1 + turn % 2, arrival_us=at_us), now_us=at_us)
        said_us |= dict.fromkeys((a["id"] for a in ward.published), at_us)
        found += [(4 * turn, a["reminders"]) for a in ward.published if a["rule"] == "conflicting senders"]
        if turn in handed_over:
            log = [one.message for one in ward.lifecycle.alerts.by_id.values()]
            lifecycle.adopt(ward.lifecycle, log, said_us=said_us)
    assert found == [(found[0][0] + 180 * number, number) for number in range(4)]


def test_low_alerts_are_not_published_again(ward: Ward) -> None:
    ward.tick(drifts=[("bed", 2000, 931)])
    ward.tick(known=[("bed", 100_000)])
    assert {a["rule"] for a in ward.published} == {"asystole"}


def test_reminders_of_an_alert_that_ends_do_not_depend_on_the_cutting_into_ticks() -> None:
    published = []
    for step in (100, 20_000):
        ward = Ward()
        ward.tick(device_chunk())
        found = []
        for begin in range(50, 20_050, step):
            now = begin + step
            beats = [("bed", at) for at in (50, 15_000) if begin <= at < now]
            ward.tick(beats=beats, known=[("bed", now)])
            found += ward.published
        published.append(sorted((a["onset"], a["state"], a["reminders"]) for a in found))
    assert published[0] == published[1]
    first = [(state, reminders) for onset, state, reminders in published[0] if onset == 450]
    assert first == [("latched", 2), ("latched", 3), *(("on", k) for k in range(3))], "nobody acknowledged the first"


@pytest.mark.parametrize("session", [2, 1001])
def test_of_what_was_due_between_two_sessions_the_last_is_published(session: int) -> None:
    published = []
    for step in (100, 6_000):
        ward = Ward()
        ward.tick(device_chunk())
        ward.tick(beats=[("bed", 50)], known=[("bed", 600)])
        found = []
        for begin in range(0, 12_000, step):
            chunk = device_chunk(begin, step, session=session)
            ward.tick(
                chunk, known=[("bed", begin + step)], beats=[("bed", at) for at in range(begin, begin + step, 100)]
            )
            found += [a for a in ward.published if a["rule"] == "asystole" and a["session"] == 1]
        published.append(sorted((a["state"], a["reminders"]) for a in found))
    assert published[0] == published[1]
    passed = (1000 * (session - 1) * HZ - 450) // 6_000  # the clock of the device is 1000 s further in each session
    assert published[0] == [("latched", 0), *(("latched", passed + k) for k in range(3))]


@pytest.mark.parametrize("step", [100, 6_000])
def test_of_what_was_due_in_a_hole_of_the_samples_the_last_is_published(step: int) -> None:
    """A message may claim that 2**53 samples are missing; here it is fewer, so that the test ends without the rule."""
    ward, found, hole = Ward(), [], 1 << 32
    ward.tick(device_chunk())
    ward.tick(beats=[("bed", 50)], known=[("bed", 600)])
    for begin in range(hole, hole + 12_000, step):
        ward.tick(device_chunk(begin, step), known=[("bed", begin + step)], beats=[("bed", begin + 9)])
        found += [(a["onset"], a["state"], a["reminders"]) for a in ward.published if a["rule"] == "asystole"]
    passed = (hole - 450) // 6_000
    first = [row[1:] for row in found if row[0] == 450]
    assert sorted(first) == [("latched", 0), *(("latched", passed + k) for k in range(3))]


@pytest.mark.parametrize(
    "due_by",
    [6_449, *(pytest.param(at, marks=pytest.mark.slow) for at in (6_300, 6_440, 6_450, 12_440, 12_450, 12_900))],
)
def test_a_successor_publishes_nothing_again_that_was_due_in_a_hole_before_it(due_by: int) -> None:
    hole, end = 12_200, 12_700  # without samples: the second reminder of the asystole at 450 is due in it

    def chunks_of(ward: Ward, first: int, last: int) -> list[tuple[str, int]]:
        found = []
        for begin in range(first, last, 50):
            if hole <= begin < end:
                continue
            ward.tick(device_chunk(begin, 50), known=[("bed", begin + 50)], beats=[("bed", begin + 9)])
            for a in ward.published:
                log[a["id"]] = a
                found += [(a["state"], a["reminders"])] if a["rule"] == "asystole" and a["onset"] == 450 else []
        return found

    def begun() -> Ward:
        ward = Ward()
        ward.tick(device_chunk())
        ward.tick(beats=[("bed", 50)], known=[("bed", 600)])
        log.update({a["id"]: a for a in ward.published})
        return ward

    log: dict[str, dict[str, Any]] = {}
    undisturbed = chunks_of(begun(), 600, 20_000)
    log.clear()
    before = chunks_of(begun(), 600, due_by)
    of_log = [a for a in log.values() if a["state"] != "off"]
    successor = begun()
    chunks_of(successor, 600, due_by)
    lifecycle.adopt(successor.lifecycle, of_log)
    alert.adopt(successor.alert, of_log)
    assert [*before, *chunks_of(successor, due_by, 20_000)] == undisturbed
    assert undisturbed == [("latched", k) for k in range(4)]
