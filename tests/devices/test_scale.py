"""The scale of a device's numbers: whatever it sends before its electrodes are on, and whatever their offset is."""

import itertools
from typing import Any

import numpy as np
from beatwire.recordings.synthetic.person import UV_PER_UNIT, synthesise
from beatwire.wire import decode_chunk
from beatwire_producers.devices.chunks import Stream
from beatwire_producers.devices.packets import Description, Packet
from device_packets import START_S
from draws import draws
from hypothesis import example, given, settings
from hypothesis import strategies as st
from laws import grouped, run_graph
from numpy.typing import NDArray

HZ, SIZE = 250, 25
HEART = synthesise((7, 2), seconds=40.0, bpm=75.0, noise=0.5)
MV = HEART.recording.samples[0] * UV_PER_UNIT / 1000
SETTLED_S = {"nothing": 3.0, "no value": 14.0, "zeros": 14.0, "limit": 14.0, "small noise": 24.0}

# Microvolts per number that are stated, numbers per millivolt, and their type.
UNITS: dict[str, tuple[float | None, float, Any]] = {
    "mV": (1000.0, 1.0, float),
    "uV": (1.0, 1000.0, float),
    "fractions": (None, 1.0, float),
    "microvolts, not said": (None, 1000.0, float),
    "volts, not said": (None, 0.001, float),
    "not calibrated": (0.0, 7.0, float),
    "16 bits": (2.5, 400.0, np.int16),
    "16 bits, no sign": (2.5, 400.0, np.uint16),
    "24 bits": (0.05, 20_000.0, np.int32),
    "24 bits, no unit": (None, 20_000.0, np.int64),
}


def sent(numbers: NDArray[Any], uv: float | None) -> tuple[list[bytes], list[str], Stream]:
    """Return the messages and the notes of a device that sends these numbers of one lead, and its stream."""
    notes: list[str] = []
    stream, messages = Stream(Description("bed-1", ("II",), float(HZ), uv, is_epoch=True), notes.append), []
    for first in range(0, len(numbers), SIZE):
        at_s = START_S + first / HZ
        arrival_s = at_s + SIZE / HZ
        messages += stream.add(Packet(numbers[None, first : first + SIZE], arrival_s, at_s, first))
        messages += stream.idle(arrival_s)
    messages += stream.close()
    return [m.value for m in messages], notes, stream


def numbers_of(unit: str, begin: str, begin_s: float, offset_mv: float, kind: str) -> NDArray[Any]:
    """Return the numbers of a device: an offset of its electrodes in millivolts, and what comes before they are on."""
    _, per_mv, dtype = UNITS[unit]
    t = np.arange(len(MV)) / HZ
    shapes = {"constant": np.ones(len(t)), "drift": t / 40.0, "jump": 1.0 * (t > 25.0)}
    values = (MV + offset_mv * shapes[kind]) * per_mv
    first = slice(0, round(begin_s * HZ))
    whole = np.dtype(dtype).kind in "iu"
    if begin == "no value" and not whole:
        values[first] = np.nan
    elif begin == "limit":
        values[first] = 50_000 if unit == "16 bits, no sign" else 32_767 if whole else 400.0 * per_mv
    elif begin == "small noise":
        values[first] = 0.0005 * per_mv * np.random.default_rng(1).standard_normal(first.stop)
    elif begin in ("zeros", "no value"):
        values[first] = 0.0
    if not whole:
        return values
    middle, limits = (1 << 15 if unit == "16 bits, no sign" else 0), np.iinfo(dtype)
    values[first.stop :] += middle
    return np.clip(np.rint(values), max(limits.min, -(1 << 23)), min(limits.max, 1 << 23)).astype(dtype)


@settings(max_examples=draws(40), deadline=None)
@given(
    st.sampled_from(sorted(UNITS)), st.sampled_from(sorted(SETTLED_S)), st.floats(0.1, 3.5), st.floats(-150, 150),
    st.sampled_from(["constant", "drift", "jump"]),
)  # fmt: skip
@example("mV", "zeros", 1.0, 80.0, "constant")
@example("24 bits", "zeros", 1.0, 100.0, "constant")
@example("fractions", "no value", 1.0, 0.0, "constant")
@example("microvolts, not said", "small noise", 3.0, 0.0, "constant")
@example("uV", "nothing", 0.1, 120.0, "drift")
def test_a_heart_is_found_behind_any_beginning_and_offset(
    unit: str, begin: str, begin_s: float, offset_mv: float, kind: str
) -> None:
    uv = UNITS[unit][0]
    if unit.startswith("16"):
        offset_mv *= 0.2  # within the range of the converter
    values, notes, stream = sent(numbers_of(unit, begin, begin_s, offset_mv, kind), uv)
    run = run_graph(grouped(values, np.random.default_rng(SIZE), 8))
    got = np.array([row[2] / 1e6 - START_S for row in run.beats["bed-1"]])
    due = HEART.beats / HZ
    due = due[(due > SETTLED_S[begin]) & (due < 39.5) & ((kind != "jump") | (np.abs(due - 25.0) > 1.0))]
    missed = [at for at in due if not (np.abs(got - at) < 0.06).any()]
    assert not missed, f"expected all beats; got none at {missed} s; it said {notes}"
    assert not run.rejects
    asystole = [a["decided_us"] / 1e6 - START_S for a in run.alerts if a["rule"] == "asystole" and a["state"] == "on"]
    assert not asystole, f"expected no asystole; got it at {asystole} s"
    by_session: dict[int, set[float]] = {}
    for chunk in map(decode_chunk, values):
        by_session.setdefault(chunk["session"], set()).add(chunk["uv_per_unit"])
    assert all(len(units) == 1 for units in by_session.values()), "a session has one scale"
    assert stream.sums().sessions == len(by_session)
    assert len(by_session) == 1 + sum("a new session" in note for note in notes)


@given(st.lists(st.integers(-32768, 32767), min_size=300, max_size=300), st.sampled_from([None, 0.0, 0.3, 2.5]))
@settings(max_examples=draws(20), deadline=None)
def test_integers_of_16_bits_keep_their_values(numbers: list[int], uv: float | None) -> None:
    values, _, _ = sent(np.array(numbers, np.int16), uv)
    chunks = [decode_chunk(value) for value in values]
    assert np.concatenate([np.frombuffer(chunk["samples"], "<i2") for chunk in chunks]).tolist() == numbers
    assert {chunk["uv_per_unit"] for chunk in chunks} == {uv or 0.0}


def test_what_does_not_change_is_sent_before_its_unit_is_known() -> None:
    numbers = np.concatenate([np.zeros(10 * HZ), 1000.0 * MV[: 10 * HZ]])
    values, notes, _ = sent(numbers, None)
    chunks = [decode_chunk(value) for value in values]
    begins = [chunk["first"] / HZ for chunk in chunks if chunk["first"] >= 2 * HZ]
    assert max(b - a for a, b in itertools.pairwise(begins)) < 0.2
    assert notes[0] == "its numbers change now: a new session"
    change_s = next(chunk["first"] for chunk in chunks if chunk["session"] != chunks[0]["session"]) / HZ
    assert 10.5 < change_s < 11.5


def test_a_gain_that_rises_is_followed_where_there_is_no_unit() -> None:
    values, notes, _ = sent(np.concatenate([MV[: 15 * HZ], 2000.0 * MV[15 * HZ :]]), None)
    assert sum(note == "its numbers are much larger than before: a new session" for note in notes) == 1
    run = run_graph(grouped(values, np.random.default_rng(SIZE), 8))
    got = np.array([row[2] / 1e6 - START_S for row in run.beats["bed-1"]])
    due = [at for at in HEART.beats / HZ if 28.0 < at < 39.5]
    assert all((np.abs(got - at) < 0.06).any() for at in due)
