"""The state behind the live page: a bed with its rate and beats, forgotten streams, rules, the population."""

import json
from datetime import UTC, datetime

import numpy as np
import pytest
from beatwire.alerts.rules import RULES
from beatwire.alerts.settings import Settings as AlertSettings
from beatwire.kafka.reading.record import Record
from beatwire.model.checkpoint import SHIPPED, fold_path, load_model
from beatwire.page import beat_log
from beatwire.page.beat_log import BeatLog
from beatwire.page.population import decode, population, training_beats
from beatwire.page.rules import rule_list
from beatwire.page.ward import FORGET_US, Ward
from hypothesis import given
from hypothesis import strategies as st
from laws import START_US
from page_ward import alert, beat, bed, names, send, ward_of


def test_a_bed_has_its_rate_and_the_class_of_its_last_eight_beats() -> None:
    ward = ward_of("bed-1")
    assert (bed(ward, "bed-1")["bpm"], bed(ward, "bed-1")["beats"]) == (None, [])
    ward.add_records([beat("bed-1", 0.05 * k) for k in range(9)])
    ward.add_records([beat("bed-1", 0.5, score=3.5), beat("bed-1", 0.6, score=4.0, prematurity=0.2)])
    ward.add_records([beat("bed-1", 0.7, score=None, rate_bpm=88.26, beat_class="V")])
    shown = bed(ward, "bed-1")
    assert [b["beat_class"] for b in shown["beats"]] == [None] * 7 + ["V"]
    assert [b["class"] for b in shown["beats"]] == ["normal"] * 5 + ["anomalous", "premature", "unscored"]
    assert (shown["bpm"], shown["quality"], shown["score"]) == (88.3, 0.99, None)


def test_rate_and_quality_are_not_shown_when_the_stream_is_stale_or_without_beats() -> None:
    ward = ward_of("bed-1")
    ward.add_records([beat("bed-1", 0.1)])
    assert (bed(ward, "bed-1")["bpm"], bed(ward, "bed-1")["quality"]) == (75.0, 0.99)
    stale = bed(ward, "bed-1", now_us=START_US + 2_000_001)
    assert (stale["state"], stale["arrived_us"]) == ("stale", START_US)
    assert (stale["bpm"], stale["quality"]) == (None, None)
    send(ward, "bed-1", first=1500)
    assert (bed(ward, "bed-1")["state"], bed(ward, "bed-1")["bpm"], bed(ward, "bed-1")["quality"]) == (
        "live",
        None,
        None,
    )


@pytest.mark.parametrize("rule", sorted({rule.name for rule in RULES if rule.prevents}))
def test_rate_and_quality_are_not_shown_while_they_cannot_be_told(rule: str) -> None:
    ward = ward_of("bed-1")
    ward.add_records([beat("bed-1", 0.1), alert("bed-1", "noise")])
    for state, there in ((None, True), ("on", False), ("latched", True), ("ack", False), ("off", True)):
        ward.add_records([alert("bed-1", rule, state)] if state else [])
        shown = bed(ward, "bed-1")
        assert (shown["bpm"], shown["quality"]) == ((75.0, 0.99) if there else (None, None)), state


def test_a_bed_whose_first_lead_is_off_says_so() -> None:
    ward = Ward()
    send(ward, "bed-1", lead_off=1)
    assert bed(ward, "bed-1")["state"] == "lead off"


def test_each_reader_has_its_own_cursor_and_a_slow_one_skips_what_is_gone() -> None:
    ward = ward_of("bed-1")
    slot = ward.slots(["bed-1", "nobody"])["bed-1"]
    epoch, block = ward.samples_since(slot, -1, 0, 1)
    assert block is not None
    assert (block.first, block.samples.shape) == (0, (1, 50))
    for k in range(1, 100):
        send(ward, "bed-1", first=50 * k)
    _, fast = ward.samples_since(slot, epoch, 4950, 1)
    _, slow = ward.samples_since(slot, epoch, 50, 1)
    assert fast is not None
    assert slow is not None
    assert (fast.first, fast.samples.shape[1]) == (4950, 50)
    assert slow.first > 2000
    assert slow.first + slow.samples.shape[1] == 5000
    assert ward.samples_since(slot, epoch, 5000, 1)[1] is None


def test_a_watched_stream_gets_the_beats_of_ten_minutes_once_and_then_the_new_ones() -> None:
    ward = Ward()
    ward.add_records([beat("a", at) for at in (0.0, 1.0, 650.0, 651.0)] + [beat("b", 651.0)])
    slots = ward.slots(["a", "b"])
    place, found = ward.beats_since(0, {"a": slots["a"]}, {"a"})
    assert [row["sample"] for row in found["a"]] == [162_500, 162_750]
    assert found["a"][0] | {"x": 1.0, "y": None, "rr_ms": 800.0, "scored_by": "history"} == found["a"][0]
    ward.add_records([beat("a", 652.0), beat("b", 652.0)])
    _, found = ward.beats_since(place, slots, {"b"})
    assert [row["sample"] for row in found["a"]] == [163_000]
    assert [row["sample"] for row in found["b"]] == [162_750, 163_000]


def test_beats_of_a_device_whose_clock_was_set_back_are_those_by_its_present_clock() -> None:
    ward = ward_of("bed-1")
    ward.add_records([beat("bed-1", at_s) for at_s in (3600.0, 3601.0, 1.0, 2.0)])
    _, found = ward.beats_since(0, ward.slots(["bed-1"]), {"bed-1"})
    assert [row["time_us"] - START_US for row in found["bed-1"]] == [1_000_000, 2_000_000]


def test_a_stream_of_which_neither_a_beat_nor_a_reason_comes_is_said_not_to_be_analysed() -> None:
    ward = Ward()

    def after(seconds: int, *heard: Record, step: int = 1) -> list[str]:
        """Send samples each second; return the streams that are not analysed then."""
        nonlocal now_s
        for _ in range(0, seconds, step):
            now_s += step
            send(ward, "bed-1", "bed-2", first=250 * now_s, now_us=START_US + now_s * 1_000_000)
            ward.add_records(heard)
        part = ward.part("", 0, 64, START_US + now_s * 1_000_000)
        found = [bed["stream"] for bed in part["beds"] if bed["state"] == "not analysed"]
        assert part["unanalysed"] == len(found)
        return sorted(found)

    now_s = 0
    assert after(15) == []
    assert after(3) == ["bed-1", "bed-2"], "no monitor runs"
    assert after(20, beat("bed-1", 0.0)) == ["bed-2"]
    assert after(1, alert("bed-2", "lead off")) == []
    assert after(20, beat("bed-1", 1.0)) == []
    assert after(1, beat("bed-1", 1.0), alert("bed-2", "lead off", "off"), alert("bed-2", "asystole", "latched")) == [
        "bed-2"
    ]
    assert after(18, beat("bed-2", 1.0)) == ["bed-1"], "the worker of one of them has ended"
    assert after(18, alert("bed-1", "tachycardia")) == ["bed-1", "bed-2"], "an alert that is left explains nothing"
    assert ward.part("", 0, 64, START_US + (now_s + 3) * 1_000_000)["unanalysed"] == 0, "no samples come"
    assert after(90, step=30) == [], "chunks of half a minute come late, not samples without a monitor"


@given(st.integers(0, 100_000))
def test_a_clock_that_is_set_back_hides_neither_a_silent_stream_nor_one_that_is_not_analysed(back_s: int) -> None:
    ward = ward_of("sending", "silent")
    ward.add_records([beat("sending", 0.1)])
    for k in range(1, 100):  # 20 s
        now_us = START_US + k * 200_000 - back_s * 1_000_000
        send(ward, "sending", first=50 * k, now_us=now_us)
    part = ward.part("", 0, 64, now_us)
    assert [(bed["stream"], bed["state"]) for bed in part["beds"]] == [("sending", "not analysed"), ("silent", "stale")]
    assert part["unanalysed"] == 1
    ward.add_records([beat("sending", 19.0)])
    assert bed(ward, "sending", now_us)["state"] == "live"


def test_the_log_of_beats_is_bounded_and_keeps_the_newest() -> None:
    log, at = BeatLog(most=6_000), START_US / 1e6
    one = {"scored_by": "history", "score": 1.0, "quality": 1.0, "prematurity": None}
    for k in range(30):
        beats = [
            one | {"sample": 400 * k + j, "time": datetime.fromtimestamp(at + k, UTC), "rate_bpm": None}
            for j in range(400)
        ]
        log.add([j % 4 for j in range(400)], beats)
    assert log.total == 12_000
    rows = log.recent(3)
    assert rows["sample"].tolist() == list(range(6003, 12_000, 4))
    assert log.since(11_990, [0, 1])["sample"].tolist() == [11_992, 11_993, 11_996, 11_997]
    log.forget([3])
    assert not len(log.recent(3))
    assert beat_log.BEAT.itemsize * beat_log.MOST_BEATS < 85e6


def test_streams_that_are_silent_for_an_hour_are_forgotten_unless_an_alert_is_in_force() -> None:
    ward = ward_of("bed-1", "bed-2", "bed-3")
    ward.add_records([alert("bed-2", "no data"), beat("bed-1", 1.0)])
    send(ward, "bed-3", first=50, now_us=START_US + FORGET_US)
    ward.forget_silent(START_US + FORGET_US + 1)
    assert names(ward) == ["bed-2", "bed-3"]
    send(ward, "bed-4", now_us=START_US + FORGET_US)
    assert ward.slots(["bed-4"]) == {"bed-4": 0}, "its number is free for another stream"
    assert bed(ward, "bed-4")["beats"] == []


def test_the_hour_of_a_stream_that_is_known_by_a_beat_alone_begins_when_that_is_read() -> None:
    ward = Ward()
    ward.add_records([beat("bed-1", 0.0)])
    for at_us, there in ((0, ["bed-1"]), (FORGET_US, ["bed-1"]), (FORGET_US + 1, [])):
        ward.forget_silent(START_US + at_us)
        assert names(ward) == there


def test_a_rate_is_not_that_of_a_beat_before_the_clock_of_the_device_was_set_back() -> None:
    ward = ward_of("bed-1")
    ward.add_records([beat("bed-1", 3600.0)])
    assert bed(ward, "bed-1")["bpm"] is None


def test_a_reader_that_is_behind_the_log_gets_each_beat_that_is_left_once() -> None:
    log = BeatLog(8)
    one = {"scored_by": "history", "score": 1.0, "quality": 1.0, "prematurity": None, "rate_bpm": None}
    for k in range(21):
        log.add([k % 2], [one | {"sample": k, "time": datetime.fromtimestamp(k, UTC)}])
    assert log.since(0, [0, 1])["sample"].tolist() == list(range(13, 21))
    assert log.since(19, [0])["sample"].tolist() == [20]


def test_who_looks_at_a_stream_while_it_is_forgotten_sees_it_when_it_comes_again() -> None:
    ward = ward_of("bed-1")
    (slot,) = ward.slots(["bed-1"]).values()
    send(ward, "bed-1", first=1000)
    epoch, block = ward.samples_since(slot, -1, 0, 1)
    assert block is not None
    ward.forget_silent(START_US + FORGET_US + 1)
    send(ward, "bed-1", now_us=START_US + 2 * FORGET_US)
    assert ward.slots(["bed-1"]) == {"bed-1": slot}
    now, again = ward.samples_since(slot, epoch, block.first + block.samples.shape[1], 1)
    assert again is not None
    assert (again.first, now != epoch) == (0, True)


def test_every_rule_is_explained_with_the_limit_in_force() -> None:
    rules = rule_list(AlertSettings.of(asystole_s=5.0), drift=0.9)
    assert {rule["rule"] for rule in rules} == {rule.name for rule in RULES}
    own = (rule.priority for rule in RULES if not rule.raises)
    assert [rule["priority"] for rule in rules] == sorted(own, key="high medium low".find)
    by_name = {rule["rule"]: rule for rule in rules}
    assert by_name["asystole"]["default"] == "5 s"
    assert "No heartbeat for 5 s" in by_name["asystole"]["definition"]
    assert by_name["drift"]["default"] == "0.9"
    assert not any("{" in rule["definition"] for rule in rules)


def test_the_beats_of_another_model_are_not_shown() -> None:
    other = fold_path(SHIPPED, 0)
    assert population(load_model(other), other)["points"] == []
    assert training_beats(load_model(other), SHIPPED) == []


def test_the_population_is_that_of_the_models_files() -> None:
    model = load_model()
    shown = json.loads(json.dumps(population(model)))
    assert shown["model"] == model.name
    assert np.allclose(shown["region"]["centre"], model.reference.centre @ model.network.map, atol=1e-3)
    assert (np.linalg.eigvalsh(shown["region"]["covariance"]) > 0).all()
    points = np.array(shown["points"])
    assert 1000 < len(points) <= 2000
    assert np.allclose(points.mean(0), shown["region"]["centre"], atol=0.1)
    assert np.allclose(np.cov(points.T), shown["region"]["covariance"], rtol=0.15, atol=0.05)
    x, y, windows = (np.array(shown["decoded"][name]) for name in ("x", "y", "windows"))
    assert windows.shape == (len(x) * len(y), 64)
    assert np.abs(windows).max() == 1.0
    beats = decode(model, model.reference.centre[None] + np.zeros((1, 8)))
    assert 24 <= np.abs(beats[0]).argmax() <= 40, "the R peak is in the middle of the window"
