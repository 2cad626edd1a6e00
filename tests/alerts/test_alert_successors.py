"""Alerts of a log that a successor takes over: which go on, and when the others end."""

import random
from typing import Any

import numpy as np
import pytest
from beatwire.alerts.rule import alert_id
from beatwire.alerts.rules import NUMBERS, RULES
from beatwire.kernels.alerts import alert_state
from beatwire.kernels.alerts.unjudged import IS_LIVING
from beatwire.stages import lifecycle
from beatwire.stages.judging import alert
from bedside import Ward, device_chunk, rows_of
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize("changed", [{"session": 2}, {"first": 900}], ids=["another session", "the same session"])
def test_after_a_silence_alerts_end_equally_with_a_successor_that_replayed_nothing_of_the_stream(
    changed: dict[str, int],
) -> None:
    two = {"samples": np.zeros((2, 10), np.int16), "lead_off": 2}
    ward, successor = Ward(), Ward()
    begun = ward.tick(device_chunk(**two)) + ward.tick(device_chunk(10, **two), now_us=9_000_000)
    begun += ward.tick(now_us=90_000_000)
    assert rows_of(begun) == [("lead off", "on", 0, 0), ("no data", "on", 20, 20)]
    alert.adopt(successor.alert, begun)
    later = device_chunk(**two | changed | {"arrival_us": 100_000_000})
    ended = ward.tick(later)
    assert successor.tick(later) == ended
    assert [(a["rule"], a["state"], a["session"]) for a in ended][1:] == [
        ("lead off", "off", 1),
        ("lead off", "on", changed.get("session", 1)),
    ]
    assert ended[1]["decided"] == changed.get("first", 20)


def logged(rule: str, onset: int, session: int = 1, state: str = "on", stream: str = "bed") -> dict[str, Any]:
    return {
        "id": alert_id(stream, session, rule, onset), "stream": stream, "session": session,
        "rule": RULES[NUMBERS[rule]].name,
        "priority": RULES[NUMBERS[rule]].priority, "state": state, "onset": onset,
        "onset_us": 10**9 * session + 10_000 * onset,
    }  # fmt: skip


def test_a_successor_takes_over_the_onset_of_an_alert_that_is_on(ward: Ward) -> None:
    found = ward.tick(known=[("bed", 5000)])
    assert rows_of(found) == [("asystole", "on", 400, 400)]
    alert.adopt(
        ward.alert, [logged("asystole", 77), logged("tachycardia", 5), logged("bradycardia", 6, state="latched")]
    )
    ended = ward.tick(beats=[("bed", 6000)])
    assert rows_of(ended) == [("asystole", "latched", 77, 6000), ("tachycardia", "off", 5, 6000)]
    assert ended[0]["id"] == logged("asystole", 77)["id"]


BY_LOG = {*alert_state.OF_BEATS, alert_state.DRIFT}
OF_ITS_CLOCK = {alert_state.NO_DATA, alert_state.NOT_MONITORED}
ONSETS = st.dictionaries(st.integers(0, alert_state.RULES - 1), st.integers(0, 9), max_size=12)


@settings(max_examples=draws(100))
@given(
    replayed=ONSETS, in_log=ONSETS, held=st.sets(st.integers(0, alert_state.RULES - 1)), living=st.booleans(),
    session=st.sampled_from([1, 2]), state=st.sampled_from(["on", "ack", "latched"]),
)  # fmt: skip
def test_what_the_replay_found_and_what_the_log_has_decide_of_each_rule_whether_it_is_on(
    replayed: dict[int, int], in_log: dict[int, int], held: set[int], session: int, state: str, living: bool
) -> None:
    ward, keys = Ward(), list(NUMBERS)
    ward.tick(device_chunk())
    row = ward.alert.slots[0]
    onsets = row[alert_state.FIRST_ONSET :]
    row[alert_state.SIGNAL + IS_LIVING] = living
    for rule, onset in replayed.items():
        onsets[rule] = 10 + onset
    log = {rule: logged(keys[rule], onset, session, state) for rule, onset in in_log.items()}
    found = log if state != "latched" else {}
    over = alert.adopt(
        ward.alert,
        [{"id": "s", "rule": "samples lost", "priority": "high", "stream": "bed", "state": "on"}, *log.values()],
        {one["id"] for rule, one in log.items() if rule in held},
    )
    for rule, onset in enumerate(onsets.tolist()):
        is_same, by_replay = rule in found and session == 1, 10 + replayed[rule] if rule in replayed else -1
        if rule in BY_LOG:
            assert onset == (in_log[rule] if is_same and rule not in held else -1)
        else:
            is_on = rule in replayed or (rule == alert_state.ASYSTOLE and not living)
            goes_on = rule in found if rule == alert_state.NO_DATA else is_same and is_on
            assert onset == (in_log[rule] if goes_on else by_replay)
    assert over == {one["id"] for rule, one in found.items() if onsets[rule] < 0 and rule not in OF_ITS_CLOCK}


def test_of_two_logs_the_later_one_says_what_is_on_of_a_stream_that_comes_after_both(ward: Ward) -> None:
    alert.adopt(ward.alert, [logged("no data", 5, stream="bed-9")])
    alert.adopt(ward.alert, [])
    assert rows_of(ward.tick(device_chunk(stream="bed-9"))) == []


@pytest.mark.parametrize("possible", [True, False])
def test_a_successor_takes_over_an_irregular_rhythm_that_may_go_on(ward: Ward, possible: bool) -> None:
    ward.tick(beats=[("bed", 6000)], atrial_possible=possible)
    alert.adopt(ward.alert, [logged("irregular rhythm", 77)])
    ward.tick(beats=[("bed", 6100)], atrial_possible=possible)
    assert alert.active(ward.alert)["irregular rhythm"] == possible


@settings(max_examples=30)
@given(seed=st.integers(0, 1 << 32), silence_s=st.integers(30, 240))
def test_alerts_of_beats_go_on_through_a_silence_that_is_longer_than_what_is_replayed(
    seed: int, silence_s: int
) -> None:
    rng, whole, successor = random.Random(seed), Ward(), Ward()
    stop = 6000 + 100 * silence_s
    begin = max(0, stop - 13_000)

    def tick(ward: Ward, first: int, end: int, beats: list[int]) -> list[tuple[Any, ...]]:
        of = random.Random(seed)
        drawn = {at: (of.choice([30.0, 70.0, 190.0]), of.choice("NNV"), of.choice([-3.0, 2.0])) for at in every}
        rows = [("bed", at, drawn[at][0]) for at in beats]
        classes, runs = "".join(drawn[at][1] for at in beats), [drawn[at][2] for at in beats]
        ward.tick(device_chunk(first, end - first), beats=rows, classes=classes, runs=runs, known=[("bed", end)])
        log.update((one["id"], one) for one in ward.published if ward is whole)
        return sorted((one["rule"], one["state"], one["id"], one["decided"]) for one in ward.published)

    log = dict[str, dict[str, Any]]()
    before = sorted(rng.sample(range(50, 6000, 35), 60))
    after = sorted(rng.sample(range(stop + 50, stop + 3000, 35), 30))
    every = [*before, *after]
    tick(whole, 0, 6000, before)
    tick(whole, 6000, stop, [])
    tick(successor, begin, stop, [at for at in before if at > begin])
    alerts = [one for one in log.values() if one["state"] != "off"]
    over = alert.adopt(successor.alert, alerts, successor.lifecycle.alerts.held.keys())
    lifecycle.adopt(successor.lifecycle, alerts, (), over)
    for first, end in ((stop, after[0]), (after[0], stop + 3000)):
        beats = [at for at in after if first <= at < end]
        assert tick(successor, first, end, beats) == tick(whole, first, end, beats)


def test_an_alert_of_an_older_session_is_not_taken_over_by_a_newer_one(ward: Ward) -> None:
    ward.tick(known=[("bed", 5000)])
    alert.adopt(ward.alert, [logged("asystole", 77, session=0)])
    assert rows_of(ward.tick(beats=[("bed", 6000)])) == [("asystole", "latched", 400, 6000)]


@pytest.mark.parametrize("session", [1, 2])
def test_alerts_of_a_stream_without_messages_in_the_replay_end_with_its_next_chunk(session: int) -> None:
    ward = Ward()
    on = [logged("asystole", 400), logged("no data", 900), logged("lead off", 30), logged("flat line", 20)]
    on += [logged("cannot analyse", 10), logged("conflicting senders", 15)]
    alert.adopt(ward.alert, [*on, logged("asystole", 3, stream="another")])
    assert ward.tick(now_us=10**9) == []
    transitions = ward.tick(device_chunk(1000, session=session, arrival_us=10**9), now_us=10**9)
    assert {(a["rule"], a["state"], a["onset"]) for a in transitions} == {
        ("asystole", "latched", 400),
        ("no data", "off", 900),
        ("lead off", "off", 30),
        ("flat line", "off", 20),
        ("cannot analyse", "off", 10),
        ("conflicting senders", "off", 15),
    }
    assert {a["id"] for a in transitions} == {a["id"] for a in on}
    assert {a["id"]: a["onset_us"] for a in transitions} == {a["id"]: a["onset_us"] for a in on}
    assert all(a["decided_us"] >= a["onset_us"] for a in transitions)


@pytest.mark.parametrize(("rule", "state", "end"), [
    ("no data", "on", "off"), ("lead off", "ack", "off"), ("asystole", "on", "latched"), ("asystole", "ack", "off"),
])  # fmt: skip
def test_alerts_of_a_stream_that_never_returns_after_a_takeover_end_as_with_eviction(
    rule: str, state: str, end: str
) -> None:
    ward = Ward()
    alerts = [logged(rule, 30, state=state), logged(rule, 30, state=state, stream="returns")]
    alerts = [{"limit": 2.0, "decided": 30, "decided_us": 0} | one for one in alerts]
    feed = {**alerts[0], "rule": "no data", "priority": "high", "stream": "ecg.samples", "id": "feed", "state": "ack"}
    lifecycle.adopt(ward.lifecycle, [*alerts, feed], (), alert.adopt(ward.alert, alerts))
    day_us, found = 86_400 * 10**6, list[tuple[str, str]]()
    for at_us in (day_us, 2 * day_us - 10**6, 2 * day_us, 2 * day_us + 10**6, 3 * day_us):
        chunks = [device_chunk(100, stream="returns", arrival_us=at_us)] if at_us == 2 * day_us else []
        ward.tick(*chunks, now_us=at_us)
        found += [(one["stream"], one["state"]) for one in ward.published if one["state"] in ("off", "latched")]
    ended = [(stream, state) for stream, state in found if stream == "bed"]
    assert ended == [("bed", end)]
    assert [own for stream, own in found if stream == "returns"][:1] == [end]
    assert ward.tick(device_chunk(100, arrival_us=3 * day_us), now_us=3 * day_us) == [], "it is a new stream"
    assert "feed" in ward.lifecycle.alerts.by_id
