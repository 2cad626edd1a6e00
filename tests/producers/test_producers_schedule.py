"""Schedules and their messages: every sample is sent once, in the bytes that fastavro writes."""

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire.recordings import Recording
from beatwire.wire import avro
from beatwire_producers.blocks import schedule_blocks
from beatwire_producers.encode import Encoder
from beatwire_producers.feeds import Feed, Lanes, feeds_of, pseudonym
from beatwire_producers.schedule import GARBAGE, TRUNCATED, Schedule, chunks_of, joined
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

START_US = 1_700_000_000_000_000


def recording(rate_hz: float = 250.0, leads: int = 1, n: int = 1000, name: str = "r", seed: int = 0) -> Recording:
    samples = np.random.default_rng(seed).integers(-32768, 32768, (leads, n)).astype(np.int16)
    return Recording(name, rate_hz, tuple(f"L{k}" for k in range(leads)), 2.5, samples)


@pytest.mark.parametrize("chunk_ms", [4, 33.3, 200, 250, 10_000])
def test_chunks_contain_every_sample_once_and_do_not_drift(chunk_ms: float) -> None:
    lanes = Lanes.of([Feed(f"s{k}", recording(rate_hz, n=n)) for k, (rate_hz, n) in enumerate(
        [(128, 1000), (250, 1), (360, 777), (1000, 3000), (99.7, 500)])])  # fmt: skip
    rows = chunks_of(lanes, chunk_ms)
    for lane, n in enumerate(lanes.ints[:, 1]):
        mine = rows.take(rows.lane == lane)
        assert mine.first[0] == 0
        assert np.array_equal(mine.first[1:], (mine.first + mine.count)[:-1])
        assert mine.first[-1] + mine.count[-1] == n
        due_s = (mine.due_us - rows.due_us.min()) / 1e6
        assert np.all(np.abs(due_s - mine.number * chunk_ms / 1000) <= 1.01 * chunk_ms / 1000)
    assert np.all(np.diff(rows.due_us) >= 0)


@settings(max_examples=draws(60), deadline=None)
@given(
    seconds=st.floats(0.001, 30.0), chunk_ms=st.sampled_from([4.0, 33.3, 200.0, 10_000.0]),
    rates=st.lists(st.sampled_from([62.475, 128.0, 250.0, 1000.0]), min_size=1, max_size=4), n=st.integers(1, 3000),
)  # fmt: skip
def test_so_many_seconds_are_sent_of_each_stream_however_long_its_chunks_are(
    seconds: float, chunk_ms: float, rates: list[float], n: int
) -> None:
    lanes = Lanes.of([Feed(f"s{k}", recording(rate_hz, n=n)) for k, rate_hz in enumerate(rates)])
    blocks = [*schedule_blocks(lanes, chunk_ms, None, 0, seconds, {}, live=n % 2 == 0)]
    for lane, rate_hz in enumerate(rates):
        sent = sum(int(rows.count[rows.lane == lane].sum()) for rows in blocks)
        assert n == sent <= seconds * rate_hz + 1e-6 or 0 <= sent - seconds * rate_hz < 1


def test_a_schedule_in_blocks_equals_the_schedule_in_one_piece() -> None:
    lanes = Lanes.of(feeds_of([recording(128), recording(360, 2, 2000)], 5))
    whole = chunks_of(lanes, 200)
    blocks = joined(*(chunks_of(lanes, 200, k, k + 3) for k in range(0, 42, 3)))
    for name in Schedule.__dataclass_fields__:
        assert np.array_equal(getattr(whole, name), getattr(blocks, name))


@settings(max_examples=draws(40), deadline=None)
@given(
    stream=st.text(min_size=1, max_size=16),
    session=st.integers(-(2**40), 2**40),
    rate_hz=st.sampled_from([128.0, 250.0, 360.0, 999.5]),
    leads=st.integers(1, 12),
    offset=st.integers(0, 499),
    chunk_ms=st.sampled_from([20.0, 200.0, 333.0]),
    mask=st.integers(0, 4095),
)
def test_messages_are_the_bytes_that_fastavro_writes(
    stream: str, session: int, rate_hz: float, leads: int, offset: int, chunk_ms: float, mask: int
) -> None:
    played = recording(rate_hz, leads, 500)
    feed = Feed(stream, played, offset, session, lead_off=((100, 300, mask % 2**leads),))
    lanes = Lanes.of([feed])
    rows = chunks_of(lanes, chunk_ms)
    turned = np.roll(played.samples, -offset, axis=1)
    for row, value in enumerate(Encoder.of(lanes, START_US).messages(rows)):
        first, count = int(rows.first[row]), int(rows.count[row])
        assert value == avro.encode_chunk(
            stream, session, first, START_US + int(rows.time_us[row]), rate_hz, played.leads,
            turned[:, first : first + count], uv_per_unit=2.5, lead_off=int(rows.lead_off[row]),
        )  # fmt: skip


def test_streams_share_recordings_in_memory_and_start_at_different_offsets() -> None:
    feeds = feeds_of([recording(name="a"), recording(name="b", n=2000)], 5)
    assert [f.stream for f in feeds] == ["a-1", "b-2", "a-3", "b-4", "a-5"]
    assert len({(id(f.recording), f.offset) for f in feeds}) == 5
    assert len(Lanes.of(feeds).bank) == 3000


def test_the_planned_defects_of_a_feed_are_applied() -> None:
    feed = Feed("s", recording(n=2500), absent=((500, 1000),), malformed=(1600,), lead_off=((2000, 2500, 1),))
    lanes = Lanes.of([feed, Feed("other", recording(n=2500))])
    rows = chunks_of(lanes, 200)
    mine = rows.take(rows.lane == 0)
    assert not np.any((mine.first < 1000) & (mine.first + mine.count > 500))
    assert np.array_equal(mine.lead_off != 0, mine.first >= 2000)
    assert (rows.broken == GARBAGE).sum() == 1
    assert len(rows) == 2 * 50 - 10 + 1
    values = Encoder.of(lanes, START_US).messages(rows)
    for bad, value in zip(rows.broken, values, strict=True):
        if bad:
            with pytest.raises(Exception):  # noqa: B017
                avro.decode_chunk(value)
        else:
            assert avro.decode_chunk(value)["stream"] in ("s", "other")


def test_a_truncated_message_is_the_first_half_of_it() -> None:
    lanes = Lanes.of([Feed("s", recording())])
    rows = chunks_of(lanes, 200)
    encoder = Encoder.of(lanes, START_US)
    fine = encoder.messages(rows)
    rows.broken[2] = TRUNCATED
    broken = encoder.messages(rows)
    assert broken[2] == fine[2][: len(fine[2]) // 2]
    assert broken[:2] + broken[3:] == fine[:2] + fine[3:]


def test_an_empty_schedule_has_no_messages() -> None:
    lanes = Lanes.of([Feed("s", recording())])
    assert Encoder.of(lanes, START_US).messages(chunks_of(lanes, 200, 0, 0)) == []


def test_stream_ids_are_short_and_ascii() -> None:
    assert pseudonym("Müller, Anna (1950)") == "M-ller--Anna--1950"
    assert len(pseudonym("x" * 300)) == 48
    ports = [f"usb-Silicon_Labs_CP2102_USB_to_UART_Bridge_Controller_000{k}-if00-port0" for k in range(9)]
    assert len(set(map(pseudonym, ports))) == 9
    assert pseudonym("é") == "stream"


def test_zero_streams_are_refused() -> None:
    with pytest.raises(UserError, match="--streams: expected at least 1; got 0"):
        feeds_of([recording()], 0)
    with pytest.raises(UserError, match="--streams: expected at least 3, one a recording; got 2"):
        feeds_of([recording(name=name) for name in "abc"], 2)
