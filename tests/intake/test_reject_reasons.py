"""Why a message is rejected: each reason, and a time that is the present in another unit."""

import json
from typing import Any

import pytest
from beatwire.kernels.intake import avro
from beatwire.wire.avro import REASONS, frame
from draws import draws
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracles import avro_chunk
from steps import chunk, decoded

GOOD: dict[str, Any] = {
    "stream": "bed-3", "session": 1, "first": 0, "time": 0, "rate_hz": 250.0, "leads": ["I"],
    "uv_per_unit": 5.0, "lead_off": 0, "samples": b"\1\0\2\0",
}  # fmt: skip


def edited(**changed: Any) -> bytes:
    return avro_chunk(GOOD | changed)


HUGE = 2**53 + 2
NOW_US = 1_795_000_000_000_000
INDEX = "expected a first sample within 0..2^53, 2^43 s at most, and a time within -2^53..2^53; got "
NEWER = "4 bytes are left after the last field of SampleChunk: written with a newer schema?"
REJECTED = [
    (avro.MALFORMED, b"", "truncated or malformed: no SampleChunk within 0 bytes"),
    (avro.MALFORMED, edited()[:-1], "truncated or malformed: no SampleChunk within 34 bytes"),
    (avro.NEWER, edited() + b"1234", NEWER),
    (avro.EMPTY, edited(samples=b""), "expected at least 1 sample per lead; got 0"),
    (avro.LEADS, edited(leads=list("abcdefghijklm"), samples=bytes(26)), "expected 1-12 leads; got 13"),
    (avro.LEADS, avro_chunk(GOOD | {"leads": []}, []), "expected 1-12 leads; got 0"),
    (avro.RATE, edited(rate_hz=0.0), "expected a rate of 50-4000 Hz; got 0"),
    (avro.RATE, edited(rate_hz=1e9), "expected a rate of 50-4000 Hz; got 1e+09"),
    (avro.RATE, edited(rate_hz=float("nan")), "expected a rate of 50-4000 Hz; got nan"),
    (avro.RATE, edited(rate_hz=float("-inf")), "expected a rate of 50-4000 Hz; got -inf"),
    (avro.RATE, edited(rate_hz=-250.0), "expected a rate of 50-4000 Hz; got -250"),
    (avro.LENGTH, edited(samples=b"abc"), "expected 2 bytes x leads x samples; got 3 bytes"),
    (avro.LENGTH, edited(leads=["I", "II"], samples=b"abcdef"), "expected 2 bytes x leads x samples; got 6 bytes"),
    (avro.TOO_BIG, bytes(10_000_000), "expected at most 65536 bytes; got 10000000"),
    (avro.TOO_BIG, b"{" * 70_000, "expected at most 65536 bytes; got 70000"),
    (avro.STREAM_ID, frame(edited(stream=""), 7), "expected a stream id of 1-64 bytes; got 0"),
    (avro.STREAM_ID, edited(stream="x" * 65), "expected a stream id of 1-64 bytes; got 65"),
    (avro.STREAM_ID, b"\x01" + edited(), "expected a stream id of 1-64 bytes; got -1"),
    (avro.CALIBRATION, edited(uv_per_unit=-1.0), "expected 0-1e6 microvolts per unit; got -1"),
    (avro.CALIBRATION, edited(uv_per_unit=float("inf")), "expected 0-1e6 microvolts per unit; got inf"),
    (avro.CALIBRATION, edited(uv_per_unit=float("nan")), "expected 0-1e6 microvolts per unit; got nan"),
    (avro.INDEX, edited(first=-1), INDEX + "-1"),
    (avro.INDEX, edited(first=HUGE), INDEX + f"{float(HUGE):.0f}"),
    (avro.INDEX, edited(first=2**52, rate_hz=50.0), INDEX + f"{2**52}"),
    (avro.INDEX, edited(time=HUGE), INDEX + f"{float(HUGE):.0f}"),
    (avro.INDEX, edited(time=-HUGE), INDEX + f"{float(-HUGE):.0f}"),
    (avro.INDEX, edited(time=-(2**63)), INDEX + f"{float(-(2**63)):.0f}"),
    (
        avro.MILLISECONDS, edited(time=NOW_US // 1_000 - 90_000),
        "expected a time in microseconds since 1970; got 1794999910000, the present in milliseconds",
    ),
    (
        avro.SECONDS, edited(time=NOW_US // 1_000_000 + 90),
        "expected a time in microseconds since 1970; got 1795000090, the present in seconds",
    ),
    (avro.LEAD_OFF, edited(lead_off=2), "expected a lead-off mask with one bit a lead; got 2"),
    (avro.LEAD_OFF, edited(lead_off=-1), "expected a lead-off mask with one bit a lead; got -1"),
    (avro.SCHEMA_ID, frame(edited(), 8), "schema id 8 is not one of SampleChunk's: written with a newer schema?"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "value", "message"), REJECTED)
def test_the_reason_of_a_reject_names_the_expected_and_the_actual_value(code: int, value: bytes, message: str) -> None:
    result = decoded([chunk(), value, chunk()], schema_id=7, arrival_us=3 * [NOW_US])
    assert result.message.tolist() == [0, 2]
    assert (result.rejects.message, result.rejects.reason) == ([1], [f"decode: {message}"])


def test_every_reason_has_a_case() -> None:
    assert {code for code, _, _ in REJECTED} == set(REASONS)


@settings(max_examples=draws(60), deadline=None)
@given(
    st.integers(avro.KNOWN_US, avro.MAX_INDEX), st.integers(-3_600, 3_600), st.sampled_from([1, 1_000, 1_000_000]),
    st.booleans(),
)  # fmt: skip
def test_the_present_in_another_unit_is_rejected(now_us: int, off_s: int, unit: int, as_json: bool) -> None:
    time = (now_us + off_s * 1_000_000) // unit
    value = json.dumps({"stream": "s", "first": 0, "rate_hz": 250, "samples": [1], "time": time}).encode()
    result = decoded([value if as_json else edited(time=time)], arrival_us=[now_us])
    assert len(result.message) == (unit == 1 and time <= avro.MAX_INDEX)
    if unit > 1:
        named = {1_000: "milliseconds", 1_000_000: "seconds"}[unit]
        assert result.rejects.reason[0].endswith(f"got {time}, the present in {named}")


@settings(max_examples=draws(60), deadline=None)
@given(st.integers(0, avro.MAX_INDEX), st.integers(-(2**53), 2**53))
def test_every_other_time_is_taken(arrived_us: int, time_us: int) -> None:
    """A recording may be of any day, and a device without a date counts from 0."""
    near = [abs(time_us * unit - arrived_us) <= 3_700_000_000 for unit in (1_000, 1_000_000)]
    assume(not any(near))
    assert len(decoded([edited(time=time_us), edited()], arrival_us=[arrived_us, arrived_us]).message) == 2


@settings(max_examples=draws(60), deadline=None)
@given(rate_hz=st.floats(50.0, 4000.0), first=st.integers(0, 2**53), time_us=st.integers(-(2**53), 2**53))
def test_a_first_sample_that_is_taken_has_a_time_in_64_bits(rate_hz: float, first: int, time_us: int) -> None:
    taken = len(decoded([edited(first=first, rate_hz=rate_hz, time=time_us)], arrival_us=[0]).message)
    from_zero_us = int(first * 1e6 / rate_hz)
    assert taken == (from_zero_us <= 2**43 * 1_000_000)
    assert not taken or abs(time_us - from_zero_us) < 2**63


def test_a_reason_is_one_short_printable_line_whatever_was_received() -> None:
    for text in ("x" * 60_000, "\x1b]0;owned\x07", "\n" * 60_000, "\ud800"):
        for value in (
            json.dumps({text: 1}),
            json.dumps({"stream": "a", "samples": [text]}),
            json.dumps({"samples": text}),
        ):
            (reason,) = decoded([value.encode()]).rejects.reason
            assert reason.isprintable()
            assert len(reason) < 300
