"""Lists of samples in messages of MQTT: one a lead, or one a moment; what is not sure is said."""

import json

import numpy as np
from beatwire.recordings.synthetic.person import synthetic_recording
from beatwire_producers.devices.mqtt_json import UnreadableError
from beatwire_producers.devices.mqtt_map import Decoder, parse_address
from beatwire_producers.devices.sources import Options
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

RECORDING = synthetic_recording("synthetic:seconds=12,seed=1,leads=12", rate_hz=250.0)
UV = np.rint(RECORDING.samples * RECORDING.uv_per_unit).astype(int)


@settings(max_examples=draws(60), deadline=None)
@given(
    leads=st.integers(1, 12), moments=st.integers(1, 40), by_moment=st.booleans(),
    named=st.sampled_from(["", "in the address", "in the message", "in the first message"]), is_stated=st.booleans(),
    offset=st.sampled_from([0, 400]),
)  # fmt: skip
def test_lists_are_leads_or_moments(
    leads: int, moments: int, by_moment: bool, named: str, is_stated: bool, offset: int
) -> None:
    uv = UV[:leads] + offset * np.arange(leads)[:, None]
    names = [f"L{k}" for k in range(leads)]
    query = "&lists=moments" if by_moment and is_stated else ""
    query += "&leads=" + ",".join(names) if named == "in the address" else ""
    decoder = Decoder(parse_address(f"mqtt://h/t/+?rate=250{query}"), Options())
    wrong = False
    for k, first in enumerate(range(0, 3000 - moments, moments)):
        part = uv[:, first : first + moments]
        message: dict[str, object] = {"samples": part.T.tolist() if by_moment else part.tolist()}
        if named == "in the message" or (named == "in the first message" and k == 0):
            message["leads"] = names
        packet = decoder.packet("t/1", json.dumps(message).encode(), 0.0)
        wrong = wrong or not np.array_equal(packet.samples, part)
    if is_stated or not by_moment or (named and leads != moments) or moments > 12:
        assert not wrong
    if not by_moment:
        assert not decoder.notes
    elif wrong and offset and min(leads, moments) > 2:
        assert len(decoder.notes) == 1
        assert "one list a moment? (lists=moments in the address)" in decoder.notes[0]


def test_a_list_of_all_leads_at_one_moment_is_a_moment() -> None:
    decoder = Decoder(parse_address("mqtt://h/t/+?rate=250&leads=I,II,V1"), Options())
    assert decoder.packet("t/1", b'{"samples": [1, 2, 3]}', 0.0).samples.tolist() == [[1], [2], [3]]
    assert decoder.packet("t/1", b'{"samples": [[null, 2, 3], [4, 5, 6]]}', 0.0).samples[1:].tolist() == [
        [2, 5],
        [3, 6],
    ]


@settings(max_examples=draws(40), deadline=None)
@given(leads=st.integers(2, 12), by_moment=st.booleans(), inner=st.booleans(), is_stated=st.booleans())
def test_a_list_of_unnamed_leads_at_one_moment_in_each_message_is_said(
    leads: int, by_moment: bool, inner: bool, is_stated: bool
) -> None:
    rows = (
        (UV[:leads] + 700 * (np.arange(leads) % 2)[:, None]).T
        if by_moment
        else UV[0][: 3000 // leads * leads].reshape(-1, leads)
    )
    decoder = Decoder(parse_address("mqtt://h/t/+?rate=250" + ("&lists=moments" if is_stated else "")), Options())
    for row in rows[:1200].tolist():
        found = decoder.packet("t/1", json.dumps({"samples": [row] if inner else row}).encode(), 0.0).samples
        assert found.shape == ((leads, 1) if is_stated else (1, leads))
    assert any("one list a moment? (lists=moments" in note for note in decoder.notes) is (by_moment and not is_stated)


@settings(max_examples=draws(40), deadline=None)
@given(
    moments=st.integers(4, 50), per_s=st.sampled_from([1, 1000, 10**6]), first=st.sampled_from([0, 5, 1_790_000_000]),
    rate_hz=st.sampled_from([125, 250, 360, 1000]), anew=st.booleans(), last=st.booleans(), uneven=st.booleans(),
)  # fmt: skip
def test_a_clock_or_a_count_beside_each_sample_is_no_lead(
    moments: int, per_s: int, first: int, rate_hz: int, anew: bool, last: bool, uneven: bool
) -> None:
    unit = per_s if per_s > 1 else rate_hz  # else a count
    step = unit / rate_hz if uneven else max(1, unit // rate_hz)
    for query, column in (("lists=moments", None), ("lists=moments", "0" if last else "1")):
        decoder = Decoder(parse_address(f"mqtt://h/t/+?rate=250&{query}"), Options(column=column))
        refused = 0
        for k in range(0, 3000 - moments, moments):
            part = UV[1, k : k + moments]
            clock = [first * per_s + round(step * (j if anew else k + j)) for j in range(moments)]
            rows = [list(map(int, pair[:: -1 if last else 1])) for pair in zip(clock, part, strict=True)]
            try:
                packet = decoder.packet("t/1", json.dumps({"samples": rows}).encode(), 0.0)
            except UnreadableError as error:
                refused += "rises evenly: a clock or a count (--column takes the others)" in str(error)
                continue
            assert column is None or packet.samples.tolist() == [part.tolist()]
        assert refused == 0 if column else refused >= (3000 - 64) // moments - 3


@settings(max_examples=draws(40), deadline=None)
@given(moments=st.integers(2, 50), is_signed=st.booleans(), offset=st.sampled_from([0, 32768]))
def test_registers_whose_negative_numbers_have_no_sign_are_said(moments: int, is_signed: bool, offset: int) -> None:
    decoder = Decoder(parse_address("mqtt://h/t/+?rate=250&leads=II"), Options())
    for k in range(0, 3000 - moments, moments):
        part = UV[1:2, k : k + moments] + offset
        message = {"samples": (part if is_signed else part & 0xFFFF).tolist()}
        decoder.packet("t/1", json.dumps(message).encode(), 0.0)
    said = [note for note in decoder.notes if "negative numbers without their sign?" in note]
    assert len(said) == (not is_signed and not offset)


@settings(max_examples=draws(30), deadline=None)
@given(path=st.lists(st.sampled_from(["data", "ecg", "d", "payload"]), min_size=1, max_size=3), is_flat=st.booleans())
def test_a_name_with_dots_is_within_others(path: list[str], is_flat: bool) -> None:
    name = ".".join(path)
    message: object = {name: [1, 2, 3]}
    if not is_flat:
        message = [1, 2, 3]
        for part in reversed(path):
            message = {part: message}
    decoder = Decoder(parse_address(f"mqtt://h/t/+?rate=250&samples={name}"), Options())
    assert decoder.packet("t/1", json.dumps(message).encode(), 0.0).samples.tolist() == [[1, 2, 3]]
    assert not decoder.notes
