"""Streams of which no message can be used from the first one on are announced, however their messages are wrong."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from beatwire.pipeline import HORIZON_S, Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import RawTick
from beatwire.stages.support.alerts import turned_away
from beatwire.stages.support.alerts.turned_away import KEY_PAUSE_S, MOST_S, PAUSE_S, Turned, TurnedAway
from beatwire.wire.bundles import encode_bundle
from draws import draws
from hostile_senders import heart
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import START_US
from refused import SECOND_US, Half, as_json, chunk, transitions

FRAME = b"\0" + (7).to_bytes(4, "big")
WRONG = (
    {"rate_hz": 9.0},
    {"rate_hz": float("nan")},
    {"leads": []},
    {"lead_off": 9},
    {"first": -1},
    {"uv_per_unit": -1.0},
)


def test_a_stream_is_announced_until_its_first_chunk_of_use() -> None:
    ward = Half()
    for k in range(6):
        ward.tick(chunk("bed", 125 * k, rate_hz=9.0))
        assert transitions(ward.run, "bed") == ([("bed", "no data", "on")] if k >= 4 else [])
    (begun,) = ward.run.alerts
    assert begun["text"] == "no data: no usable message for 2 s; each was refused"
    assert (begun["priority"], begun["onset_us"], begun["session"]) == ("high", START_US + 500_000, START_US + 500_000)
    for k in range(6, 30):
        ward.tick(chunk("bed", 125 * k))
    assert transitions(ward.run, "bed") == [("bed", "no data", "on"), ("bed", "no data", "off")]
    assert len(ward.run.beats["bed"]) > 5


values = st.sampled_from(WRONG)
names = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=16).filter(
    lambda name: name.isprintable() and not name.startswith("ecg.samples") and '"' not in name and "\\" not in name
)
forms = st.sampled_from(["avro", "framed", "cut", "longer", "json", "spaced json", "bundle", "json bundle"])


@given(names, forms, values, st.integers(1, 8))
@settings(max_examples=draws(40), deadline=None)
def test_the_stream_of_a_message_is_found_in_any_form(name: str, form: str, changed: dict[str, Any], each: int) -> None:
    ward = Half()
    for k in range(6):
        wrong = chunk(name, **({"first": 125 * k} | (changed if form in ("avro", "framed", "bundle") else {})))
        text = as_json(name, 125 * k)
        value = {
            "avro": wrong, "framed": FRAME + wrong, "cut": wrong[:-each], "longer": wrong + bytes(each), "json": text,
            "spaced json": b" \n" + text.replace(b'": ', b'" :\t'),
            "bundle": encode_bundle([chunk("other", 125 * k), wrong, wrong[:-each]]),
            "json bundle": b'{"chunks": [' + as_json("other", 125 * k, rate_hz=250.0) + b", " + text + b"]}",
        }[form]  # fmt: skip
        ward.tick(value)
    assert transitions(ward.run, name) == [(name, "no data", "on")]


def test_a_message_without_an_id_is_of_the_stream_that_its_key_names() -> None:
    ward = Half()
    for _ in range(6):
        ward.tick(b"?", b"\xff", b"{}", b"", keys=[b"bed", None, b"\xff", b"x" * 65])
    assert [a["stream"] for a in ward.run.alerts] == ["bed"]


def test_a_message_whose_id_is_no_text_is_of_the_stream_that_its_key_names() -> None:
    ward = Half()
    for k in range(6):
        wrong = chunk("x\u00b5y", 125 * k).replace("\u00b5".encode(), b"\xff\xfe")
        ward.tick(wrong, encode_bundle([chunk("other", 125 * k), wrong]), keys=[b"bed", b"gateway"])
    assert [a["stream"] for a in ward.run.alerts] == ["bed"]


@pytest.mark.parametrize("block_s", [30, 60, 85])
def test_a_device_that_sends_long_blocks_of_which_none_is_of_use_is_announced(block_s: int) -> None:
    ward = Half()
    for _ in range(3):
        ward.tick(chunk("bed", rate_hz=9.0))
        for _ in range(2 * block_s - 1):
            ward.tick()
    assert transitions(ward.run, "bed") == [("bed", "no data", "on")]


@pytest.mark.parametrize("back_s", [1, 60, 3600])
def test_a_stream_is_announced_also_when_the_clock_is_set_back(back_s: int) -> None:
    ward = Half()
    ward.now_us += back_s * SECOND_US
    for k in range(200):
        ward.now_us -= back_s * SECOND_US if k == 2 else 0
        ward.tick(chunk("bed", 125 * k, rate_hz=9.0))
    assert transitions(ward.run, "bed") == [("bed", "no data", "on")]


def test_ids_that_never_come_again_displace_none_that_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turned_away, "MOST_KNOWN", 50)
    ward = Half(replace(Settings(), evict_s=2 * HORIZON_S))
    turned = ward.pipeline.lifecycle.state.turned
    ward.tick(chunk("bed", rate_hz=9.0), chunk("bed", rate_hz=9.0))
    for k in range(20):
        ward.tick(*(chunk(f"{k}-{n}", rate_hz=9.0) for n in range(30)))
        assert len(turned.streams) <= 50
    assert transitions(ward.run, "bed") == [("bed", "no data", "on")]
    assert ward.pipeline.rewind_tick(0) > 15
    ward.now_us += 91 * SECOND_US
    ward.tick()
    assert list(turned.streams) == ["bed"]


def test_a_stream_whose_rate_changes_with_each_message_is_announced() -> None:
    ward = Half()
    for k in range(40):
        ward.tick(chunk("neighbour", 125 * k), chunk("bed", 125 * k, session=k, rate_hz=100.0 + k))
    assert ("bed", "no data", "on") in transitions(ward.run, "bed")
    assert transitions(ward.run, "neighbour") == []


def test_a_stream_for_which_there_is_no_room_is_not_monitored() -> None:
    ward = Half(replace(Settings(), most_streams=1))
    for k in range(6):
        ward.tick(chunk("first", 125 * k), chunk("second", 125 * k))
    assert [(a["stream"], a["rule"], a["text"]) for a in ward.run.alerts] == [
        ("second", "not monitored", "not monitored: no room for another stream")
    ]


def test_an_alert_ends_when_the_device_has_been_switched_off() -> None:
    ward = Half()
    for k in range(6):
        ward.tick(chunk("bed", 125 * k, rate_hz=9.0))
    ward.now_us += 200 * SECOND_US
    ward.tick()
    assert len(transitions(ward.run, "bed")) == 1
    ward.now_us += 200 * SECOND_US
    ward.tick()
    assert transitions(ward.run, "bed") == [("bed", "no data", "on"), ("bed", "no data", "off")]
    assert not ward.pipeline.lifecycle.state.turned.streams


def test_a_message_now_and_then_that_cannot_be_read_is_no_stream_without_data() -> None:
    ward = Half()
    for _ in range(8):
        ward.tick(b"?", keys=[b"gateway"])
        for k in range(30):
            ward.tick(chunk("bed", 125 * k))
    assert transitions(ward.run, "gateway") == []


def test_without_a_time_no_mark_is_held_back() -> None:
    pipeline = Pipeline(Settings())
    for k in range(12):
        pipeline.emit(
            RawTick.of([chunk("bed", 4000 * k, rate_hz=9.0), chunk("other", 30_000 * k, samples=heart(1, 0, 30_000))])
        )
    assert pipeline.rewind_tick(0) > 0


def test_a_stream_that_has_become_silent_is_announced_if_its_message_has_come_again() -> None:
    ward = Half()
    ward.tick(chunk("one", rate_hz=9.0), chunk("two", rate_hz=9.0))
    ward.tick(chunk("two", rate_hz=9.0), chunk("three", rate_hz=9.0), chunk("placed"))
    ward.tick(chunk("three", rate_hz=9.0), chunk("three", rate_hz=9.0))
    ward.tick(chunk("three"))
    for _ in range(3):
        ward.tick()
    assert transitions(ward.run, "one", "two", "three") == [("two", "no data", "on")]


def test_an_alert_lasts_as_long_as_messages_are_refused() -> None:
    ward = Half(replace(Settings(), evict_s=2 * HORIZON_S))
    for k in range(40):
        ward.now_us += 10 * SECOND_US
        ward.tick(chunk("bed", 125 * k, rate_hz=9.0))
    assert transitions(ward.run, "bed") == [("bed", "no data", "on")]


def test_damaged_ids_open_no_alerts_and_ids_that_return_a_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turned_away, "MOST_KNOWN", 5_000)
    monkeypatch.setattr(turned_away, "MOST_ALERTS", 20)
    ward, rng = Half(), random.Random(1)
    for k in range(12):
        garbage = [chunk(f"x{rng.randrange(10**9)}", rate_hz=9.0) for _ in range(1500)]
        ward.tick(*garbage, chunk("bed", 125 * k, rate_hz=9.0))
    assert transitions(ward.run, "bed") == [("bed", "no data", "on")], "a stream is found among many damaged ids"
    assert len(ward.run.alerts) == 1
    for _ in range(12):
        ward.tick(*(chunk(f"y{n}", rate_hz=9.0) for n in range(100)))
    assert len(ward.run.alerts) == 20
    assert len(ward.pipeline.lifecycle.state.turned.streams) <= 5_000
    assert len(ward.pipeline.directory.names) == 0


def test_a_known_stream_whose_messages_are_refused_has_one_alert() -> None:
    ward = Half()
    for k in range(20):
        ward.tick(chunk("bed", 125 * k, **({} if k < 4 else {"rate_hz": 9.0})))
    assert transitions(ward.run, "bed") == [("bed", "no data", "on")]
    assert not np.isin("bed", list(ward.pipeline.lifecycle.state.turned.streams))


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcde"), st.sampled_from([0.1, 1.0, 5.0, 11.0, 40.0, 91.0]), st.integers(0, 1),
            st.sampled_from([KEY_PAUSE_S, PAUSE_S]),
        ),
        min_size=1, max_size=40,
    )
)  # fmt: skip
def test_a_successor_reads_the_first_message_of_every_stream_whose_alert_may_begin(
    messages: list[tuple[str, float, int, float]],
) -> None:
    turned, known, now_us = TurnedAway(), dict[str, tuple[Turned, bool]](), 1_000_000
    for tick, (name, after_s, partition, pause_s) in enumerate(messages, 100):
        now_us += round(after_s * 1e6)
        turned.note(name, Turned(now_us, now_us, 0, partition, pause_s, tick=tick))
        before = known[name][0] if name in known and not known[name][0].is_past(now_us) else None
        first_us, first = (now_us, tick) if before is None else (before.first_us, before.tick)
        known[name] = Turned(first_us, now_us, 0, partition, pause_s, tick=first), before is not None
        assert turned.streams == {one: stream for one, (stream, _) in known.items()}
        assert turned.waiting == {one for one, (_, again) in known.items() if again}
        expected: dict[int, int] = {}
        for one, _ in known.values():
            if not one.is_past(now_us) and one.last_us - one.first_us <= MOST_S * 1e6:
                expected[one.partition] = min(one.tick, expected.get(one.partition, one.tick))
        assert turned.oldest_ticks() == expected
