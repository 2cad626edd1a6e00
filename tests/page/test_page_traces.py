"""Traces of the live page: what is shown of a stream is what was sent of it, and gaps are gaps."""

import json
import time
import tracemalloc
from typing import Any

import numpy as np
import pytest
from beatwire.page.protocol import GAP, Block, decode_samples, encode_samples
from beatwire.page.traces import RING_S, Traces
from beatwire.records import RawTick
from beatwire.wire.avro import encode_chunk
from laws import START_US, Signal

NO_VALUE = -32768


def add(traces: Traces, *chunks: bytes, now_us: int = START_US) -> None:
    traces.add(RawTick.of(chunks, now_us=now_us))


def ramp(stream: str, n: int = 5000, leads: int = 1, **changed: Any) -> Signal:
    """A stream whose sample i of lead l is i + 10,000 l, so that each sample shows where it belongs."""
    samples = np.arange(n, dtype=np.int16) % 9000 + 10_000 * np.arange(leads, dtype=np.int16)[:, None]
    return Signal(stream, samples.astype(np.int16), **changed)


def shown(traces: Traces, stream: str, first: int = 0) -> tuple[int, np.ndarray]:
    slot = traces.numbers[stream]
    return traces.since(slot, first, int(traces.ints["leads"][slot]))


@pytest.mark.parametrize("leads", [1, 3])
def test_samples_are_those_that_were_sent_whatever_the_chunks(rng: np.random.Generator, leads: int) -> None:
    traces, signal, begin = Traces(), ramp("bed-1", leads=leads), 0
    while begin < 2000:
        ticks = []
        for _ in range(int(rng.integers(1, 4))):
            end = begin + int(rng.integers(1, 90))
            ticks.append(signal.chunk(max(0, begin - int(rng.integers(0, 60))), end))
            begin = end
        add(traces, *ticks)
    first, samples = shown(traces, "bed-1")
    assert first == 0
    assert np.array_equal(samples, signal.samples[:, :begin])


def test_a_gap_is_no_value_even_where_the_ring_held_samples_before() -> None:
    traces, signal = Traces(), ramp("bed-1")
    add(traces, *(signal.chunk(k, k + 50) for k in range(0, 3000, 50)))
    add(traces, signal.chunk(3100, 3150), signal.chunk(3200, 3250), signal.chunk(3250, 3300))
    first, samples = shown(traces, "bed-1", 2990)
    expected = np.arange(2990, 3300)
    expected[(expected >= 3000) & (expected < 3100) | (expected >= 3150) & (expected < 3200)] = NO_VALUE
    assert first == 2990
    assert np.array_equal(samples[0], expected)


def test_a_gap_longer_than_the_ring_leaves_nothing_of_before() -> None:
    traces, signal = Traces(), ramp("bed-1", n=9000)
    add(traces, signal.chunk(0, 50))
    add(traces, signal.chunk(8000, 8050))
    first, samples = shown(traces, "bed-1")
    assert first >= 8050 - RING_S * 250 - 32
    assert samples[0, -50:].tolist() == list(range(8000, 8050))
    assert (samples[0, :-50] == NO_VALUE).all()


def test_late_samples_fill_their_place_and_copies_change_nothing() -> None:
    traces, signal = Traces(), ramp("bed-1")
    add(traces, signal.chunk(0, 50), signal.chunk(100, 150))
    add(traces, signal.chunk(50, 100), signal.chunk(0, 50))
    assert np.array_equal(shown(traces, "bed-1")[1], signal.samples[:, :150])
    assert traces.ints["stop"][0] == 150


def test_a_new_session_begins_an_empty_trace() -> None:
    traces = Traces()
    add(traces, ramp("bed-1").chunk(4000, 4050))
    before = int(traces.ints["epoch"][0])
    again = ramp("bed-1", session=2)
    add(traces, ramp("bed-1").chunk(4050, 4100), again.chunk(0, 50), again.chunk(50, 100))
    assert shown(traces, "bed-1")[0] == 0
    assert np.array_equal(shown(traces, "bed-1")[1], again.samples[:, :100])
    assert traces.ints["epoch"][0] == before + 1


def test_of_a_chunk_longer_than_the_ring_the_end_is_shown() -> None:
    traces, signal = Traces(), ramp("bed-1", n=9000)
    add(traces, signal.chunk(0, 8000))
    first, samples = shown(traces, "bed-1")
    assert 8000 - first >= RING_S * 250
    assert np.array_equal(samples, signal.samples[:, first:8000])


def test_a_stream_that_returns_from_a_wrong_place_is_shown_where_it_is() -> None:
    traces, signal = Traces(), ramp("bed-1", n=60_000)
    add(traces, signal.chunk(0, 50), signal.chunk(50_000, 50_050))
    assert traces.ints["stop"][0] == 50_050
    add(traces, signal.chunk(50, 100), signal.chunk(100, 150))
    first, samples = shown(traces, "bed-1", 50)
    assert np.array_equal(samples, signal.samples[:, first:150])
    assert 50 <= first < 150


def test_a_stream_may_change_its_rate_and_its_leads() -> None:
    traces = Traces()
    add(traces, ramp("bed-1").chunk(0, 50))
    other = ramp("bed-1", leads=2, rate_hz=500.0, session=2)
    add(traces, other.chunk(0, 100))
    assert shown(traces, "bed-1")[1].shape[0] == 1, (
        "a rate that no stream has is shown after a second, as in the monitor"
    )
    add(traces, other.chunk(100, 500))
    assert np.array_equal(shown(traces, "bed-1")[1], other.samples[:, :500])
    assert traces.lead_names[0] == ["L0", "L1"]


def test_a_lead_that_is_off_has_no_value() -> None:
    traces, signal = Traces(), ramp("bed-1", leads=2)
    add(traces, signal.chunk(0, 50), signal.chunk(50, 100, lead_off=2))
    samples = shown(traces, "bed-1")[1]
    assert np.array_equal(samples[0], signal.samples[0, :100])
    assert np.array_equal(samples[1, :50], signal.samples[1, :50])
    assert (samples[1, 50:] == NO_VALUE).all()


def test_json_chunks_and_unreadable_ones_are_shown_and_counted() -> None:
    traces = Traces()
    samples = [1, None, 3, *range(4, 50)]
    early = json.dumps({"stream": "bed-9", "first": 3, "rate_hz": 100, "samples": samples}).encode()
    add(traces, early, b"nonsense", early.replace(b'"first": 3', b'"first": 52'))
    assert shown(traces, "bed-9")[1][:, :4].tolist() == [[1, NO_VALUE, 3, 4]]
    assert traces.lead_names[0] == ["lead0"]
    assert traces.rejected == 1


def test_a_name_of_a_lead_that_is_not_utf_8_is_shown_as_escapes() -> None:
    traces, value = Traces(), encode_chunk("bed-1", 1, 0, 0, 250.0, ["Ie"], np.ones((1, 50), np.int16))
    add(traces, value.replace(b"\x04Ie", b"\x04I\xe9"))
    assert traces.lead_names[0] == ["I\\xe9"]


def test_the_time_of_a_sample_is_the_devices() -> None:
    traces, signal = Traces(), ramp("bed-1")
    add(traces, signal.chunk(0, 50), signal.chunk(50, 100))
    assert traces.time_us(0, 99) == START_US + 99 * 4000
    add(traces, signal.chunk(100, 150, time_us=START_US + 5_000_000 + 100 * 4000))
    assert [traces.time_us(0, at) - at * 4000 - START_US for at in (0, 99, 100, 149)] == [0, 0, 5_000_000, 5_000_000]


def test_streams_without_memory_are_known_but_have_no_trace() -> None:
    traces = Traces(most_bytes=50_000)
    add(traces, *(ramp(f"bed-{k}").chunk(0, 50) for k in range(40)))
    lengths = [shown(traces, f"bed-{k}")[1].shape[1] for k in range(40)]
    assert sum(lengths) == 50 * 9
    assert traces.ring_bytes <= 50_000


def test_a_forgotten_stream_leaves_its_ring_to_another() -> None:
    traces = Traces()
    add(traces, *(ramp(f"bed-{k}").chunk(0, 50) for k in range(8)))
    before = traces.ring_bytes
    traces.forget(np.array([traces.numbers["bed-3"]]))
    assert "bed-3" not in traces.numbers
    add(traces, ramp("bed-new").chunk(70, 100))
    assert traces.ring_bytes == before
    assert shown(traces, "bed-new")[1].tolist() == [list(range(70, 100))]


def test_when_the_last_stream_of_a_rate_is_forgotten_the_others_keep_their_traces() -> None:
    traces, other = Traces(), ramp("bed-2", leads=2, rate_hz=500.0)
    add(traces, ramp("bed-1").chunk(0, 50))
    for first in range(0, 1000, 250):
        add(traces, other.chunk(first, first + 250))
    traces.forget(np.array([traces.numbers["bed-1"]]))
    assert np.array_equal(shown(traces, "bed-2")[1], other.samples[:, :1000])
    add(traces, other.chunk(1000, 1250), ramp("bed-3").chunk(0, 50))
    assert np.array_equal(shown(traces, "bed-2")[1], other.samples[:, :1250])


def test_5000_streams_take_less_than_100_mb_and_a_tenth_of_real_time() -> None:
    samples = np.arange(50, dtype=np.int16)
    tracemalloc.start()
    traces, took_s = Traces(), []
    for k in range(6):
        values = [
            encode_chunk(f"bed-{n}", 1, 50 * k, START_US + 200_000 * k, 250.0, ["II"], samples) for n in range(5000)
        ]
        began = time.thread_time()
        add(traces, *values)
        took_s.append(time.thread_time() - began)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(traces.numbers) == 5000
    assert traces.ring_bytes < 35e6
    assert peak < 100e6
    assert sorted(took_s[1:])[2] < 0.2 / 4  # a tick of 200 ms, in which this test runs under tracemalloc
    assert shown(traces, "bed-4999")[1].shape == (1, 300)


@pytest.mark.parametrize("leads", [1, 12])
def test_a_binary_message_is_read_as_it_was_written(leads: int) -> None:
    samples = np.arange(leads * 7, dtype=np.int16).reshape(leads, 7) - 20
    blocks = [
        Block(4, GAP, 250.0, 2**40 + 1, START_US, 5.0, samples),
        Block(2**31, 0, 500.0, 0, START_US + 1, 2.5, samples[:1, :3]),
    ]
    message = encode_samples(7, blocks)
    number, read = decode_samples(message)
    assert number == 7
    assert len(message) % 8 == 0
    for block, back in zip(blocks, read, strict=True):
        assert back[:-1] == block[:-1]
        assert np.array_equal(back.samples, block.samples)


def test_a_block_has_the_bytes_of_the_protocol() -> None:
    message = encode_samples(3, [Block(9, 1, 250.0, 100, 1_000_000, 5.0, np.array([[1, -32768, 2]], np.int16))])
    assert message[:16] == bytes.fromhex("31455742 03000000 01000000 00000000")
    assert message[16:56] == bytes.fromhex(
        "09000000 0100 0100 03000000 00007a43 0000000000005940 0000000080842e41 0000a040 00000000"
    )
    assert message[56:] == bytes.fromhex("0100 0080 0200 0000")


def test_other_bytes_are_not_a_message_of_samples() -> None:
    with pytest.raises(ValueError, match="expected a message that begins with 0x42574531"):
        decode_samples(b"\0" * 16)
    with pytest.raises(ValueError, match="buffer"):
        decode_samples(encode_samples(1, [Block(0, 0, 250.0, 0, 0, 5.0, np.zeros((1, 8), np.int16))])[:-16])
