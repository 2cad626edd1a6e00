"""The state behind the live page: order and search, alerts in force, acknowledgements, beats, forgotten streams."""

import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import fastavro
import numpy as np
import pytest
from beatwire.alerts.rules import RULES
from beatwire.alerts.settings import Settings as AlertSettings
from beatwire.kafka.reading.follower import Record
from beatwire.model.checkpoint import SHIPPED, fold_path, load_model
from beatwire.page import beat_log
from beatwire.page.beat_log import BeatLog
from beatwire.page.population import decode, population, training_beats
from beatwire.page.rules import rule_list
from beatwire.page.ward import FORGET_US, Ward
from beatwire.records import RawTick
from beatwire.wire.avro import encode_chunk, schema
from beatwire.wire.names import ACKS, ALERTS, BEATS
from laws import START_US

SAMPLES = np.arange(50, dtype=np.int16)


def alert(stream: str, rule: str = "tachycardia", state: str = "on", **changed: Any) -> Record:
    number = next(k for k, r in enumerate(RULES) if r.name == rule)
    name = f"{abs(hash((stream, rule))):032x}"[:32]
    value = {
        "id": name, "stream": stream, "session": 1, "rule": rule, "priority": RULES[number].priority,
        "technical": RULES[number].technical, "state": state, "onset": 0, "onset_us": START_US, "decided": 0,
        "decided_us": START_US, "value": 130.0, "limit": 120.0, "text": rule, "model": "m",
    }  # fmt: skip
    return Record(ALERTS, name.encode(), json.dumps(value | changed).encode())


def beat(stream: str, at_s: float, **changed: Any) -> Record:
    time = datetime.fromtimestamp(START_US / 1e6, UTC) + timedelta(seconds=at_s)
    value = {
        "stream": stream, "session": 1, "sample": round(at_s * 250), "time": time, "rr_ms": 800.0, "rate_bpm": 75.0,
        "response": 1.0, "quality": 0.99, "score": 0.5, "prematurity": 0.0, "scored_by": "history", "model": "m",
        "arrived": time, "expected_errors": 0.0, "map_x": 1.0, "map_y": None,
    }  # fmt: skip
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, schema("beat"), value | changed)
    return Record(BEATS, stream.encode(), buffer.getvalue())


def ward_of(*streams: str) -> Ward:
    ward = Ward()
    send(ward, *streams)
    return ward


def send(ward: Ward, *streams: str, first: int = 0, now_us: int = START_US, **changed: Any) -> None:
    values = [
        encode_chunk(stream, 1, first, START_US + first * 4000, 250.0, ["II"], SAMPLES, **changed) for stream in streams
    ]
    ward.add_samples(RawTick.of(values, now_us=now_us))


def names(ward: Ward, query: str = "", offset: int = 0, limit: int = 64, now_us: int = START_US) -> list[str]:
    return [bed["stream"] for bed in ward.part(query, offset, limit, now_us)["beds"]]


def bed(ward: Ward, stream: str, now_us: int = START_US) -> dict[str, Any]:
    found = ward.bed(stream, now_us)
    assert found is not None
    return found


def test_the_ward_is_sorted_by_priority_and_then_by_the_numbers_in_the_ids() -> None:
    ward = ward_of("bed-10", "bed-9", "icu-1", "bed-1")
    assert names(ward) == ["bed-1", "bed-9", "bed-10", "icu-1"]
    ward.add_records([alert("bed-10", "anomalous beats"), alert("icu-1", "asystole"), alert("bed-9", "lead off")])
    assert names(ward) == ["icu-1", "bed-9", "bed-10", "bed-1"]
    assert ward.part("", 0, 0, START_US)["counts"] == {"high": 1, "medium": 1, "low": 1}


def acknowledgement(of: Record, **changed: Any) -> Record:
    value = json.loads(of.value or b"")
    ack = {"alert": value["id"], "stream": value["stream"], "by": "Ada", "at_us": START_US + 5} | changed
    return Record(ACKS, of.key, json.dumps(ack).encode())


def test_a_bed_that_somebody_has_acknowledged_stands_behind_those_of_its_priority_that_nobody_has() -> None:
    ward = ward_of("bed-1", "bed-2", "bed-3", "bed-4")
    high, other = alert("bed-1", "no data"), alert("bed-2", "asystole", "latched")
    ward.add_records([high, other, alert("bed-3", "asystole"), alert("bed-4", "tachycardia")])
    assert names(ward) == ["bed-1", "bed-3", "bed-2", "bed-4"], "what goes on stands before what has ended"
    ward.add_records([acknowledgement(high)])
    assert names(ward) == ["bed-3", "bed-2", "bed-1", "bed-4"]
    ward.add_records([acknowledgement(other, stream="bed-3")])
    assert names(ward) == ["bed-3", "bed-2", "bed-1", "bed-4"], "the monitor ignores what names another stream"
    assert bed(ward, "bed-2")["alerts"][0]["state"] == "latched"
    ward.add_records([alert("bed-1", "extreme tachycardia")])
    assert names(ward) == ["bed-1", "bed-3", "bed-2", "bed-4"]
    assert ward.part("", 0, 0, START_US)["counts"] == {"high": 3, "medium": 1, "low": 0}


def test_the_ward_is_searched_in_any_case_and_shown_in_parts() -> None:
    ward = ward_of(*(f"bed-{k}" for k in range(12)), "ICU-3")
    assert names(ward, "icu") == ["ICU-3"]
    part = ward.part("bed", 10, 5, START_US)
    assert (part["total"], part["streams"], part["offset"], len(part["beds"])) == (12, 13, 10, 2)
    assert ward.part("nothing", 0, 64, START_US)["beds"] == []
    assert len(names(ward, "bed", 500)) == 1, "an offset beyond the end is the last bed"


def test_an_alert_is_in_force_until_it_is_off_and_the_stream_need_not_be_known() -> None:
    ward = Ward()
    changed: list[set[str]] = []
    ward.listeners.append(changed.append)
    ward.add_records([alert("bed-7", "no data")])
    assert names(ward) == ["bed-7"]
    assert bed(ward, "bed-7")["state"] == "stale"
    ward.add_records([alert("bed-7", "asystole", "latched"), alert("bed-7", "no data", "off")])
    assert [(a["rule"], a["state"]) for a in ward.alerts_of("bed-7")] == [("asystole", "latched")]
    ward.add_records([alert("bed-7", "asystole")._replace(value=None)])
    assert ward.alerts_of("bed-7") == []
    assert ward.alarmed() == set()
    assert changed == [{"bed-7"}] * 3


def test_a_stream_whose_alerts_have_all_ended_is_not_in_the_ward_for_them() -> None:
    ward = Ward()
    ward.add_records([alert("bed-7"), alert("bed-7", state="off"), alert("bed-8", "asystole")])
    assert names(ward) == ["bed-8"]


def test_an_acknowledgement_is_shown_whether_it_arrives_before_or_after_its_alert() -> None:
    for order in (1, -1):
        ward = Ward()
        asystole = alert("bed-1", "asystole")
        ward.add_records([asystole, acknowledgement(asystole)][::order])
        (shown,) = ward.alerts_of("bed-1")
        assert (shown["state"], shown["ack_by"], shown["ack_us"]) == ("ack", "Ada", START_US + 5)


def test_an_alarm_that_goes_on_stands_before_one_of_its_priority_that_has_ended() -> None:
    ward = Ward()
    newer = {"decided_us": START_US + 9}
    ward.add_records([
        alert("bed-1", "tachycardia", decided_us=START_US + 99), alert("bed-1", "no data", "ack", **newer),
        alert("bed-1", "asystole", "latched", **newer), alert("bed-1", "extreme tachycardia"),
        alert("bed-1", "extreme bradycardia", **newer), alert("bed-1", "lead off", decided_us=0),
    ])  # fmt: skip
    assert [a["rule"] for a in ward.alerts_of("bed-1")] == [
        "extreme bradycardia", "extreme tachycardia", "asystole", "no data", "tachycardia", "lead off",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "changed", [{"value": float("nan")}, {"stream": "\ud800"}, {"stream": "x" * 65}, {"text": 3}, {"priority": "grave"}]
)
def test_an_alert_that_a_browser_could_not_show_is_counted_and_left_out(changed: dict[str, Any]) -> None:
    ward = Ward()
    ward.add_records([alert(**({"stream": "bed-1", "rule": "asystole"} | changed))])
    assert ward.figures["rejected"] == 1
    assert names(ward) == []


def test_a_beat_with_numbers_out_of_range_is_shown_without_them() -> None:
    ward = ward_of("bed-1")
    ward.add_records([beat("bed-1", 0.1, rate_bpm=float("inf"), score=float("inf"), map_x=float("-inf"))])
    _, found = ward.beats_since(0, ward.slots(["bed-1"]), {"bed-1"})
    text = json.dumps([found, bed(ward, "bed-1")], allow_nan=False)
    assert '"bpm": null' in text


@pytest.mark.parametrize(
    "value", [b"", b"[]", b"\xff", b'{"id": 3}', b'{"state": "on"}', b"[" * 5000, b'{"id": "k", "stream": ""}']
)
def test_malformed_alerts_and_acknowledgements_are_counted_and_change_nothing(value: bytes) -> None:
    ward = Ward()
    ward.add_records([Record(ALERTS, b"k", value), Record(ACKS, b"k", value), Record(BEATS, b"k", value or b"x")])
    assert ward.figures["rejected"] == 3
    assert names(ward) == []


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


def test_a_rate_is_not_shown_when_the_stream_is_stale_or_without_beats() -> None:
    ward = ward_of("bed-1")
    ward.add_records([beat("bed-1", 0.1)])
    assert bed(ward, "bed-1")["bpm"] == 75.0
    stale = bed(ward, "bed-1", now_us=START_US + 2_000_001)
    assert (stale["state"], stale["bpm"], stale["arrived_us"]) == ("stale", None, START_US)
    send(ward, "bed-1", first=1500)
    assert (bed(ward, "bed-1")["state"], bed(ward, "bed-1")["bpm"]) == ("live", None)


@pytest.mark.parametrize("rule", sorted({rule.name for rule in RULES if rule.prevents}))
def test_a_rate_is_not_shown_while_it_cannot_be_told(rule: str) -> None:
    ward = ward_of("bed-1")
    ward.add_records([beat("bed-1", 0.1), alert("bed-1", "noise")])
    assert bed(ward, "bed-1")["bpm"] == 75.0
    ward.add_records([alert("bed-1", rule)])
    assert bed(ward, "bed-1")["bpm"] is None
    for state, bpm in (("latched", 75.0), ("ack", None), ("off", 75.0)):
        ward.add_records([alert("bed-1", rule, state)])
        assert bed(ward, "bed-1")["bpm"] == bpm


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
    assert after(90, step=30) == [], "chunks of half a minute come late, not samples without a monitor"


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
