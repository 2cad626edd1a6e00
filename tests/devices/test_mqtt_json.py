"""What messages of MQTT state in JSON: units, names that nothing reads, devices that share a topic, NaN, batteries."""

import json
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire_producers.devices.mqtt_json import UnreadableError
from beatwire_producers.devices.mqtt_map import Decoder, parse_address
from beatwire_producers.devices.packets import Packet
from beatwire_producers.devices.sources import Options
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st


def decoder_of(query: str = "rate=250", *, topic: str = "ward/+/ecg", column: str | None = None) -> Decoder:
    return Decoder(parse_address(f"mqtt://h/{topic}?{query}"), Options(column=column))


def read(decoder: Decoder, message: Any, *, topic: str = "ward/1/ecg", now_s: float = 0.0) -> Packet:
    return decoder.packet(topic, json.dumps(message).encode(), now_s)


def uv_of(packet: Packet) -> float | None:
    assert packet.described is not None
    return packet.described.uv


@pytest.mark.parametrize(
    ("unit", "uv"),
    [
        ("mV", 1000.0), ("µV", 1.0), ("microvolts", 1.0), ("V", 1e6), (["mV", "mV"], 1000.0), ("counts", 0.0),
        ("raw", 0.0), ("adu", 0.0), ("0.1 mV", 0.0), ("xyz", 0.0), ("", None), (None, None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["unit", "units"])
def test_a_unit_is_a_voltage_or_not_calibrated(name: str, unit: object, uv: float | None) -> None:
    assert uv_of(read(decoder_of(), {"samples": [[0.5, 1.5], [1, 2]], name: unit})) == uv


@pytest.mark.parametrize("unit", ["mmHg", "ohm", "bpm", "g", ["mV", "uV"], ["mV", "mmHg"]])
def test_a_unit_of_another_quantity_and_two_units_are_no_ecg(unit: object) -> None:
    with pytest.raises(UnreadableError, match=r"expected (a unit of voltage|leads of one unit)"):
        read(decoder_of(), {"samples": [[0.5, 1.5], [1, 2]], "unit": unit})


@pytest.mark.parametrize(("name", "uv"), [("ecg_uv", 1.0), ("mv", 1000.0), ("ecg_raw", 0.0), ("ecg", None)])
def test_a_unit_in_the_name_of_the_samples_is_theirs(name: str, uv: float | None) -> None:
    assert uv_of(read(decoder_of(f"samples={name}"), {name: [1, 2]})) == uv
    assert uv_of(read(decoder_of(f"samples={name}&uv=7"), {name: [1, 2]})) == 7.0


OTHER_NAMES = st.sampled_from(["fs", "gain", "offset", "ts", "lead", "seq", "firmware", "ecg"])


@settings(max_examples=draws(60), deadline=None)
@given(st.lists(st.dictionaries(OTHER_NAMES, st.integers() | st.text(max_size=3)), min_size=1, max_size=12))
def test_each_name_that_is_not_used_is_said_once(messages: list[dict[str, Any]]) -> None:
    decoder = decoder_of()
    for message in messages:
        read(decoder, {"samples": [1, 2], "time": 1.0, "count": 0, "unit": "mV", **message})
    said = " ".join(decoder.notes)
    for name in ("samples", "time", "count", "unit", *{name for message in messages for name in message}):
        assert said.count(f"'{name}'") == any(name in message for message in messages), name


def test_samples_of_another_name_are_said_with_the_names_that_there_are() -> None:
    words = r"expected 'samples' among its names; got 'ecg', 'ts' \(samples=NAME in the address\)"
    with pytest.raises(UnreadableError, match=words):
        read(decoder_of(), {"ecg": [1, 2], "ts": 3})


@settings(max_examples=draws(60), deadline=None)
@given(
    name=st.sampled_from(["device", "deviceId", "patient_id", "MAC", "serial_no", "bed"]),
    devices=st.lists(st.sampled_from(["a", "b", 7]), min_size=1, max_size=20),
)
def test_two_devices_of_one_topic_are_never_one_stream(name: str, devices: list[Any]) -> None:
    refusing, apart = decoder_of(), decoder_of(f"rate=250&id={name}", topic="ecg")
    for k, device in enumerate(devices):
        message = {"samples": [k, k + 1], name: device}
        packet = read(apart, message, topic="ecg", now_s=float(k))
        assert packet.described is not None
        assert packet.described.stream == str(device)
        if device == devices[0]:
            read(refusing, message, now_s=float(k))
        else:
            with pytest.raises(UnreadableError, match="expected messages of one device; got"):
                read(refusing, message, now_s=float(k))


def test_a_device_that_takes_the_place_of_a_silent_one_is_read() -> None:
    decoder = decoder_of()
    read(decoder, {"samples": [1], "device": "a"})
    with pytest.raises(UnreadableError, match=r"got device 'b' beside 'a' \(id=device in the address"):
        read(decoder, {"samples": [1], "device": "b"}, now_s=59.0)
    read(decoder, {"samples": [1], "device": "b"}, now_s=61.0)


def test_two_ids_that_look_alike_are_never_one_stream() -> None:
    decoder = decoder_of("id=dev", topic="ecg")
    read(decoder, {"samples": [1], "dev": "a b"}, topic="ecg")
    with pytest.raises(UnreadableError, match="expected a stream of its own"):
        read(decoder, {"samples": [1], "dev": "a/b"}, topic="ecg")
    with pytest.raises(UnreadableError, match="expected 'dev': the id of a device; got None"):
        read(decoder, {"samples": [1]}, topic="ecg")


@settings(max_examples=draws(60), deadline=None)
@given(st.lists(st.floats(-5, 5, width=32) | st.sampled_from([None, float("nan")]), min_size=1, max_size=30))
def test_nan_as_python_writes_it_is_no_value(values: list[float | None]) -> None:
    packet = read(decoder_of(), {"samples": values})
    np.testing.assert_array_equal(packet.samples[0], [np.nan if one is None else one for one in values])


@pytest.mark.parametrize("time", ["noon", "2024-02-30T00:00:00", "12h30", [1]])
def test_a_time_that_is_none_is_one_line_that_says_what_a_time_may_be(time: object) -> None:
    with pytest.raises(UnreadableError, match="expected time: a number, a date or a time of day; got "):
        read(decoder_of(), {"samples": [1, 2], "time": time})


@pytest.mark.parametrize("none", [b"null", b"NaN", b' {"samples": null}', b'{"samples": NaN}'])
def test_a_message_without_a_value_is_a_sample_where_each_message_is_one(none: bytes) -> None:
    decoder = decoder_of()
    decoder.packet("ward/1/ecg", b"0.5", 0.0)
    np.testing.assert_array_equal(decoder.packet("ward/1/ecg", none, 0.0).samples, [[np.nan]])
    decoder.packet("ward/2/ecg", b"[1, 2]", 0.0)
    with pytest.raises(UnreadableError, match="expected numbers in 'samples'"):
        decoder.packet("ward/2/ecg", none, 0.0)


@settings(max_examples=draws(60), deadline=None)
@given(st.integers(-300, 5000) | st.floats(-1, 101) | st.sampled_from(["80%", "full", [80], True]))
def test_a_battery_that_is_no_percentage_costs_no_samples_and_is_said(charge: object) -> None:
    decoder = decoder_of()
    packet = read(decoder, {"samples": [1, 2], "battery": charge})
    is_percent = (
        not isinstance(charge, bool) and isinstance(charge, int | float) and (1 <= charge <= 100 or charge == 0)
    )
    assert packet.samples.tolist() == [[1, 2]]
    assert packet.battery == (round(charge) if is_percent else None)  # type: ignore[call-overload]
    assert len(decoder.notes) == (not is_percent)


def test_a_column_is_a_lead_of_the_message() -> None:
    decoder = decoder_of(column="V1,0")
    message = {"samples": [[1, 2], [3, 4], [5, 6]], "leads": ["I", "II", "V1"], "lead_off": 0b101}
    for sent in (message, {**message, "leads": None}):
        packet = read(decoder, sent)
        assert packet.described is not None
        assert (packet.samples.tolist(), packet.described.leads) == ([[5, 6], [1, 2]], ("V1", "I"))
        assert packet.lead_off == 0b11
    with pytest.raises(UnreadableError, match="expected"):
        read(decoder, {"samples": [[1, 2]], "leads": ["I"]})


def test_a_mask_beyond_the_leads_is_said() -> None:
    decoder = decoder_of()
    assert read(decoder, {"samples": [1, 2], "lead_off": 2}).lead_off == 0
    assert "its lead_off of 2 has bits beyond its 1 leads" in decoder.notes[0]


def test_leads_of_moments_are_as_many_as_their_contacts() -> None:
    decoder = decoder_of("lists=moments")
    assert read(decoder, {"samples": [[1, 2, 3], [4, 5, 6]], "contact": [True, True, False]}).lead_off == 4
    assert not decoder.notes


def test_text_is_a_number_of_as_many_digits_and_as_large_as_it_says() -> None:
    decoder = decoder_of()
    assert read(decoder, {"samples": ["1"], "count": f"{2**53 + 1}"}).count == 2**53 + 1
    assert read(decoder, {"samples": ["1", "inf", "1e300"]}).samples.tolist() == [[1.0, np.inf, 1e300]]


LEADS = ["I", "II", "V1"]
VALUES = st.lists(
    st.lists(st.integers(-999, 999) | st.sampled_from([0.25, -1.5]), min_size=4, max_size=4), min_size=1, max_size=3
)


@settings(max_examples=draws(60), deadline=None)
@given(
    rows=VALUES, as_text=st.sets(st.sampled_from(["samples", "count", "rate_hz", "uv_per_unit"])),
    count=st.integers(0, 99),
    form=st.sampled_from(["lists", "leads by name", "moments by name"]), query=st.sampled_from(["", "lists=moments"]),
)  # fmt: skip
def test_numbers_as_text_and_leads_by_name_are_what_they_say(
    rows: list[list[float]], as_text: set[str], count: int, form: str, query: str
) -> None:
    names, moments = LEADS[: len(rows)], list(zip(*rows, strict=True))
    fields: dict[str, Any] = {"count": count, "rate_hz": 250.0, "uv_per_unit": 2.5, "samples": rows}
    plain = read(decoder_of(), fields | {"leads": names})
    written = [[f"{v}" for v in row] for row in rows] if "samples" in as_text else rows
    if form == "leads by name":
        fields["samples"] = dict(zip(names, written, strict=True))
    elif form == "moments by name":
        fields["samples"] = [dict(zip(names, one, strict=True)) for one in zip(*written, strict=True)]
    else:
        fields |= {"samples": [*zip(*written, strict=True)] if query else written, "leads": names}
    fields |= {name: f"{fields[name]}" for name in as_text - {"samples"}}
    found = read(decoder_of(query), fields)
    assert found.samples.tolist() == plain.samples.tolist() == [list(row) for row in zip(*moments, strict=True)]
    assert (found.count, found.described) == (count, plain.described)


@pytest.mark.parametrize(
    "samples", [{"t": 1, "v": 2}, {"0": 5, "1": 6}, [{"t": 1, "v": 2}], {"II": [1, 2], "V1": [1]}, ["1", "x"], [{}]]
)
def test_samples_that_are_no_leads_by_name_are_refused(samples: object) -> None:
    with pytest.raises(UnreadableError, match="expected numbers in 'samples', one list a lead"):
        read(decoder_of(), {"samples": samples})


@pytest.mark.parametrize(
    ("said", "mask"),
    [
        ({"contact": [True, False]}, 2), ({"lead_off": [0, 1]}, 2), ({"lead_off": True}, 3), ({"lead_off": False}, 0),
        ({"contact": 0}, 3), ({"contact": True, "lead_off": 1}, 1), ({"contact": "good"}, None),
        ({"lead_off": "I"}, None), ({"lead_off": -1}, None), ({"contact": []}, None),
    ],
)  # fmt: skip
def test_contact_is_that_of_each_lead_or_said_not_to_be_used(said: dict[str, Any], mask: int | None) -> None:
    decoder = decoder_of()
    assert read(decoder, {"samples": [[1, 2], [3, 4]]} | said).lead_off == (mask or 0)
    assert len(decoder.notes) == (mask is None)


@given(contact=st.lists(st.booleans(), min_size=1, max_size=5), name=st.sampled_from(["contact", "lead_off"]))
def test_a_list_of_contacts_that_is_shorter_than_the_leads_is_said(contact: list[bool], name: str) -> None:
    decoder = decoder_of()
    found = read(decoder, {"samples": [[1, 2], [3, 4], [5, 6]], name: contact}).lead_off
    assert found == sum(1 << k for k, on in enumerate(contact[:3]) if on is (name == "lead_off"))
    short = f"its contact is that of {len(contact)} leads; all others are taken as on"
    assert [note for note in decoder.notes if short in note] == decoder.notes[: len(contact) < 3]


@given(start_ms=st.integers(0, 86_399_000), written=st.sampled_from(["", "2026-11-29T"]))
def test_a_time_of_day_without_a_date_is_a_time(start_ms: int, written: str) -> None:
    decoder = decoder_of()
    at = f"{start_ms // 3_600_000:02d}:{start_ms // 60_000 % 60:02d}:{start_ms // 1000 % 60:02d}.{start_ms % 1000:03d}"
    begin_s = datetime(2026, 11, 29, tzinfo=UTC).timestamp() if written else 0.0
    found = read(decoder, {"samples": [1, 2], "time": written + at}).time_s
    assert found == pytest.approx(begin_s + start_ms / 1000, rel=1e-12)


@pytest.mark.parametrize(
    "query", ["rate=nan", "rate=inf", "uv=nan", "rate=fast", "rate=0", "rate=-250", "rate=1e9", "uv=-5"]
)
def test_what_can_be_no_rate_and_no_unit_in_the_address_is_refused(query: str) -> None:
    with pytest.raises(UserError, match=r"feed mqtt: expected (rate=50-4000 Hz|uv=microvolts); got"):
        decoder_of(query)
