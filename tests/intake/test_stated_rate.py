"""A stated rate against the times of chunks: any true rate, chunks, jitter, steps of the clock and pauses."""

import itertools
import random
from collections.abc import Sequence

import pytest
from announced import play
from beatwire.kernels.intake.stated_rate import CELL_S, MOST, NOTHING_DUE, forget_rate, note_rate
from beatwire.records.slot_columns import SLOT_BASE, new_slots
from draws import draws
from hostile_senders import heart
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import START_US, Signal

RATE_HZ = 250.0
Sent = tuple[int, float]  # first sample of a chunk, and its time in seconds


def found(sent: Sequence[Sent], rate_hz: float = RATE_HZ) -> list[tuple[float, int]]:
    """Return the events of chunks: at which stated second, and the value."""
    state, events = new_slots(1)[0], []
    forget_rate(state)
    state[SLOT_BASE] = sent[0][0]
    for first, time_s in sent:
        zero_us = round(1e6 * (time_s - first / rate_hz)) + START_US
        value = note_rate(state, first, zero_us, rate_hz)
        if value != NOTHING_DUE:
            events.append((first / rate_hz, value))
    return events


@st.composite
def chunks(draw: st.DrawFn, seconds: float, longest_s: float, rate_hz: float) -> list[int]:
    """Return the first samples of chunks; the lane may begin anywhere."""
    rng = draw(st.integers(0, 2**32).map(random.Random))
    firsts = [draw(st.integers(0, 1_000_000))]
    while firsts[-1] - firsts[0] < seconds * rate_hz:
        firsts.append(firsts[-1] + rng.randint(1, max(1, round(longest_s * rate_hz))))
    return firsts


@settings(max_examples=draws(60), deadline=None)
@given(st.data(), st.floats(50, 4000), st.integers(0, 2**32).map(random.Random))
def test_a_rate_that_the_times_contradict_is_found_within_50_s(
    data: st.DataObject, rate_hz: float, rng: random.Random
) -> None:
    true = data.draw(st.one_of(st.floats(0.08, 0.96), st.floats(1.04, 12)))
    firsts = data.draw(chunks(80.0, 1.0, rate_hz))
    events = found([(f, f / (rate_hz * true) + rng.uniform(0, 0.02)) for f in firsts], rate_hz)
    begin = firsts[0] / rate_hz
    assert events[0][0] - begin <= 5 * CELL_S + 2.1
    lasts = [1 / (1 + value / 1e5) for _, value in events]  # a stated second, by the times
    assert lasts == pytest.approx(len(lasts) * [1 / true], abs=0.05 * abs(1 - 1 / true) + 0.003)
    assert len(events) >= 3, "while it lasts there is one each ten seconds"


@settings(max_examples=draws(60), deadline=None)
@given(st.data(), st.floats(0.996, 1.004), st.floats(0, 0.4), st.integers(0, 2**32).map(random.Random))
def test_a_right_rate_is_never_contradicted(
    data: st.DataObject, true: float, jitter_s: float, rng: random.Random
) -> None:
    """By a gateway that stamps chunks as they come, a clock that is set, or one that stands still."""
    firsts = data.draw(chunks(300.0, data.draw(st.floats(0.1, 30)), RATE_HZ))
    steps = sorted(rng.choices(firsts, k=data.draw(st.integers(0, 2))))
    by_s = data.draw(st.floats(-1e6, 1e6))
    given = [(f, f / (RATE_HZ * true) + rng.uniform(0, jitter_s) + by_s * sum(f >= s for s in steps)) for f in firsts]
    assert found(given) == []
    assert found([(f, 0.0) for f in firsts]) == []


@settings(max_examples=draws(30), deadline=None)
@given(st.data(), st.floats(60, 600), st.floats(0.1, 2))
def test_chunks_that_were_stored_and_are_stamped_when_they_are_sent_are_no_contradiction(
    data: st.DataObject, stored_s: float, longest_s: float
) -> None:
    firsts = data.draw(chunks(stored_s + 200, longest_s, RATE_HZ))
    begin = firsts[0] / RATE_HZ + 100
    given = [f / RATE_HZ for f in firsts]
    sent = [begin + stored_s + (t - begin) * 0.01 if begin <= t < begin + stored_s else t for t in given]
    assert found(list(zip(firsts, sent, strict=True))) == []


@settings(max_examples=draws(60), deadline=None)
@given(st.data(), st.floats(0.1, 12), st.integers(0, 2**32).map(random.Random))
def test_what_is_found_depends_on_the_last_51_s(data: st.DataObject, longest_s: float, rng: random.Random) -> None:
    firsts = data.draw(chunks(400.0, longest_s, RATE_HZ))
    sent, time_s, at = list[Sent](), 0.0, firsts[0]
    for f in firsts:
        if f == firsts[0] or rng.random() < 0.02 * longest_s:
            true = rng.choice([0.5, 1.0, 1.0, 1.03, 2.0, 1000.0])
        time_s, at = time_s + (f - at) / (RATE_HZ * true), f
        sent.append((f, time_s + rng.uniform(0, 0.05)))
    begin = rng.randrange(len(sent))
    later = sent[begin][0] / RATE_HZ + 5 * CELL_S + 1 + longest_s
    assert [e for e in found(sent[begin:]) if e[0] >= later] == [e for e in found(sent) if e[0] >= later]


def test_it_ends_when_the_times_agree_again_and_a_hole_ends_it() -> None:
    firsts = [50 * k for k in range(1500)]
    half = [f / 125 if f < 37_500 else 300 + (f - 37_500) / 250 for f in firsts]
    events = found(list(zip(firsts, half, strict=True)))
    assert [value for _, value in events] == [*(len(events) - 1) * [-50_000], 0]
    assert events[-1][0] == pytest.approx(170.0, abs=0.3)
    hole = [(f, f / 125) for f in firsts if not 25_000 <= f < 32_000]
    values = [value for _, value in found(hole)]
    assert [key for key, _ in itertools.groupby(values)] == [-50_000, 0, -50_000]


def test_a_step_of_less_than_the_limit_is_none() -> None:
    for true, expected in ((1 - 0.9 * MOST, False), (1 - 1.2 * MOST, True)):
        assert bool(found([(50 * k, 50 * k / (RATE_HZ * true)) for k in range(600)])) is expected


@pytest.mark.parametrize("longest_s", [0.5, 4.0])
def test_the_alert_is_on_while_the_stated_rate_is_wrong_in_any_cut(longest_s: float) -> None:
    """A hole that restarts the lane ends it; it begins anew after 50 s."""
    sent, rng = list[tuple[int, str, bytes]](), random.Random(1)
    signal = Signal("bed-1", heart(1, 0, 300 * 250), rate_hz=500.0)
    for a in range(0, 300 * 250, 125):
        if not 30_000 <= a < 35_000:
            arrived_us = START_US + (a + 125) * 4_000
            sent.append((arrived_us, "bed-1", signal.chunk(a, a + 125, time_us=START_US + a * 4_000)))
    end_us, ends = START_US, list[int]()
    while end_us < sent[-1][0]:
        end_us += round(rng.uniform(0.01, longest_s) * 1e6)
        ends.append(end_us)
    alerts = [a for a in play(sent, ends).run.alerts if a["rule"] == "rate contradicted" and not a["reminders"]]
    assert [a["state"] for a in alerts] == ["on", "off", "on"]
    assert alerts[0]["value"] == pytest.approx(-50.0)
