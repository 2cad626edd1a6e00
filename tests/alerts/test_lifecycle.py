"""What becomes of an alert: acknowledged, held, taken over; on events made by the test."""

from typing import Any

import numpy as np
import pytest
from beatwire.alerts.settings import Lifecycle
from beatwire.errors import UserError
from beatwire.stages import lifecycle
from beatwire.stages.judging import alert
from bedside import Ward, acknowledge, device_chunk, in_asystole, states

HZ = 100


def test_an_alert_that_is_acknowledged_while_it_is_on_ends_with_its_condition_and_is_never_latched(ward: Ward) -> None:
    begun = in_asystole(ward)
    acknowledge(ward, begun)
    ward.tick()
    (taken,) = ward.published
    assert (taken["state"], taken["ack_by"], taken["ack_us"]) == ("ack", "Ada", 7)
    assert taken["text"] == "asystole: no beat for 4 s"
    assert {name: taken[name] for name in ("id", "onset_us", "limit", "definition", "priority")} == {
        name: begun[name] for name in ("id", "onset_us", "limit", "definition", "priority")
    }
    ward.tick(beats=[("bed", 600)])
    (ended,) = ward.published
    assert (ended["id"], ended["state"], ended["ack_by"], ended["decided"]) == (begun["id"], "off", "Ada", 600)


def test_a_latched_alert_is_off_when_it_is_acknowledged(ward: Ward) -> None:
    begun = in_asystole(ward)
    ward.tick(beats=[("bed", 600)])
    assert states(ward.published) == [("asystole", "latched")]
    acknowledge(ward, begun, "Bob")
    ward.tick()
    (ended,) = ward.published
    assert (ended["state"], ended["ack_by"], ended["text"]) == ("off", "Bob", "ended: asystole")
    assert not ward.lifecycle.alerts.by_id
    assert [(r["what"], r["by"], r["before"], r["after"]) for r in ward.audit] == [
        ("acknowledged", "Bob", "latched", "off")
    ]


def test_an_alert_that_the_log_has_lost_can_be_acknowledged_once_it_is_latched(ward: Ward) -> None:
    begun = in_asystole(ward)
    lifecycle.adopt(ward.lifecycle, [])
    ward.tick(beats=[("bed", 2000)])
    assert states(ward.published) == [("asystole", "latched")]
    acknowledge(ward, begun)
    ward.tick()
    assert states(ward.published) == [("asystole", "off")]


def test_an_acknowledgement_of_no_open_alert_or_of_another_stream_is_ignored_and_counted(ward: Ward) -> None:
    begun = in_asystole(ward)
    acknowledge(ward, begun, alert="0" * 32)
    acknowledge(ward, begun, stream="other bed")
    ward.tick()
    assert (ward.published, ward.audit, ward.lifecycle.ignored) == ([], [], 2)
    for _ in range(2):
        acknowledge(ward, begun)
    ward.tick()
    assert states(ward.published) == [("asystole", "ack")]
    assert ward.lifecycle.ignored == 2, "a repetition changes nothing"


def test_of_the_acknowledgements_that_are_kept_the_oldest_are_dropped(
    ward: Ward, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "MOST_GIVEN", 3)
    begun = in_asystole(ward)
    for k in range(5):
        acknowledge(ward, begun, alert=f"{k:032d}")
    ward.tick()
    assert list(ward.lifecycle.given) == [f"{k:032d}" for k in (2, 3, 4)]


@pytest.mark.parametrize(("received_us", "state"), [(0, "ack"), (9_000_000, "ack"), (1_000_000, "on")])
def test_an_acknowledgement_that_is_older_than_its_alert_does_not_count(
    ward: Ward, received_us: int, state: str
) -> None:
    other = Ward()
    other.tick(device_chunk())
    begun = in_asystole(other)
    acknowledge(ward, begun, received_us=received_us)
    late = device_chunk(10, 490, arrival_us=5_000_000)
    ward.tick(late, beats=[("bed", 50)], known=[("bed", 500)], now_us=5_000_000)
    found = [a for a in ward.published if a["rule"] == "asystole"]
    assert (found[-1]["id"], found[-1]["state"]) == (begun["id"], state)


def test_an_alert_of_higher_priority_is_on_although_one_of_its_stream_is_acknowledged(ward: Ward) -> None:
    ward.tick(beats=[("bed", 100, 130)])
    acknowledge(ward, ward.published[0])
    ward.tick()
    assert states(ward.published) == [("tachycardia", "ack")]
    ward.tick(beats=[("bed", 150, 160)])
    assert [(a["rule"], a["state"], a["priority"]) for a in ward.published] == [("extreme tachycardia", "on", "high")]


def off_and_on(ward: Ward, *changes: tuple[int, int], leads: int = 1) -> list[tuple[str, int, int]]:
    """Send chunks whose first lead is off or on from samples on; return (state, onset, decided) of its alerts."""
    found = []
    for first in range(10, 2000, 10):
        mask = [mask for at, mask in changes if at <= first][-1:] or [0]
        samples = np.zeros((leads, 10), np.int16)
        ward.tick(device_chunk(first, samples=samples, lead_off=mask[0]), known=[("bed", first)])
        found += [(a["state"], a["onset"], a["decided"]) for a in ward.published if a["rule"] == "lead off"]
    return found


def flat(ward: Ward, *stretches: tuple[int, int]) -> list[tuple[str, int, int]]:
    """Send blocks, flat from one end to another; return (state, onset, decided) of what is published."""
    found = []
    for end in range(50, 2000, 50):
        is_flat = any(first <= end <= last for first, last in stretches)
        chunk, beats = device_chunk(end - 40, 50), [("bed", end - 5)]
        ward.tick(chunk, beats=beats, blocks=[("bed", end, int(is_flat))], known=[("bed", end)])
        found += [(a["state"], a["onset"], a["decided"]) for a in ward.published if a["rule"] == "flat line"]
    return found


def test_an_alert_that_ends_soon_stays_on_for_five_seconds(ward: Ward) -> None:
    assert flat(ward, (200, 300)) == [("on", 250, 250), ("off", 250, 750)]


def test_an_alert_that_lasts_longer_ends_with_its_condition(ward: Ward) -> None:
    assert flat(ward, (200, 900)) == [("on", 250, 250), ("off", 250, 950)]


def test_an_alert_that_recurs_while_it_is_held_is_the_same_alert(ward: Ward) -> None:
    assert flat(ward, (200, 300), (600, 1000)) == [("on", 250, 250), ("off", 250, 1050)]


@pytest.mark.parametrize("leads", [1, 2])
def test_a_lead_that_loses_contact_again_and_again_is_one_alert_that_ends_five_seconds_after_the_last_time(
    ward: Ward, leads: int
) -> None:
    assert off_and_on(ward, (100, 1), (120, 0)) == [("on", 100, 100), ("off", 100, 620)]
    changes = [(100 * k, k % 2) for k in range(3, 12)]
    assert off_and_on(Ward(), *changes, (1150, 0), leads=leads) == [("on", 300, 300), ("off", 300, 1650)]
    changes = [(100, 1), (200, 0), (720, 1), (800, 0)]
    assert off_and_on(Ward(), *changes, leads=leads) == [
        ("on", 100, 100), ("off", 100, 700), ("on", 720, 720), ("off", 720, 1300),
    ]  # fmt: skip


def test_a_held_alert_ends_at_once_with_its_session(ward: Ward) -> None:
    ward.tick(device_chunk(10, lead_off=1))
    ward.tick(device_chunk(20))
    assert states(ward.published) == []
    ward.tick(device_chunk(0, session=2))
    assert [(a["state"], a["session"]) for a in ward.published] == [("off", 1)]


def test_a_successor_goes_on_with_what_the_log_has(ward: Ward) -> None:
    begun = in_asystole(ward)
    acknowledge(ward, begun)
    ward.tick()
    log = {a["id"]: a for a in ward.published}
    successor = Ward()
    successor.tick(device_chunk())
    assert in_asystole(successor) == begun, "what it replays is discarded"
    lifecycle.adopt(successor.lifecycle, list(log.values()))
    alert.adopt(successor.alert, list(log.values()))
    acknowledge(successor, begun)
    successor.tick(known=[("bed", 6_600)])
    assert successor.published == [], "neither acknowledged nor reminded of again"
    successor.tick(beats=[("bed", 6_700)])
    assert [(a["state"], a["ack_by"]) for a in successor.published] == [("off", "Ada")]


def test_a_successor_ends_an_alert_that_was_held(ward: Ward) -> None:
    ward.tick(device_chunk(10, lead_off=1))
    log = ward.published
    successor = Ward()
    for first in (0, 10, 20):
        successor.tick(device_chunk(first, lead_off=int(first == 10)))
    lifecycle.adopt(successor.lifecycle, log)
    alert.adopt(successor.alert, log)
    successor.tick(device_chunk(30), known=[("bed", 600)])
    lead = [(a["id"], a["state"], a["decided"]) for a in successor.published if a["rule"] == "lead off"]
    assert lead == [(log[0]["id"], "off", 520)]


def test_an_alert_of_a_version_without_acknowledgements_can_be_acknowledged(ward: Ward) -> None:
    begun = in_asystole(ward)
    old = {name: value for name, value in begun.items() if name not in ("ack_by", "ack_us", "reminders", "partition")}
    lifecycle.adopt(ward.lifecycle, [old])
    acknowledge(ward, begun)
    ward.tick()
    assert states(ward.published) == [("asystole", "ack")]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"shortest_s": 61}, "alerts: expected shortest_s of 0 to 60 s; got 61"),
        ({"remind_high_s": 0.5}, "alerts: expected remind_high_s of 0 or at least 1 s; got 0.5"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, float], reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        Lifecycle(**settings)


def test_an_alert_that_only_the_log_has_ends_when_its_rule_begins_anew(ward: Ward) -> None:
    lifecycle.adopt(ward.lifecycle, [in_asystole(ward) | {"id": "f" * 32}])
    ward.tick(beats=[("bed", 600)])
    lifecycle.adopt(ward.lifecycle, [ward.published[0] | {"id": "f" * 32, "state": "on"}])
    ward.tick(known=[("bed", 1100)])
    assert [(a["id"] == "f" * 32, a["state"]) for a in ward.published] == [(True, "off"), (False, "on")]


@pytest.mark.parametrize(("ticks", "last"), [("one", 300), ("each", 300), ("each", 900)])
def test_a_held_alert_of_a_session_that_is_over_ends_the_same_in_every_tick(ticks: str, last: int) -> None:
    ward = Ward()
    ward.tick(device_chunk(100, lead_off=1), known=[("bed", 100)])
    ended = [device_chunk(110, lead_off=1), device_chunk(120, n=last - 120), device_chunk(0, lead_off=1, session=2)]
    found = []
    if ticks == "one":
        ward.tick(*ended)
        found += ward.published
    for chunk in ended if ticks == "each" else ():
        ward.tick(chunk, known=[("bed", chunk.stop)] if chunk.session == 1 else [])
        found += ward.published
    assert [(a["session"], a["state"], a["decided"]) for a in found if a["rule"] == "lead off"] == [
        (1, "off", 620 if last == 900 else 600), (2, "on", 0),
    ]  # fmt: skip


@pytest.mark.parametrize("then", ["a gap", "a silence", "a session", "no contact", "nothing"])
def test_a_held_alert_of_which_no_more_samples_come_is_over_at_once(ward: Ward, then: str) -> None:
    blocks = [("bed", 200, 1), ("bed", 400, 1), ("bed", 600, 0)]
    ward.tick(device_chunk(10, 600), beats=[("bed", 300), ("bed", 550)], blocks=blocks, known=[("bed", 605)])
    assert states(ward.published) == [("flat line", "on")]
    next_chunk = {
        "a gap": device_chunk(5000),
        "a silence": device_chunk(610, arrival_us=61_000_000),
        "a session": device_chunk(0, session=2),
        "no contact": device_chunk(610, lead_off=1),
    }.get(then)
    if next_chunk is None:
        ward.tick(now_us=3_000_000)
    else:
        ward.tick(next_chunk)
    (end,) = (a for a in ward.published if a["rule"] == "flat line")
    assert (end["state"], end["decided"]) == ("off", 900)
    assert end["decided_us"] == end["onset_us"] + 5_000_000


def test_an_alert_that_the_next_session_ends_lasts_as_long_as_any_other() -> None:
    ward = Ward()
    ward.tick(device_chunk(0, 900), beats=[("bed", 290, 130), ("bed", 600, 130)], known=[("bed", 850)])
    ward.tick(device_chunk(0, session=2))
    ended = {(a["rule"], a["state"], a["decided"]) for a in ward.published}
    assert ended == {("tachycardia", "off", 790), ("pause", "off", 1100)}


class Unlooped(dict[str, Any]):
    """A dictionary in which one may look something up, but that may not be looped over."""

    def __iter__(self) -> Any:
        raise AssertionError("all open alerts are looked at")

    values = items = keys = __iter__


def test_a_tick_looks_at_no_open_alert_that_does_not_change(ward: Ward) -> None:
    begun = in_asystole(ward)
    alerts = ward.lifecycle.alerts
    now_us = 600_000_000
    ward.tick(now_us=now_us)
    alerts.by_id = Unlooped(alerts.by_id)
    ward.tick(device_chunk(stream="other", arrival_us=now_us), now_us=now_us + 100_000)
    ward.tick(device_chunk(session=2, stream="other", arrival_us=now_us), now_us=now_us + 2_000_000)
    ward.tick(now_us=now_us + 4_000_000)
    acknowledge(ward, begun)
    ward.tick()
    assert states(ward.published) == [("asystole", "ack")]


def test_what_the_log_has_lost_is_published_again_as_it_is_and_once(ward: Ward) -> None:
    begun = in_asystole(ward)
    acknowledge(ward, begun)
    ward.tick()
    (taken,) = ward.published
    ward.lifecycle.repeat = True
    ward.tick()
    assert ward.published == [taken]
    ward.tick()
    assert ward.published == []
    ward.lifecycle.repeat = True
    ward.tick(beats=[("bed", 600)])
    assert [message["state"] for message in ward.published] == ["ack", "off"]
    ward.lifecycle.repeat = True
    ward.tick()
    assert ward.published == [], "what is off is not lost"
