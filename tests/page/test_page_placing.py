"""The page places chunks by the rules of the monitor: whatever devices send, it shows what the monitor analyses."""

import time
from typing import Any

import numpy as np
from beatwire.page.traces import MOST_BYTES, Traces
from beatwire.page.ward import Ward
from beatwire.pipeline.settings import Settings
from beatwire.records import RawTick
from beatwire.stages import align, decode
from beatwire.stages.support.streams.directory import Directory
from beatwire.wire.avro import encode_chunk
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import START_US
from page_ward import alert, beat

NO_VALUE = -32768
RATE_HZ = 250.0
CHUNK = 50

CHANGES = st.sampled_from([
    "next", "next", "next", "next", "again", "wrong place", "jump", "back", "session", "old session", "off", "no value",
    "early", "silence", "lost",
])  # fmt: skip
JUMPS = st.sampled_from([1, 40, 120, 2_400, 3_000, 20_000, 10_000_000])


def value_of(session: int, sample: np.ndarray) -> np.ndarray:
    """A value that shows the session and the place of a sample."""
    return ((sample * 7 + session * 1009) % 30_000).astype(np.int16)


def chunk(session: int, first: int, n: int = CHUNK, stream: str = "bed", **changed: Any) -> bytes:
    samples = value_of(session, np.arange(first, first + n))
    given = {"rate_hz": RATE_HZ, "leads": ["II"], "samples": samples, "time_us": START_US + first * 4000}
    return encode_chunk(**({"stream": stream, "session": session, "first": first} | given | changed))


def monitors() -> align.State:
    """The stage of alignment as the monitor has it."""
    s = Settings()
    return align.State(s.align(), Directory(s.most_streams), s.admission())


@given(st.lists(st.tuples(CHANGES, JUMPS, st.booleans()), min_size=1, max_size=60))
@settings(max_examples=draws(300), deadline=None)
def test_a_trace_ends_where_the_monitor_is_and_shows_no_sample_in_a_wrong_place(
    drawn: list[tuple[str, int, bool]],
) -> None:
    traces, decoder, monitor = Traces(), decode.State(decode.Settings()), monitors()
    session, first, now_us, tick = 1, 0, START_US, list[bytes]()
    for change, by, ends_tick in [*drawn, *[("next", 1, True)] * 3]:
        at, off, samples = first, 0, None
        match change:
            case "jump" | "lost":
                first = at = first + by
            case "back":
                first = at = max(0, first - by)
            case "wrong place":
                at = first + by
            case "again":
                at = max(0, first - CHUNK)
            case "session" | "old session":
                session, first, at = (session + 1 if change == "session" else max(1, session - 1)), 0, 0
            case "early":
                at = first + CHUNK
            case "silence":
                now_us += 61_000_000
            case "off":
                off = 1
            case "no value":
                samples = np.full(CHUNK, NO_VALUE, np.int16)
        tick.append(chunk(session, at, lead_off=off, **({} if samples is None else {"samples": samples})))
        first += CHUNK if change not in ("wrong place", "again", "early") else 0
        if ends_tick:
            now_us += 200_000
            given_tick, tick = RawTick.of(tick, now_us=now_us), []
            traces.add(given_tick)
            align.step(monitor, decode.step(decoder, given_tick)[1])
    slot, expected = traces.numbers["bed"], int(monitor.columns.expected[0])
    now = int(traces.ints["session"][slot])
    assert now == int(monitor.columns.session[0])
    begin, shown = traces.since(slot, 0, 1)
    assert int(traces.ints["stop"][slot]) == begin + shown.shape[1] >= expected
    arrived = shown[0] != NO_VALUE
    assert np.array_equal(shown[0][arrived], value_of(now, np.arange(begin, begin + shown.shape[1]))[arrived])
    if begin + len(arrived) == expected > begin:
        assert arrived[-1], "where the monitor has samples the page has them"


def test_one_chunk_with_a_wrong_place_takes_neither_trace_nor_time_from_a_bed() -> None:
    ward, now_us = Ward(), START_US
    for k in range(320):
        now_us += 200_000
        at = CHUNK * k + (10_000_000 if k == 20 else 0)
        ward.add_samples(RawTick.of([chunk(1, at)], now_us=now_us))
    (slot,) = ward.slots(["bed"]).values()
    _, block = ward.samples_since(slot, -1, 0, 1)
    assert block is not None
    assert block.first + block.samples.shape[1] == CHUNK * 320
    assert np.array_equal(block.samples[0], value_of(1, np.arange(block.first, CHUNK * 320)))
    ward.add_records([beat("bed", 63.9)])
    bed = ward.bed("bed", now_us)
    assert bed is not None
    assert (bed["state"], bed["bpm"]) == ("live", 75.0)
    assert bed["last_us"] == START_US + (CHUNK * 320 - 1) * 4000


def test_stray_rates_take_no_memory_and_streams_of_many_rates_leave_theirs_when_they_are_forgotten() -> None:
    ward, traces = Ward(), Traces()
    ward = Ward(traces)
    leads = [f"L{k}" for k in range(12)]
    wide = {"leads": leads, "samples": np.zeros((12, CHUNK), np.int16)}
    ward.add_samples(RawTick.of([chunk(1, 0)], now_us=START_US))
    before = traces.ring_bytes
    for k in range(150):
        ward.add_samples(RawTick.of([chunk(k, 0, stream="evil", rate_hz=4000.0 - k, **wide)], now_us=START_US))
    assert traces.ring_bytes == before
    for k in range(150):  # these go on: a second of samples each
        values = [chunk(1, CHUNK * n, stream=f"other-{k}", rate_hz=51.0 + k, **wide) for n in range(6)]
        ward.add_samples(RawTick.of(values, now_us=START_US))
    ward.add_samples(RawTick.of([chunk(1, CHUNK), chunk(1, 0, stream="new")], now_us=START_US + 3_600_000_000))
    assert before < traces.ring_bytes < MOST_BYTES / 2
    ward.forget_silent(START_US + 3_600_000_001)
    assert traces.ring_bytes == before
    ward.add_samples(RawTick.of([chunk(1, 2 * CHUNK), chunk(1, CHUNK, stream="new")], now_us=START_US + 3_600_200_000))
    for stream, n in (("bed", 3), ("new", 2)):
        (slot,) = ward.slots([stream]).values()
        assert np.array_equal(traces.since(slot, 0, 1)[1][0], value_of(1, np.arange(n * CHUNK)))


def test_5000_beds_that_are_known_by_beats_and_alerts_alone_take_less_than_a_second_and_20000_four_times_that() -> None:
    took_s: dict[int, float] = {}
    for beds in (5_000, 5_000, 20_000, 20_000):  # twice: the garbage of earlier tests may be collected meanwhile
        records = [beat(f"bed-{k}", 0.0) if k % 2 else alert(f"bed-{k}", "asystole") for k in range(beds)]
        ward = Ward()
        began_s = time.thread_time()
        for at in range(0, beds, 500):
            ward.add_records(records[at : at + 500])
            ward.part("", 0, 64, START_US)
        took_s[beds] = min(time.thread_time() - began_s, took_s.get(beds, np.inf))
        assert ward.part("", 0, 0, START_US)["streams"] == beds
    assert took_s[5_000] < 1.0
    assert took_s[20_000] < 8 * took_s[5_000]
