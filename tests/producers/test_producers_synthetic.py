"""Synthetic ECG and wards: the ground truth is exact, and every kind of event is planted in time."""

import itertools

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire.offline.results.hum import hum_summary
from beatwire.recordings.synthetic.morphology import LEADS
from beatwire.recordings.synthetic.person import UV_PER_UNIT, Synthetic, synthesise, synthetic_recording
from beatwire.recordings.synthetic.rhythm import (
    ASYSTOLE,
    BRADYCARDIA,
    GAP,
    LEAD_OFF,
    MALFORMED,
    TACHYCARDIA,
    VENTRICULAR_RUN,
    Event,
)
from beatwire_producers.ward import KINDS, NORMAL_S, plan, ward


def rate_bpm(person: Synthetic, start_s: float, stop_s: float) -> float:
    time_s = person.beats / person.recording.rate_hz
    return float(60 / np.median(np.diff(time_s[(time_s >= start_s) & (time_s < stop_s)])))


@pytest.mark.parametrize("rate_hz", [128, 250, 360, 500, 1000])
def test_every_r_peak_is_at_its_sample(rate_hz: float) -> None:
    for seed in range(5):
        person = synthesise(seed, rate_hz=rate_hz, seconds=30, noise=0)
        x = person.recording.samples[0].astype(int)
        reach = round(0.06 * rate_hz)
        inner = person.beats[(person.beats > reach) & (person.beats < len(x) - reach)]
        off = [np.argmax(x[p - reach : p + reach + 1]) - reach for p in inner]
        assert np.max(np.abs(off)) <= 1
        assert len(inner) > 20


def test_the_peak_of_a_wide_beat_is_at_its_sample() -> None:
    for seed in range(8):
        person = synthesise(seed, seconds=60, ectopy=0.1, noise=0)
        x = np.abs(person.recording.samples[0].astype(int))
        wide = person.beats[person.wide]
        wide = wide[(wide > 20) & (wide < len(x) - 20)]
        assert len(wide) > 0
        off = [np.argmax(x[p - 10 : p + 11]) - 10 for p in wide]
        assert np.max(np.abs(off)) <= 2


def test_the_same_seed_gives_the_same_ecg_and_another_seed_does_not() -> None:
    one, same, other = (synthesise(seed, leads=2, seconds=10) for seed in (1, 1, 2))
    assert np.array_equal(one.recording.samples, same.recording.samples)
    assert np.array_equal(one.beats, same.beats)
    assert not np.array_equal(one.recording.samples, other.recording.samples)


@pytest.mark.parametrize("leads", [1, 2, 12])
def test_leads_have_names_and_differ(leads: int) -> None:
    recording = synthesise(4, leads=leads, seconds=5).recording
    assert recording.leads == LEADS[:leads]
    assert recording.samples.dtype == np.int16
    assert len({lead.tobytes() for lead in recording.samples}) == leads
    assert 300 < np.abs(recording.samples.astype(int)).max() * UV_PER_UNIT < 6000


def test_asystole_has_no_beat_and_only_small_noise() -> None:
    person = synthesise(5, seconds=30, events=[Event(ASYSTOLE, 10, 18)])
    time_s = person.beats / 250
    assert not np.any((time_s >= 10) & (time_s < 18))
    flat = person.recording.samples[0, round(10.6 * 250) : 17 * 250].astype(float) * UV_PER_UNIT / 1000
    assert np.abs(np.diff(flat)).max() < 0.1
    assert np.std(np.diff(flat)) > 0.001  # a lead that is on: not a flat line


def test_heart_rates_are_the_planted_ones() -> None:
    fast = synthesise(6, seconds=40, events=[Event(TACHYCARDIA, 10, 25)], bpm=70)
    assert rate_bpm(fast, 0, 9) == pytest.approx(70, rel=0.08)
    assert rate_bpm(fast, 12.5, 25) == pytest.approx(160, rel=0.05)
    slow = synthesise(6, seconds=40, events=[Event(BRADYCARDIA, 10, 26)], bpm=70)
    assert rate_bpm(slow, 11, 26) == pytest.approx(34, rel=0.06)


def test_a_ventricular_run_consists_of_wide_beats_at_short_intervals() -> None:
    person = synthesise(7, seconds=30, events=[Event(VENTRICULAR_RUN, 12, 14.4)])
    wide = person.beats[person.wide] / 250
    assert len(wide) >= 5
    assert np.all(np.diff(wide) < 0.5)
    assert wide[0] >= 12
    assert np.all(np.diff(person.beats) > 0.25 * 250)


def test_beats_near_a_gap_or_a_lead_off_episode_are_excluded() -> None:
    person = synthesise(8, seconds=30, events=[Event(GAP, 10, 13), Event(LEAD_OFF, 20, 25)])
    sure_s = person.detectable_beats() / 250
    for start_s, stop_s in ((9.5, 13.5), (19.5, 25.5)):
        assert not np.any((sure_s >= start_s) & (sure_s < stop_s))
    assert len(sure_s) < len(person.beats)


@pytest.mark.parametrize("seed", range(6))
def test_eight_streams_of_half_a_minute_hold_every_kind_in_time_and_one_healthy_stream(seed: int) -> None:
    made = ward(8, 30.0, seed=seed)
    assert {p.kind for p in made.planted} == set(KINDS)
    assert min(p.start_s for p in made.planted) >= NORMAL_S
    assert max(p.stop_s for p in made.planted) <= 28.0
    by_kind = {p.kind: p for p in made.planted}
    assert by_kind[ASYSTOLE].stop_s - by_kind[ASYSTOLE].start_s >= 6
    for kind, limit in ((TACHYCARDIA, 130), (BRADYCARDIA, 42)):  # the median of eight intervals gets there
        event = by_kind[kind]
        time_s = made.truth_of(event.stream).beats / 250
        rates = [60 / np.median(np.diff(time_s[:k])[-8:]) for k in range(10, len(time_s) + 1)]
        assert max(rates) > limit if kind == TACHYCARDIA else min(rates) < limit
    assert len({f.stream for f in made.feeds} - {p.stream for p in made.planted}) >= 1


@pytest.mark.parametrize(("streams", "seconds"), [(1, 30), (2, 30), (3, 12), (1, 5), (40, 60), (300, 30)])
def test_a_plan_of_any_size_has_no_two_events_at_once(streams: int, seconds: float) -> None:
    for events in plan(streams, seconds, seed=3):
        for one, next_one in itertools.pairwise(events):
            assert one.stop_s <= next_one.start_s
        assert all(e.stop_s <= seconds - 2 for e in events)
    kinds = [e.kind for events in plan(streams, seconds, seed=3) for e in events]
    if streams >= 300:
        assert all(kinds.count(kind) == 1 + streams // 100 for kind in KINDS)
    if (streams, seconds) == (1, 30):
        assert kinds[0] == ASYSTOLE


def test_events_become_defects_of_the_feed() -> None:
    events = [[Event(LEAD_OFF, 9, 12)], [Event(GAP, 9, 12)], [Event(MALFORMED, 9, 9)]]
    made = ward(3, 15, rates_hz=(250, 128), leads=(2,), events=events)
    assert made.feeds[0].lead_off == ((2250, 3000, 0b11),)
    assert made.feeds[1].absent == ((9 * 128, 12 * 128),)
    assert made.feeds[2].malformed == (2250,)
    assert [p.first for p in made.planted] == [2250, 1152, 2250]


def test_the_last_stream_of_a_ward_hums_where_that_is_wanted() -> None:
    hums = [hum_summary(feed.recording) for feed in ward(3, 30, leads=(2,), hum_mv=0.3).feeds]
    assert hums[:2] == [[], []]
    assert [(row["hz"], row["mv"]) for row in hums[2] or []] == [(50.0, pytest.approx(0.3, rel=0.1))] * 2
    (row,) = hum_summary(synthetic_recording("synthetic:hum=0.2")) or []
    assert row["mv"] == pytest.approx(0.2, rel=0.1)


def test_a_ward_with_shared_people_has_correct_ground_truth() -> None:
    made = ward(50, 20, events=(), distinct=4)
    assert len({id(f.recording) for f in made.feeds}) == 4
    assert len({(id(f.recording), f.offset) for f in made.feeds}) == 50
    for feed, truth in zip(made.feeds, made.truth, strict=True):
        played = np.roll(feed.recording.samples[0], -feed.offset)
        sure = truth.detectable_beats()
        sure = sure[(sure > 20) & (sure < len(played) - 20)]
        assert all(abs(int(np.argmax(played[p - 15 : p + 16])) - 15) <= 1 for p in sure)


def test_an_empty_ward_is_refused() -> None:
    with pytest.raises(UserError, match="--streams: expected at least 1; got 0"):
        ward(0)
    with pytest.raises(UserError, match=r"--seconds: expected at least 1; got 0\.5"):
        ward(1, 0.5)
