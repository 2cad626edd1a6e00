"""Streams of LSL over the loopback: outlets of pylsl, read as ``beatwire feed lsl:...`` does."""

import random
import time
import uuid
from types import SimpleNamespace

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire_producers.devices.packets import Description, arrival_s
from beatwire_producers.devices.places import Placer
from beatwire_producers.devices.sources import Options, open_source
from device_feeds import feeding
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

pylsl = pytest.importorskip("pylsl", reason="needs pylsl")
from beatwire_producers.devices.readers.lsl import LslReader, _Inlet  # noqa: E402

CHANNELS = (("II", "millivolts", "ECG"), ("Resp", "ohm", "RESP"))


def outlet(name: str, kind: str, *, rate_hz: float = 250.0, channels: tuple = CHANNELS) -> object:
    info = pylsl.StreamInfo(name, kind, len(channels), rate_hz, pylsl.cf_float32, name)
    listed = info.desc().append_child("channels")
    for label, unit, what in channels:
        channel = listed.append_child("channel")
        channel.append_child_value("label", label)
        channel.append_child_value("unit", unit)
        channel.append_child_value("type", what)
    return pylsl.StreamOutlet(info)


def push(outlets: list, values: np.ndarray, rate_hz: float = 250.0, every: int = 10, width: int = 2) -> None:
    """Push in real time, or later, with the times at which the samples were taken."""
    began = pylsl.local_clock()
    for k in range(0, len(values), every):
        piece = np.zeros((len(values[k : k + every]), width), np.float32)
        piece[:, 0] = values[k : k + every]
        for one in outlets:
            one.push_chunk(piece.tolist(), began + (k + every) / rate_hz)
        time.sleep(max(0.0, began + (k + every) / rate_hz - pylsl.local_clock()))


def test_every_sample_of_a_stream_arrives_with_its_lead_unit_and_rate() -> None:
    kind = f"T{uuid.uuid4().hex[:8]}"
    one = outlet("strap", kind)
    values = np.sin(np.arange(1000) / 20.0)
    with feeding([("lsl", open_source(f"lsl:type={kind}", Options()))]) as running:
        running.received.wait(lambda: one.have_consumers())
        push([one], values)
        running.received.wait(lambda: running.received.count() >= 1000)
    found = running.received.samples("strap")
    assert found.shape == (1, 1000)
    chunk = running.received.chunks[0]
    assert (chunk["leads"], chunk["rate_hz"], chunk["uv_per_unit"]) == (["II"], 250.0, 1.0)
    np.testing.assert_allclose(found[0], values * 1000.0, atol=1.0)
    assert abs(chunk["time"].timestamp() - time.time()) < 60
    assert running.summary is not None
    assert (running.summary.holes, running.summary.sessions) == (0, 1)


def test_a_stream_that_comes_later_is_read_and_one_that_comes_back_is_the_same_session_with_a_hole() -> None:
    kind = f"T{uuid.uuid4().hex[:8]}"
    first = outlet("bed-1", kind)
    with feeding([("lsl", open_source(f"lsl:type={kind}", Options()))]) as running:
        received = running.received
        received.wait(lambda: first.have_consumers())
        second = outlet("bed-2", kind)
        received.wait(lambda: second.have_consumers())
        push([first, second], np.ones(500))
        received.wait(lambda: received.count("bed-1") >= 500 and received.count("bed-2") >= 500)
        del second
        time.sleep(1.0)
        second = outlet("bed-2", kind)
        received.wait(lambda: second.have_consumers())
        push([first, second], np.ones(500))
        received.wait(lambda: received.count("bed-1") >= 1000 and received.count("bed-2") >= 1000)
    sessions = {(c["stream"], c["session"]) for c in received.chunks}
    assert len(sessions) == 2
    gone = received.samples("bed-2").shape[1] - 1000
    assert gone >= 250


def test_a_stream_that_comes_back_with_another_unit_rate_and_channels_is_a_session_with_these() -> None:
    kind = f"T{uuid.uuid4().hex[:8]}"
    one = outlet("bed-1", kind)
    with feeding([("lsl", open_source(f"lsl:type={kind}", Options()))], pauses_s=(0.1, 0.5)) as running:
        received = running.received
        received.wait(lambda: one.have_consumers())
        push([one], np.full(250, 0.5))
        received.wait(lambda: received.count("bed-1") >= 250)
        del one
        time.sleep(0.5)
        one = outlet("bed-1", kind, rate_hz=500.0, channels=(("V1", "microvolts", "ECG"), *CHANNELS[1:], CHANNELS[1]))
        received.wait(lambda: one.have_consumers())
        push([one], np.full(500, 700.0), 500.0, width=3)
        received.wait(lambda: received.count("bed-1") >= 750)
    found = {(c["session"], tuple(c["leads"]), c["rate_hz"]): c for c in received.chunks}
    assert sorted(key[1:] for key in found) == [(("II",), 250.0), (("V1",), 500.0)]
    for (_, leads, _), chunk in found.items():
        values = np.frombuffer(chunk["samples"], "<i2") * chunk["uv_per_unit"]
        np.testing.assert_allclose(values, 500.0 if leads == ("II",) else 700.0, atol=1.0)


@settings(max_examples=draws(30), deadline=None)
@given(
    rate_hz=st.sampled_from([125.0, 130.0, 250.0, 256.0]), most=st.integers(2, 100), pulled=st.integers(1, 4),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_chunks_without_a_rate_whose_samples_share_the_time_at_which_they_were_sent_show_their_rate(
    rate_hz: float, most: int, pulled: int, seed: int
) -> None:
    rng, placer = random.Random(seed), Placer(Description("x"))
    reader, inlet = LslReader("type", "ECG", Options()), SimpleNamespace(time_correction=lambda _: 0.0)
    one = _Inlet("uid", inlet, placer.described, [0], 0.0, 0.0)
    reader._epoch_s = arrival_s() - 1000.0
    stamps: list[float] = []
    while len(stamps) < 20 * rate_hz:
        size = rng.randint(1, most)
        stamps += [1000.0 + (len(stamps) + size) / rate_hz] * size
    times, begin = np.array(stamps), 0
    cuts = np.flatnonzero(np.diff(times)) + 1
    values = np.arange(len(times), dtype=np.float64)[:, None]
    for stop in cuts[::pulled]:
        for packet in reader._packets_of(one, values[begin:stop], times[begin:stop]):
            placer.place(packet)
        begin = int(stop)
    placer.close(ended=True)
    assert placer.rate_hz is not None
    assert abs(placer.rate_hz / rate_hz - 1) < 0.01
    assert (placer.seen.missing, placer.sessions) == (0, 1)


def test_a_stream_of_text_and_one_of_two_units_are_refused() -> None:
    kind = f"T{uuid.uuid4().hex[:8]}"
    made = pylsl.StreamOutlet(pylsl.StreamInfo("words", kind, 1, 0.0, pylsl.cf_string, "words"))
    with pytest.raises(UserError, match=f"lsl:type={kind}: expected a stream of numbers; 'words' is one of text"):
        open_source(f"lsl:type={kind}", Options()).describe()
    del made
