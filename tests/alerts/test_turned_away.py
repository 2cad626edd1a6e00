"""Streams of which no message can be used from the first one on are announced, however their messages are wrong."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import RawTick
from beatwire.stages.support.alerts import turned_away
from beatwire.wire.avro import encode_chunk
from beatwire.wire.bundles import encode_bundle
from beatwire.wire.dead_letters import Addresses
from draws import draws
from hostile_senders import heart
from hypothesis import example, given, settings
from hypothesis import strategies as st
from laws import START_US, Run, collect, successor

SECOND_US = 1_000_000
FRAME = b"\0" + (7).to_bytes(4, "big")
WRONG = (
    {"rate_hz": 9.0},
    {"rate_hz": float("nan")},
    {"leads": []},
    {"lead_off": 9},
    {"first": -1},
    {"uv_per_unit": -1.0},
)


class Keys:
    """The origin of messages that have a key each."""

    def __init__(self, keys: list[bytes | None]) -> None:
        self.keys = keys

    def addresses(self, numbers: list[int]) -> Addresses:
        """Return where messages are."""
        return Addresses("ecg.samples", list(numbers), [self.keys[k] for k in numbers])


def chunk(name: str, first: int = 0, **changed: Any) -> bytes:
    given_: dict[str, Any] = {
        "stream": name, "session": 1, "first": first, "time_us": first * 4000, "rate_hz": 250.0, "leads": ["I"],
        "samples": heart(1, first, 125), "lead_off": 0, "uv_per_unit": 5.0,
    }  # fmt: skip
    return encode_chunk(**(given_ | changed))


def as_json(name: str, first: int, **changed: Any) -> bytes:
    fields = {"stream": name, "session": 1, "first": first, "time": 0, "rate_hz": 9.0, "leads": ["I"], "samples": [[1]]}
    return json.dumps(fields | changed).encode()


def transitions(run: Run, *names: str) -> list[tuple[str, str, str]]:
    own = [a for a in run.alerts if a["stream"] in names and (a["state"] != "on" or not a["reminders"])]
    return [(a["stream"], a["rule"], a["state"]) for a in own]


class Half:
    """A graph that takes a tick each half second."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.pipeline, self.run, self.now_us = Pipeline(settings or Settings()), Run(), START_US
        collect(self.pipeline, self.run, published=True)

    def tick(self, *values: bytes, keys: list[bytes | None] | None = None) -> None:
        """Take messages."""
        self.now_us += SECOND_US // 2
        self.pipeline.emit(RawTick.of(values, now_us=self.now_us), Keys(keys) if keys else None)


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
        wrong = chunk(name, 125 * k, **(changed if form in ("avro", "framed", "bundle") else {}))
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


def test_a_stream_whose_rate_changes_with_each_message_is_announced() -> None:
    ward = Half()
    for k in range(40):
        ward.tick(chunk("neighbour", 125 * k), chunk("bed", 125 * k, session=k, rate_hz=100.0 + k))
    assert transitions(ward.run, "bed") == [("bed", "no data", "on")]
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


def test_alerts_that_two_workers_began_for_one_stream_end_together_behind_a_flood_of_ids(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turned_away, "MOST_KNOWN", 3)
    ward = Half()
    for k in range(6):
        ward.tick(chunk("bed", 125 * k, rate_hz=9.0))
    (begun,) = ward.run.alerts
    other = begun | {"id": "0" * len(begun["id"]), "onset_us": begun["onset_us"] + 1, "session": begun["session"] + 1}
    after, run = successor([], [begun, other]), Run()
    collect(after, run, published=True)
    for k in range(140):
        flood = [chunk(f"{k}-{n}", rate_hz=9.0) for n in range(4)]
        after.emit(RawTick.of(flood, now_us=ward.now_us + (k + 1) * 3 * SECOND_US))
    assert transitions(run, "bed") == [("bed", "no data", "off")] * 2


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


@pytest.mark.parametrize("returns", [True, False])
def test_a_successor_takes_the_alert_over_and_ends_it_once(returns: bool) -> None:
    ward = Half()
    for k in range(6):
        ward.tick(chunk("bed", 125 * k, rate_hz=9.0))
    after, run = successor([], list(ward.run.alerts)), Run()
    collect(after, run, published=True)
    for k in range(10):
        wrong = {"rate_hz": 9.0} if k < 5 or not returns else {}
        after.emit(RawTick.of([chunk("bed", 125 * k, **wrong)], now_us=ward.now_us + (k + 1) * SECOND_US // 2))
    assert transitions(run, "bed") == ([("bed", "no data", "off")] if returns else [])
    if returns:
        assert run.alerts[0]["id"] == ward.run.alerts[0]["id"]


@given(st.lists(st.integers(1, 4_000), min_size=1, max_size=12), st.integers(0, 12), st.integers(1, 5), st.booleans())
@example([2_800, 200], 0, 1, True)
@example([200, 8_000], 0, 2, True)
@settings(max_examples=draws(15), deadline=None)
def test_an_alert_is_the_same_if_the_worker_changes_before_it_begins(
    gaps_ms: list[int], change: int, each: int, beside: bool
) -> None:
    """Messages come after ``gaps_ms``, ``each`` at once; ``beside`` them chunks of a neighbour, which leave marks."""
    arrivals, now_us, ticks = list[int](), START_US, list[RawTick]()
    for gap_ms in gaps_ms:
        now_us += 1000 * gap_ms
        arrivals += [now_us] * each
    at_us, first = START_US, 0
    while at_us < now_us + 4 * SECOND_US:
        before_us, at_us = at_us, at_us + SECOND_US // 2
        arrived = [a for a in arrivals if before_us < a <= at_us]
        sent = [chunk("bed", rate_hz=9.0) for _ in arrived] + ([chunk("neighbour", first)] if beside else [])
        arrived, first = arrived + [at_us] * beside, first + 125 * beside
        ticks.append(RawTick.of(sent, now_us=at_us, arrival_us=arrived))

    def published(change: int) -> list[dict[str, Any]]:
        before, run = Pipeline(Settings()), Run()
        collect(before, run, published=True)
        for tick in ticks[:change]:
            before.emit(tick)
        rewind, after = before.rewind_tick(0), Pipeline(Settings())
        for tick in ticks[rewind:change]:
            after.emit(replace(tick, caught_up=False))
        after.adopt([a for a in run.alerts if a["state"] != "off"])
        collect(after, run, published=True)
        for tick in ticks[change:]:
            after.emit(tick)
        return [a for a in run.alerts if a["stream"] == "bed"]

    assert published(min(change, len(ticks))) == published(0)


@pytest.mark.parametrize(("value", "pause_s"), [(chunk("bed", rate_hz=9.0), 90), (b"?", 12)])
def test_what_never_becomes_an_alert_holds_no_replay_back_for_long(value: bytes, pause_s: int) -> None:
    ward = Half()
    ward.tick(value, keys=[b"bed"])
    assert ward.pipeline.rewind_tick(0) == 0
    for _ in range(2 * pause_s):
        ward.tick()
    assert ward.pipeline.rewind_tick(0) == 0
    ward.tick()
    assert ward.pipeline.rewind_tick(0) == 2 * pause_s + 2
    assert not ward.pipeline.lifecycle.state.turned.streams


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
    ward = Half(replace(Settings(), evict_s=240.0))
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
