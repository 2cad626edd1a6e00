"""Law of cuts where staff change the limits of a stream whose sessions come again: by which each alert is decided."""

import random
from collections.abc import Iterable
from typing import Any

import numpy as np
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import Alerts, LimitChange
from beatwire.wire.avro import encode_chunk
from drawn_streams import ECG, RATE_HZ, Sent, in_ticks
from hypothesis import example, given, settings
from hypothesis import strategies as st
from laws import START_US

LIMITS = ({"tachycardia": 52.0, "pause": 2.0}, {"tachycardia": 250.0}, {"bradycardia": 100.0}, {"asystole": 3.0}, {})
FIELDS = ("id", "state", "decided", "decided_us", "limit", "reminders")


def taking_turns(rng: random.Random, seconds: int) -> list[Sent]:
    """Return the chunks of devices that send under one id by turns, each with its count, session and clock."""
    n, sent = round(RATE_HZ), list[Sent]()
    first = [rng.choice([0, 3_000, 40_000]) for _ in range(2)]
    behind_us = [rng.randrange(-(10**9), 10**9) for _ in first]
    while len(sent) < seconds:
        k = rng.randrange(len(first))
        if rng.random() < 0.2:
            first[k] = max(0, first[k] + rng.choice([-100, 3, 100]) * n)
        for _ in range(rng.choice([1, 2, 5, 9])):
            samples = ECG[k][(first[k] + np.arange(n)) % len(ECG[k])]
            at_us = START_US + behind_us[k] + round(first[k] * 1e6 / RATE_HZ)
            value = encode_chunk("bed", 1 + k, first[k], at_us, RATE_HZ, ["I"], samples[None])
            sent.append(Sent(START_US + len(sent) * 1_000_000, value, f"{k} from {first[k]}"))
            first[k] += n
    return sent


def published(sent: list[Sent], changes: list[LimitChange], cuts: Iterable[int]) -> list[Any]:
    """Return the alerts and the records of the audit log if ticks end at ``cuts``."""
    pipeline, found = Pipeline(Settings()), list[Any]()

    def collect(alerts: Alerts) -> None:
        found.extend([a[name] for name in FIELDS] for a in alerts.transitions)
        found.extend(sorted(record.items(), key=str) for record in alerts.audit)

    pipeline.subscribe(pipeline.lifecycle, collect)
    pipeline.change_limits(changes)
    for tick in in_ticks(sent, list(cuts)):
        pipeline.emit(tick)
    return sorted(found, key=str)


@settings(max_examples=6)
@example(seed=0)
@example(seed=1)
@given(seed=st.integers(0, 1 << 32))
def test_limits_that_are_changed_while_devices_take_turns_hold_from_the_same_sample_in_any_cut(seed: int) -> None:
    rng = random.Random(seed)
    sent = taking_turns(rng, 90)
    n = len(sent)
    times_us = sorted(START_US + rng.randrange(90_000_000) for _ in range(rng.choice([1, 3, 6])))
    changes = [LimitChange("bed", rng.choice(LIMITS), {}, "Ada", at_us, at_us) for at_us in times_us]
    whole = published(sent, changes, (0, n))
    assert len(whole) > len(changes)
    for cuts in (range(n + 1), sorted({0, n, *rng.sample(range(n), 5)})):
        assert published(sent, changes, cuts) == whole
