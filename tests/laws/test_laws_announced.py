"""Law 8: a stream is analysed or announced, whatever its device sends; and what is not there begins no alarm."""

from functools import cache

import numpy as np
import pytest
from announced import TECHNICAL, Played, play, unannounced
from draws import draws
from hostile_senders import ECG, KINDS, RATE_HZ, SECOND_US, Phase, Plan, messages_of
from hypothesis import HealthCheck, example, given, seed, settings
from hypothesis import strategies as st
from laws import START_US, Run, Signal, assert_equal

WARD = 12  # senders of a ward at most
SOUND = Phase("clean", 45.0, 2)  # a conflict ends after 30 s; and of an alert of beats eight are needed
kinds = st.sampled_from(KINDS)
phases = st.builds(Phase, kinds, st.floats(3.0, 40.0), st.integers(0, 2**32 - 1), st.just("clean") | kinds)
several = st.lists(phases, min_size=1, max_size=3).map(tuple)
plans = st.builds(Plan, st.sampled_from([1, 2]), st.sampled_from([10, 50, 125, 250, 700]), several)
ticks = st.tuples(st.integers(0, 2**32 - 1), st.sampled_from([0.2, 0.5, 1.0]))


def neighbour(seconds: float) -> list[tuple[int, str, bytes]]:
    """Return the messages of a stream without a fault."""
    signal = Signal("neighbour", np.tile(ECG[:1], 4)[:, : round(seconds * RATE_HZ)])
    bounds = range(0, signal.samples.shape[1], 50)
    return [
        (START_US + (b + 50) * SECOND_US // RATE_HZ, "neighbour", signal.chunk(b, min(b + 50, signal.samples.shape[1])))
        for b in bounds
    ]


@cache
def alone(seconds: int) -> Run:
    """Return the output of the neighbour alone."""
    sent = neighbour(seconds)
    return play(sent, [START_US + (k + 1) * SECOND_US for k in range(seconds + 1)]).run


def played(ward: list[Plan], cut: tuple[int, float]) -> tuple[Played, int]:
    """Return what a graph publishes for a ward and a neighbour, whose ticks are cut at random, and for how long."""
    seconds = int(max(plan.seconds for plan in ward)) + 1
    seconds = -(-seconds // 40) * 40
    sent = [(at, f"bed-{k}", value) for k, plan in enumerate(ward) for at, value in messages_of(f"bed-{k}", plan)]
    sent = sorted(sent + neighbour(seconds), key=lambda one: one[0])
    rng, end_us, ends = np.random.default_rng(cut[0]), START_US, []
    while end_us < START_US + (seconds + 1) * SECOND_US:
        end_us += round(rng.uniform(0.05, cut[1]) * SECOND_US)
        ends.append(end_us)
    return play(sent, ends), seconds


def check(ward: list[Plan], cut: tuple[int, float]) -> Played:
    """Check the law of every sender of a ward, and that the neighbour is as it is alone; return what was published."""
    result, seconds = played(ward, cut)
    assert_equal(result.run.of("neighbour"), alone(seconds))
    for k, plan in enumerate(ward):
        check_of(result, f"bed-{k}", plan, cut)
    return result


def check_of(result: Played, name: str, plan: Plan, cut: tuple[int, float]) -> None:
    """Check the law of one sender."""
    own = [a for a in result.run.alerts if a["stream"] == name]
    slack_s = 2.0 + 2 * plan.chunk / RATE_HZ + cut[1]
    wrong = unannounced(result, name, slack_s)
    known = [(a["rule"], a["state"], a["decided_us"]) for a in own]
    assert not wrong, f"{name}: expected analysis or an alert; got neither at {wrong[:3]} s of {plan}: {known}"
    if plan.is_true:
        high = [a for a in own if a["priority"] == "high" and not a["technical"]]
        assert not high, f"{name}: expected no alarm of a normal heart; got {[a['rule'] for a in high]}: {plan}"


# Each skip begins a lane anew in which one block is flat, but not two in a row: there is no flat line.
skips_and_pacing = Plan(2, 125, (Phase("pacing", 34.15053501034414, 4035493584, "first skips"),))
skips_and_flat = Plan(2, 125, (
    Phase("clock of the future", 25.613413766290165, 2429608650, "first skips"),
    Phase("flat", 22.070490602211194, 616003677, "first skips"),
))  # fmt: skip
# Of the first messages nothing is of use, or they wait, and others come late or not at all.
turned_away = [
    Plan(2, 50, (Phase("wrong rate", 32.64890551601351, 334, "held back"),)),
    Plan(1, 700, (Phase("clock in nanoseconds", 3.0, 178),)),
    Plan(2, 700, (Phase("refused", 4.40261397858032, 377, "wrong rate"),)),
    Plan(2, 700, (Phase("late", 22.537521489646263, 63697892, "clock in nanoseconds"),)),
    Plan(2, 125, (Phase("wrong rate", 4.4728901217366595, 2868, "held back"),)),
    Plan(2, 125, (
        Phase("clock in nanoseconds", 23.655515901236065, 4294967295, "held back"),
        Phase("two devices, other leads", 9.288699779813037, 819),
        Phase("wrong scale", 14.937114149844493, 36897, "first jumps"),
    )),
]  # fmt: skip
# Two offsets that are within the converter's limits together: there is a heart in all samples.
two_offsets = Plan(2, 700, (
    Phase("offset jumps", 23.829831117511777, 6287, "offset jumps"),
    Phase("missing", 31.899942241565807, 1764, "chunks of all sizes"),
))  # fmt: skip


@given(st.lists(plans, min_size=1, max_size=WARD), ticks)
@example([*turned_away, two_offsets], (97815543, 1.0))
@example([skips_and_pacing], (1902086881, 1.0))
@example([skips_and_flat], (2025213954, 0.2))
@settings(max_examples=draws(8), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_every_stream_is_analysed_or_announced_at_every_moment(ward: list[Plan], cut: tuple[int, float]) -> None:
    check(ward, cut)


@pytest.mark.slow  # some hours; one hundred alone: -k "hundred and [7]"
@pytest.mark.parametrize("hundred", range(100))
def test_each_of_a_hundred_drawn_senders_is_analysed_or_announced_at_every_moment(hundred: int) -> None:
    @seed(hundred)
    @given(st.lists(plans, min_size=1, max_size=WARD), ticks)
    @settings(
        max_examples=100 // (WARD // 2) + 1, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    def drawn(ward: list[Plan], cut: tuple[int, float]) -> None:
        check(ward, cut)

    drawn()


@cache
def of_every_kind() -> Played:
    """Return what is published for a ward with a sender of each kind; each is sound again in the end."""
    return check([Plan(1, 50, (Phase("clean", 12.0, 1), Phase(kind, 20.0, 3), SOUND)) for kind in KINDS], (1, 0.8))


@pytest.mark.parametrize("kind", KINDS)
def test_a_heart_is_found_again_after_a_sender_has_come_to_its_senses(kind: str) -> None:
    stream, end_s = f"bed-{KINDS.index(kind)}", 32.0 + SOUND.seconds
    last = [m for m in of_every_kind().moments if end_s - 5.0 < m.at_s <= end_s]
    assert sum(stream in m.beat for m in last) >= 3
    assert not [rule for m in last[-1:] for name, rule in m.on if name == stream and rule in TECHNICAL]
