"""Gather: the beats of all passes in order, with times, restarts and events."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from beatwire.model.checkpoint import load_model
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import Event, TickBeats
from beatwire.stages import gather
from beatwire.stages.detection import history, windows
from laws import START_US, Signal, cut, run_graph
from steps import Detector

RATE_HZ = 250.0


class Gatherer(Detector):
    """The stages from decode to gather."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.window, self.gather = windows.State(), gather.State()
        self.recall = history.State(load_model().network)

    def gathered(self, values: list[bytes], **tick: Any) -> TickBeats:
        aligned, found = self.beats(values, **tick)
        return gather.step(
            self.gather, (aligned, tuple(history.step(self.recall, windows.step(self.window, b)[1])[1] for b in found))
        )[1]

    def named(self, tick: TickBeats) -> list[tuple[str, int, int]]:
        """Return (stream, session, sample) of the beats of a tick."""
        names = [self.directory.names[s] for s in tick.slot]
        return list(zip(names, tick.session.tolist(), tick.sample.tolist(), strict=True))


@pytest.fixture(scope="module")
def heart() -> Signal:
    return Signal("bed", synthesise(1, rate_hz=RATE_HZ, seconds=30).recording.samples, RATE_HZ, 2.0)


def chunks(signal: Signal, *spans: tuple[int, int], step: int = 50, **changed: Any) -> list[bytes]:
    return [signal.chunk(a, min(a + step, stop), **changed) for start, stop in spans for a in range(start, stop, step)]


def marked(gatherer: Gatherer, ticks: list[list[bytes]]) -> list[tuple[str, int, int]]:
    """Return the beats that are marked as the first after a restart."""
    found = []
    for values in ticks:
        tick = gatherer.gathered(values)
        found += [beat for beat, first in zip(gatherer.named(tick), tick.restart, strict=True) if first]
    return found


def test_the_first_beat_after_each_restart_is_marked_in_any_cut(heart: Signal) -> None:
    spans = (0, 1500), (2000, 3000), (3200, 3250), (3400, 4500)
    again = [heart.chunk(a, a + 50, session=2, first=a) for a in range(4500, 6000, 50)]
    other = Signal("bed-2", heart.samples[:, 700:], RATE_HZ, 2.0)
    messages = chunks(heart, *spans) + chunks(other, (0, 5000)) + again
    one_by_one = marked(Gatherer(), [[m] for m in messages])
    assert [name for name, _, _ in one_by_one] == ["bed", "bed", "bed", "bed-2", "bed"]
    assert [session for _, session, _ in one_by_one] == [1, 1, 1, 1, 2]
    rng = np.random.default_rng(0)
    for longest in (3, 20, 60, 1000):
        ticks = [messages[a:b] for a, b in cut(len(messages), rng, longest)]
        assert sorted(marked(Gatherer(), ticks)) == sorted(one_by_one)
        assert sorted(marked(Gatherer(Settings(pass_s=0.3)), ticks)) == sorted(one_by_one)


def test_beats_of_many_passes_are_in_order_of_sample_for_each_stream(heart: Signal) -> None:
    other = Signal("bed-2", synthesise(2, rate_hz=360.0, leads=2, seconds=20).recording.samples, 360.0, 2.0)
    gatherer = Gatherer(Settings(pass_s=0.5))
    tick = gatherer.gathered(chunks(heart, (0, 5000)) + chunks(other, (0, 7200)), arrival_us=list(range(244)))
    for slot, rate_hz in ((0, 250.0), (1, 360.0)):
        of_slot = tick.slot == slot
        assert of_slot.sum() > 15
        assert (np.diff(tick.sample[of_slot]) > 0).all()
        assert set(tick.rate_hz[of_slot]) == {rate_hz}
        np.testing.assert_allclose(tick.rr_s[of_slot][1:], np.diff(tick.sample[of_slot]) / rate_hz)
        np.testing.assert_array_equal(tick.time_us[of_slot], START_US + np.rint(tick.sample[of_slot] * 1e6 / rate_hz))
        assert set(tick.arrived_us[of_slot].tolist()) == {99 if slot == 0 else 243}
    assert tick.terms.latent.shape == (len(tick.slot), 8)
    assert np.isfinite(tick.terms.population).sum() >= len(tick.slot) - 2


def test_events_are_in_order_of_stream_and_pass_with_restart_first_and_watermark_last(heart: Signal) -> None:
    gatherer = Gatherer(Settings(pass_s=1.0))
    other = Signal("bed-2", heart.samples, RATE_HZ, 2.0)
    tick = gatherer.gathered(chunks(heart, (0, 1500), (2000, 5000)) + chunks(other, (0, 3000)))
    assert (np.diff(tick.events[:, 0]) >= 0).all()
    for slot in (0, 1):
        rows = tick.events[tick.events[:, 0] == slot]
        kinds = rows[:, 2].tolist()
        assert kinds[0] == Event.RESTART
        assert kinds[-1] == Event.WATERMARK
        assert kinds.count(Event.RESTART) == (2 if slot == 0 else 1)
        known = rows[rows[:, 2] == Event.WATERMARK, 3]
        assert len(known) > 8
        for kind, sample, value in rows[:, 2:5].tolist():
            if kind == Event.BEAT:
                assert (tick.slot[value], tick.sample[value]) == (slot, sample)
        beats = rows[rows[:, 2] == Event.BEAT, 3]
        assert (np.diff(beats) > 0).all()
        assert len(beats) == (tick.slot == slot).sum() > 8  # the shorter stream lasts 12 s
        for k, event in enumerate(rows[rows[:, 2] == Event.BEAT]):
            after = known[np.searchsorted(known, event[3], "right") :]
            assert len(after) or slot == 0, k


def test_a_beat_is_never_before_the_watermark(heart: Signal) -> None:
    gatherer = Gatherer()
    reached, beats = -RATE_HZ, 0
    for values in [chunks(heart, (a, a + 70), step=70) for a in range(0, 7000, 70)]:
        for kind, sample in gatherer.gathered(values).events[:, 2:4].tolist():
            if kind == Event.BEAT:
                beats += 1
                assert sample >= reached
            if kind == Event.WATERMARK:
                assert sample >= reached
                reached = sample
    assert reached > 6500
    assert beats > 20  # of 28 s


def test_times_follow_the_device_clock_where_it_jumps(heart: Signal) -> None:
    """The new clock begins with the chunk in which it jumped, in one tick or many."""
    jump = 3000
    early = [heart.chunk(a, a + 50) for a in range(0, jump, 50)]
    late = [heart.chunk(a, a + 50, time_us=START_US + a * 4000 + 7_000_000) for a in range(jump, 6000, 50)]
    for ticks in ([early + late], [[m] for m in early + late]):
        gatherer = Gatherer()
        gathered = [t for tick in ticks for t in [gatherer.gathered(tick)]]
        sample = np.concatenate([t.sample for t in gathered])
        time_us = np.concatenate([t.time_us for t in gathered])
        assert ((sample < jump).sum() > 10) & ((sample >= jump).sum() > 10)
        np.testing.assert_array_equal(time_us, START_US + sample * 4000 + 7_000_000 * (sample >= jump))


@pytest.mark.parametrize("per_tick", [1, 30, 1000])
def test_the_time_of_a_beat_follows_the_clock_of_its_own_chunk(heart: Signal, per_tick: int) -> None:
    """As with devices whose time is that of sending; also where a session begins in the same tick."""
    wrong_us = np.random.default_rng(2).integers(-9000, 9000, 200)
    stamps = {(s, k): START_US + 10**9 * s + k * 200_000 + int(wrong_us[k]) for s in (1, 2) for k in range(100)}
    messages = [heart.chunk(50 * k, 50 * k + 50, session=s, time_us=stamp) for (s, k), stamp in stamps.items()]
    gatherer = Gatherer()
    beats = 0
    for a in range(0, len(messages), per_tick):
        tick = gatherer.gathered(messages[a : a + per_tick])
        for row, time_us in zip(gatherer.named(tick), tick.time_us.tolist(), strict=True):
            _, session, sample = row
            assert time_us == stamps[session, sample // 50] + sample % 50 * 4000
        beats += len(tick.slot)
    assert beats > 40


@pytest.mark.parametrize("length", [5, pytest.param(13, marks=pytest.mark.slow), 50])
def test_times_do_not_depend_on_ticks_however_often_the_clock_is_wrong(heart: Signal, length: int) -> None:
    """More anchors than are kept, before a beat is decided and before the asystole that begins with the last beat."""
    rng = np.random.default_rng(4)
    silent = replace(heart, samples=np.concatenate([heart.samples[:, :3000], np.zeros((1, 2000), np.int16)], axis=1))
    messages = [
        silent.chunk(a, a + length, time_us=START_US + a * 4000 + int(rng.integers(-3000, 3000)))
        for a in range(0, 5000 - length + 1, length)
    ]
    times = []
    for per_tick in (1, 7, 90, len(messages)):
        run = run_graph([messages[a : a + per_tick] for a in range(0, len(messages), per_tick)])
        (beats,) = run.beats.values()
        alerts = [(a["rule"], a["state"], a["onset_us"], a["decided_us"]) for a in run.alerts]
        assert len(beats) > 10
        assert "asystole" in {a[0] for a in alerts}
        times.append(([row[2] for row in beats], alerts))
    assert all(one == times[0] for one in times[1:])


def test_samples_that_are_repeated_keep_the_time_they_came_with(heart: Signal) -> None:
    """A chunk that repeats ten seconds and adds one states another time: it holds for what is new."""
    first = [heart.chunk(a, a + 50) for a in range(0, 3000, 50)]
    again = heart.chunk(500, 3250, time_us=START_US + 500 * 4000 + 9_000_000)
    rest = [heart.chunk(a, a + 50, time_us=START_US + a * 4000 + 9_000_000) for a in range(3250, 4000, 50)]
    for ticks in ([[*first, again, *rest]], [[m] for m in [*first, again, *rest]]):
        gathered = [tick for gatherer in [Gatherer()] for values in ticks for tick in [gatherer.gathered(values)]]
        sample, time_us = (np.concatenate([getattr(t, name) for t in gathered]) for name in ("sample", "time_us"))
        np.testing.assert_array_equal(time_us, START_US + sample * 4000 + 9_000_000 * (sample >= 3000))


def test_an_empty_tick_gives_an_empty_result() -> None:
    tick = Gatherer().gathered([])
    assert (len(tick.slot), len(tick.events), tick.terms.latent.shape, tick.overloaded) == (0, 0, (0, 8), False)
