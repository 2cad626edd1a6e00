"""Packed messages of MQTT that are none: JSON, and the other order of bytes; packed ones are never taken for these."""

import json

import numpy as np
import pytest
from beatwire.recordings.synthetic.person import synthetic_recording
from beatwire_producers.devices.mqtt_json import UnreadableError
from beatwire_producers.devices.mqtt_map import Decoder, parse_address
from beatwire_producers.devices.sources import Options
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

RECORDING = synthetic_recording("synthetic:seconds=8,seed=1", rate_hz=250.0)
LAYOUTS = st.sampled_from(["int16", "int16be"])


def decoder_of(layout: str, leads: int = 1) -> Decoder:
    names = ",".join(f"L{k}" for k in range(leads))
    return Decoder(parse_address(f"mqtt://h/t/+?format={layout}&rate=250&leads={names}"), Options())


@settings(max_examples=draws(60), deadline=None)
@given(
    layout=LAYOUTS, values=st.lists(st.integers(-2000, 2000), max_size=40), as_object=st.booleans(),
    end=st.sampled_from(["", " ", "\n"]),
)  # fmt: skip
def test_json_is_never_packed_samples(layout: str, values: list[int], as_object: bool, end: str) -> None:
    text = json.dumps({"samples": values} if as_object else values) + end
    with pytest.raises(UnreadableError, match=r"expected (packed samples; got JSON|0 bytes and 2 for each)"):
        decoder_of(layout).packet("t/1", text.encode(), 0.0)


@settings(max_examples=draws(60), deadline=None)
@given(
    layout=LAYOUTS, leads=st.integers(1, 3), size=st.integers(5, 50),
    offset=st.sampled_from([0, 512, 2048, 8300, 11308, 12336, 12345]), gain=st.sampled_from([0.25, 1.0, 4.0]),
    noise=st.integers(0, 5),
)  # fmt: skip
def test_the_other_order_of_bytes_is_said_and_the_right_one_never(
    layout: str, leads: int, size: int, offset: int, gain: float, noise: int
) -> None:
    rng = np.random.default_rng(noise)
    signal = np.rint(RECORDING.samples[0] * gain + offset).astype(np.int16) + rng.integers(-noise, noise + 1, 2000)
    for layout_sent, is_said in ((layout, False), ({"int16": "int16be", "int16be": "int16"}[layout], True)):
        decoder = decoder_of(layout, leads)
        for k in range(0, 2000 - size, size):
            moments = np.stack([signal[k : k + size]] * leads, axis=1)
            decoder.packet("t/1", moments.astype("<i2" if layout_sent == "int16" else ">i2").tobytes(), 0.0)
        said = [f"t/1: its samples jump; in the other order of bytes they do not: format={layout_sent}?"]
        assert decoder.notes == said * is_said
