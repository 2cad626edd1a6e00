"""Packed messages of MQTT that are none: JSON, and those of another format; packed ones are never taken for these."""

import json

import numpy as np
import pytest
from beatwire.recordings.synthetic.person import synthetic_recording
from beatwire.records import I32
from beatwire_producers.devices.mqtt_json import UnreadableError
from beatwire_producers.devices.mqtt_map import Decoder, parse_address
from beatwire_producers.devices.mqtt_packed import LAYOUTS
from beatwire_producers.devices.sources import Options
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

RECORDING = synthetic_recording("synthetic:seconds=8,seed=1", rate_hz=250.0)


def decoder_of(layout: str, leads: int = 1) -> Decoder:
    names = ",".join(f"L{k}" for k in range(leads))
    return Decoder(parse_address(f"mqtt://h/t/+?format={layout}&rate=250&leads={names}"), Options())


@settings(max_examples=draws(60), deadline=None)
@given(
    layout=st.sampled_from(sorted(LAYOUTS)), values=st.lists(st.integers(-2000, 2000), max_size=40),
    as_object=st.booleans(),
    end=st.sampled_from(["", " ", "\n"]),
)  # fmt: skip
def test_json_is_never_packed_samples(layout: str, values: list[int], as_object: bool, end: str) -> None:
    text = json.dumps({"samples": values} if as_object else values) + end
    with pytest.raises(UnreadableError, match=r"expected (packed samples; got JSON|0 bytes and [234] for each)"):
        decoder_of(layout).packet("t/1", text.encode(), 0.0)


def packed(values: I32, layout: str) -> bytes:
    kind, order = layout.removesuffix("be"), ">" if layout.endswith("be") else "<"
    if kind != "int24":
        return values.astype(np.dtype(kind).newbyteorder(order)).tobytes()
    raw = values.astype(">i4").reshape(-1, 1).view(np.uint8)[:, 1:]
    return (raw if order == ">" else raw[:, ::-1]).tobytes()


@settings(max_examples=draws(60), deadline=None)
@given(
    layout=st.sampled_from(sorted(LAYOUTS)), other=st.sampled_from(sorted(LAYOUTS)), leads=st.integers(1, 3),
    size=st.integers(5, 50),
    offset=st.sampled_from([0, 512, 2048, 8300, 11308, 12336, 12345, 32768]), gain=st.sampled_from([0.25, 1.0, 4.0]),
    noise=st.integers(0, 5),
)  # fmt: skip
def test_samples_are_read_and_another_format_is_said_where_they_jump(
    layout: str, other: str, leads: int, size: int, offset: int, gain: float, noise: int
) -> None:
    if offset == 32768 and layout.startswith("int16"):
        offset = 0
    if offset < 4096 and layout.startswith("uint16"):
        offset = 32768
    rng = np.random.default_rng(noise)
    signal = np.rint(RECORDING.samples[0] * gain + offset).astype(np.int32) + rng.integers(-noise, noise + 1, 2000)
    moments = [np.stack([signal[k : k + size]] * leads, axis=1) for k in range(0, 2000 - size, size)]
    right, wrong = decoder_of(layout, leads), decoder_of(other, leads)
    for one in moments:
        np.testing.assert_array_equal(right.packet("t/1", packed(one, layout), 0.0).samples, one.T)
    assert not right.notes
    kinds = {layout.removesuffix("be"), other.removesuffix("be")}
    if layout != other and (len(kinds) == 1 or kinds == {"int16", "uint16"}):
        read = [wrong.packet("t/1", packed(one, layout), 0.0).samples for one in moments]
        same = all(np.array_equal(a, one.T) for a, one in zip(read, moments, strict=True))
        jumps = sum(np.abs(np.diff(one.astype(float))).sum() for one in read)
        is_rough = kinds == {"float32"} or jumps > 20 * sum(np.abs(np.diff(one.T)).sum() for one in moments)
        assert len(wrong.notes) == is_rough or not (same or is_rough)
        alike = [layout, layout.removeprefix("u")] if signal.max() <= 32767 else [layout]  # both read the same
        said = [f"t/1: its samples jump; with format={one} they would not" for one in alike]
        assert not wrong.notes or wrong.notes[0] in said
