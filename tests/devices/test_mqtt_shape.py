"""Lists of samples in messages of MQTT: one a lead, or one a moment; what is not sure is said."""

import json

import numpy as np
from beatwire.recordings.synthetic.person import synthetic_recording
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
