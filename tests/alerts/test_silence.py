"""Whole feeds that fail again and again: living beds raise nothing of their own, and a dead one is announced."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from beatwire.kernels.alerts import alert_state
from beatwire.records import I64
from beatwire.stages.support.alerts.silence import Silence
from beatwire.stages.support.alerts.stream_alerts import begin_of_no_data
from hypothesis import example, given, settings
from hypothesis import strategies as st

BEGIN_US = 10**15
TICK_S = 0.25


class Beds:
    """Beds of which the first is dead from some time on; what raises ``no data`` is found."""

    def __init__(self, n: int, limit_s: float) -> None:
        self.silence, self.used_us, self.limits_s = Silence(), np.full(n, BEGIN_US), np.full(n, limit_s)
        self.slots = np.zeros((n, alert_state.FIRST_ONSET + alert_state.RULES), np.int64)
        self.slots[:, alert_state.FIRST_ONSET :] = -1
        self.slots[:, alert_state.IS_KNOWN] = 1

    def tick(self, now_us: int, newest_us: int, used: I64, arrival_us: I64) -> list[int]:
        """Return the beds that begin to be without data."""
        self.used_us[used] = arrival_us
        slots = SimpleNamespace(used_us=self.used_us, expected=np.zeros(len(self.used_us), np.int64))
        tick = cast(Any, SimpleNamespace(now_us=now_us, caught_up=True, used=used, slots=slots))
        self.silence.watch_feed(newest_us)
        rows = np.zeros(len(self.used_us), np.int64)
        return [int(b) for b in begin_of_no_data(self.slots, tick, rows, self.limits_s, self.silence)[:, 0]]


def arrivals_s(until_s: float, every_s: float, phase: float, period_s: float, outage_s: float) -> np.ndarray[Any, Any]:
    """Return when the chunks of a bed arrive; what it sends in the last ``outage_s`` of each period is lost."""
    at_s = np.arange(phase * every_s, until_s, every_s)
    return cast("np.ndarray[Any, Any]", at_s[at_s % period_s < period_s - outage_s])


@given(
    works_s=st.floats(3.0, 130.0),
    outage_s=st.floats(0.3, 30.0),
    every_s=st.sampled_from([0.25, 0.5, 1.0]),
    dies_s=st.floats(1.0, 150.0),
    limit_s=st.sampled_from([2.0, 5.0, 10.0]),
    seed=st.integers(0, 99),
)
@example(works_s=95.0, outage_s=5.0, every_s=0.25, dies_s=150.0, limit_s=2.0, seed=0)
@example(works_s=20.0, outage_s=1.5, every_s=1.0, dies_s=30.0, limit_s=2.0, seed=1)
@settings(max_examples=20, deadline=None)
def test_no_living_bed_is_missed_however_often_the_feed_fails_and_a_dead_one_is_within_its_limit(
    works_s: float, outage_s: float, every_s: float, dies_s: float, limit_s: float, seed: int
) -> None:  # fmt: skip
    rng, n, period_s = np.random.default_rng(seed), 20, works_s + outage_s
    until_s = max(200.0, min(dies_s + 2 * period_s, 400.0))
    sent = [arrivals_s(until_s, every_s, rng.random(), period_s, outage_s) for _ in range(n)]
    sent[0] = sent[0][sent[0] < dies_s]
    bed = np.repeat(np.arange(n), [len(s) for s in sent])
    order = np.argsort(at_s := np.concatenate(sent), kind="stable")
    bed, at_s = bed[order], at_s[order]
    beds, found = Beds(n, limit_s), []
    ticks_s = np.arange(TICK_S, until_s, TICK_S)
    ends = np.searchsorted(at_s, ticks_s, "right").tolist()
    for now_s, begin, end in zip(ticks_s.tolist(), [0, *ends], ends, strict=False):
        arrival_us = BEGIN_US + np.round(at_s[begin:end] * 1e6).astype(np.int64)
        newest_us = BEGIN_US + round(at_s[end - 1] * 1e6) if end else BEGIN_US
        now_us = BEGIN_US + round(now_s * 1e6)
        found += [(b, now_s) for b in beds.tick(now_us, newest_us, bed[begin:end], arrival_us)]
    assert [b for b, _ in found] == [0]
    last_s = sent[0][-1] if len(sent[0]) else 0.0
    gaps_s = np.diff(at_s)
    outages = np.flatnonzero((gaps_s > 2.0) & (at_s[1:] > last_s) & (at_s[:-1] < last_s + limit_s + 2.0))
    counts_s = at_s[outages[0] + 1] if len(outages) else last_s
    assert last_s + limit_s <= found[0][1] <= counts_s + limit_s + 5.0


@pytest.mark.parametrize("ahead_s", [(0.0,), (1.0, 0.0), (1.0, 0.0, 0.6, 0.0), (0.0, -0.7, 0.9), (0.0, -1.0)])
@pytest.mark.parametrize("every_s", [0.25, 1.0])
def test_gateways_whose_clocks_differ_hide_no_dead_bed_and_miss_no_living_one(
    ahead_s: tuple[float, ...], every_s: float
) -> None:
    n, found = 21, []
    beds = Beds(n, 2.0)
    for k in range(round(60 / every_s * (n - 1))):
        b = 1 + 7 * k % (n - 1)
        now_us = BEGIN_US + round((k * every_s / (n - 1) + ahead_s[b % len(ahead_s)]) * 1e6)
        used = np.array([b])
        found += [(b, k * every_s / (n - 1)) for b in beds.tick(now_us, now_us, used, np.array([now_us]))]
    ((bed, at_s),) = found
    assert bed == 0
    assert at_s <= 7.0


@pytest.mark.parametrize("limit_s", [2.0, 60.0, 300.0])
@pytest.mark.parametrize("interval_s", [0.6, 2.5, 9.0])
def test_a_feed_that_resumes_with_each_chunk_delays_the_alarm_by_one_interval(
    limit_s: float, interval_s: float
) -> None:
    beds, found, newest_s = Beds(2, limit_s), [], 0.0
    for now_s in np.arange(0.0, limit_s + 20.0, TICK_S).tolist():
        used = np.array([1] if now_s - newest_s >= interval_s else [], np.int64)
        newest_s = now_s if len(used) else newest_s
        now_us, newest_us = (BEGIN_US + round(s * 1e6) for s in (now_s, newest_s))
        found += [now_s for b in beds.tick(now_us, newest_us, used, np.full(len(used), now_us)) if b == 0]
    assert len(found) == 1
    assert limit_s <= found[0] <= limit_s + interval_s + 2 * TICK_S
