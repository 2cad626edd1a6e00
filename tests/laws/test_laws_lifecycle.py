"""Law of cuts for what becomes of an alert: when it ends, and how often staff are reminded, whatever the settings.

A device goes on, loses its leads, sends another signal, begins a session, jumps, or sets its clock: at any time of an
alert that holds, is held, or is latched.
"""

import random
from collections.abc import Iterable

import numpy as np
from beatwire.alerts.settings import Lifecycle
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.wire.avro import encode_chunk
from drawn_streams import ECG, RATE_HZ, Sent, differences, in_ticks
from hypothesis import example, given, settings
from hypothesis import strategies as st
from laws import START_US, Run, collect

SIGNALS = ("ecg", "ecg", "flat", "fast", "slow", "one", "off", "absent")  # one: a second of beats; absent: no values
CHANGES = ("", "", "session", "again", "hole", "back", "clock", "ahead")
SECOND_US = 1_000_000


def drawn_lifecycle(rng: random.Random) -> Lifecycle:
    """Return settings by which reminders come before, while and after an alert is held."""
    return Lifecycle(
        shortest_s=rng.choice([0, 5, 20, 60]),
        remind_high_s=rng.choice([1, 3, 7, 60]),
        remind_medium_s=rng.choice([1, 5, 180]),
        remind_low_s=rng.choice([0, 2]),
    )


def drawn_seconds(rng: random.Random, seconds: int) -> list[Sent]:
    """Return the chunks of a stream, one a second."""
    n, lead, sent, first, at_us, session = round(RATE_HZ), ECG[1], list[Sent](), 0, START_US, 1
    while len(sent) < seconds:
        signal, change, by = rng.choice(SIGNALS), rng.choice(CHANGES), rng.choice([2, 5, 8, 30, 100])
        match change:
            case "session" | "again":
                session = session + 1 if change == "session" else 1 + session % 2
                first, at_us = rng.choice([0, first, 5_000]), at_us + rng.choice([0, 1, -50, 300]) * SECOND_US
            case "hole":
                first, at_us = first + by * n, at_us + by * SECOND_US
            case "back":
                first, at_us = max(0, first - by * n), at_us - by * SECOND_US
            case "clock":
                at_us += rng.choice([-1, 1]) * by * SECOND_US
            case "ahead":
                first += by * n
        for k in range(rng.choice([1, 2, 3, 6, 12, 30, 70])):
            at = n * k + np.arange(n)
            at = {"fast": 2 * at, "slow": at // 3}.get(signal, at) % len(lead)
            is_flat = signal == "flat" or (signal == "one" and k > 0)
            samples = np.zeros(n, np.int16) if is_flat else lead[at]
            samples = np.full(n, -32768, np.int16) if signal == "absent" else samples
            value = encode_chunk(
                "bed", session, first, at_us, RATE_HZ, ["I"], samples[None], lead_off=int(signal == "off")
            )
            sent.append(Sent(START_US + len(sent) * SECOND_US, value, f"{len(sent)}: {signal} {change}"))
            first, at_us = first + n, at_us + SECOND_US
    return sent


def published(sent: list[Sent], cuts: Iterable[int], lifecycle: Lifecycle) -> Run:
    """Return what one graph publishes if ticks end at ``cuts``."""
    pipeline, run = Pipeline(Settings(lifecycle=lifecycle)), Run()
    collect(pipeline, run, published=True)
    for tick in in_ticks(sent, list(cuts)):
        pipeline.emit(tick)
    return run


@settings(max_examples=4)
@example(seed=30)  # a stream restarts behind the end of an alert
@example(seed=36)  # leads come off, and a clock is set, while an alert is held
@example(seed=50)  # an alert ends where no samples came
@example(seed=90)  # a chunk without values is far ahead
@given(seed=st.integers(0, 1 << 32))
def test_no_cut_changes_when_an_alert_ends_nor_how_often_it_is_published_again(seed: int) -> None:
    rng = random.Random(seed)
    lifecycle = drawn_lifecycle(rng)
    sent = drawn_seconds(rng, 260)
    n = len(sent)
    whole = published(sent, (0, n), lifecycle)
    for cuts in (range(n + 1), sorted({0, n, *rng.sample(range(n), 6)})):
        assert not differences(whole, published(sent, cuts, lifecycle)), (lifecycle, [one.note for one in sent])
