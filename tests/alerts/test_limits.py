"""Limits of single streams: in force from the broker's time on, in any cut, and after a replay."""

import itertools
from typing import Any

import numpy as np
import pytest
from beatwire.alerts.limits import MOST_CHANGES, check_limits
from beatwire.alerts.settings import Settings as AlertSettings
from beatwire.errors import UserError
from beatwire.kernels.alerts import alert_state
from beatwire.kernels.rhythms.flutter import REST
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import LimitChange, RawTick
from beatwire_producers.ward import ward as synthetic_ward
from bedside import Ward, device_chunk, rows_of
from draws import draws
from hypothesis import example, given, settings
from hypothesis import strategies as st
from laws import Run, Signal, assert_same, collect

DEFAULTS = AlertSettings().limits


def change(since_us: int, before: dict[str, float] | None = None, stream: str = "bed", **limits: float) -> LimitChange:
    named = {name.replace("_", " "): value for name, value in limits.items()}
    return LimitChange(stream, named, before or {}, "Ada", since_us - 300_000, since_us)


def sent(first: int, at_s: float, **changed: Any) -> Any:
    return device_chunk(first, arrival_us=round(at_s * 1e6), **changed)


def test_a_limit_is_in_force_from_the_first_chunk_that_arrives_after_it() -> None:
    ward = Ward()
    ward.tick(sent(0, 1.0, n=100))
    ward.limits.add([change(2_000_000, tachycardia=100.0)])
    ward.tick(sent(100, 1.99, n=100), beats=[("bed", 150, 110)])
    assert ward.published == []
    assert ward.audit == []
    ward.tick(sent(200, 2.0, n=100), beats=[("bed", 199, 110)])
    assert ward.published == [], "this beat is before the chunk's first sample"
    (record,) = ward.audit
    assert (record["what"], record["by"], record["before"], record["after"]) == (
        "limits in force", "Ada", {}, {"tachycardia": 100.0},
    )  # fmt: skip
    assert (record["session"], record["sample"]) == (1, 200)
    begun = ward.tick(beats=[("bed", 200, 110)])
    assert rows_of(begun) == [("tachycardia", "on", 200, 200)]
    assert begun[0]["limit"] == 100.0
    assert begun[0]["definition"] == (
        "The median rate of the last 8 intervals is above 100/min. "
        "The signal is good enough to say so, and the beats of half a minute are like each other."
    )


def test_a_longer_asystole_takes_nothing_back_and_a_shorter_one_begins_where_it_is_in_force() -> None:
    for step in (10, 700):
        ward = Ward()
        ward.limits.add([change(3_000_000, asystole=8.0), change(12_000_000, asystole=3.0)])
        transitions = []
        for first in range(0, 1400, step):
            n = min(step, 1400 - first)
            chunks = [sent(k, k / 100, n=10) for k in range(first, first + n, 10)]
            transitions += ward.tick(*chunks, beats=[("bed", 50)] if first == 0 else [], known=[("bed", first + n)])
        assert rows_of(transitions) == [("asystole", "on", 850, 850)]
        assert transitions[0]["limit"] == 8.0
    ward = Ward()
    ward.limits.add([change(0, asystole=10.0), change(6_000_000, asystole=3.0)])
    transitions = []
    for first in range(0, 700, 10):
        transitions += ward.tick(sent(first, first / 100), known=[("bed", first + 10)])
    assert rows_of(transitions) == [("asystole", "on", 600, 600)], "not before the limit was in force"


@pytest.mark.parametrize(("errors", "onsets"), [(0.1, [1200]), (1.5, [])])
def test_a_shorter_asystole_begins_at_once_only_if_the_last_beat_was_certain(errors: float, onsets: list[int]) -> None:
    ward, found = Ward(), list[tuple[str, str, int, int]]()
    ward.limits.add([change(0, asystole=10.0), change(12_000_000, asystole=3.0)])
    for first in range(0, 1250, 10):
        beats = [("bed", 250, 70.0, False, errors)] if first == 250 else []
        found += rows_of(ward.tick(sent(first, first / 100), beats=beats, known=[("bed", first + 10)]))
    assert [onset for rule, _, onset, _ in found if rule == "asystole"] == onsets


@settings(max_examples=draws(20), deadline=None)
@given(changed=st.integers(45, 110), kinds=st.lists(st.sampled_from([0, REST]), min_size=6, max_size=6))
@example(changed=60, kinds=[0, 0, REST, REST, REST, REST])
def test_in_a_silence_that_was_tested_at_a_shorter_limit_asystole_begins_at_the_longer_one_at_the_earliest(
    changed: int, kinds: list[int]
) -> None:
    ward, found = Ward(), list[tuple[str, str, int, int]]()
    ward.limits.add([change(changed * 100_000, asystole=10.0)])
    certain = [("bed", at, 70.0, False, 0.1) for at in (20, 30, 40, 50, 60)]
    for first in range(0, 1400, 10):
        beats = [*certain, ("bed", 100, 70.0, False, 1.5)] if first == 100 else []
        blocks = [("bed", first, kinds[first // 200 - 1])] if first and first % 200 == 0 else []
        now = sent(first, first / 100)
        found += rows_of(ward.tick(now, beats=beats, blocks=blocks, known=[("bed", first + 10)]))
    onsets = [onset for rule, _, onset, _ in found if rule == "asystole"]
    assert all(onset <= 10 * changed or onset >= 1100 for onset in onsets)
    assert onsets or REST not in kinds[-2:-1]


def test_no_data_follows_the_limit_that_holds_now() -> None:
    ward = Ward()
    ward.tick(sent(0, 1.0), now_us=1_000_000)
    ward.limits.add([change(2_000_000, no_data=30.0)])
    assert ward.tick(now_us=10_000_000) == []
    (begun,) = ward.tick(now_us=31_100_000)
    assert (begun["rule"], begun["limit"], begun["text"]) == ("no data", 30.0, "no data: no usable message for 30 s")


def test_a_chunk_older_than_the_oldest_known_change_has_the_limits_before_it() -> None:
    ward = Ward()
    ward.limits.add([change(9_000_000, {"tachycardia": 100.0}, tachycardia=200.0)])
    begun = ward.tick(sent(0, 1.0, n=100), beats=[("bed", 50, 110)])
    assert rows_of(begun) == [("tachycardia", "on", 50, 50)]
    assert ward.audit == [], "that change is not known any more"


def test_a_stream_that_was_silent_when_its_worker_started_is_not_recorded_again() -> None:
    ward = Ward()
    ward.limits.add([change(2_000_000, tachycardia=100.0)])
    ward.tick(sent(0, 63.0, n=100))
    assert ward.audit == []
    assert rows_of(ward.tick(beats=[("bed", 50, 110)])) == [("tachycardia", "on", 50, 50)]


@pytest.mark.parametrize("at", [10, 1000], ids=["at once", "behind a silence of which there is no sample"])
def test_a_change_that_waits_when_the_session_ends_is_in_force_in_the_next_one(at: int) -> None:
    ward = Ward()
    ward.limits.add([change(2_000_000, tachycardia=100.0)])
    ward.tick(sent(0, 1.0))
    ward.tick(sent(at, 2.0, lead_off=1))
    begun = ward.tick(sent(0, 3.0, session=2, n=100), beats=[("bed", 50, 110)])
    assert [(a["rule"], a["state"]) for a in begun] == [("lead off", "off"), ("tachycardia", "on")]


def test_many_changes_are_added_in_linear_time_and_the_table_is_bounded() -> None:
    ward = Ward()
    ward.limits.add([change(k, tachycardia=100.0 + k % 50) for k in range(20_000)])
    assert len(ward.limits.values) <= MOST_CHANGES + 2
    begun = ward.tick(sent(0, 100.0, n=100), beats=[("bed", 50, 160)])
    assert [one["limit"] for one in begun if one["rule"] == "tachycardia"] == [149.0]
    assert np.array_equal(ward.limits.values[0], ward.limits.defaults)


@pytest.mark.parametrize("streams", [("bed",), ("bed", "other")])
def test_every_change_comes_into_force_however_many_there_were(streams: tuple[str, ...]) -> None:
    ward, entered = Ward(), itertools.count(1)
    for stream in streams:  # rows of the table are free again
        ward.limits.add([change(next(entered), stream=stream, tachycardia=100.0) for _ in range(MOST_CHANGES + 50)])
    ward.tick(*(sent(0, 1.0, stream=stream) for stream in streams), known=[(stream, 10) for stream in streams])
    rng = np.random.default_rng(1)
    for k in range(1, 40):
        stream, bpm = str(rng.choice(streams)), 60.0 + k
        ward.limits.add([change(round((k + 0.5) * 1e6), stream=stream, tachycardia=bpm)])
        ward.tick(*(sent(10 * k, k + 1.0, stream=name) for name in streams))
        assert [(record["stream"], record["after"]) for record in ward.audit] == [(stream, {"tachycardia": bpm})]
        ward.tick(known=[(stream, 10 * k + 10)])
        slot = ward.aligner.directory.names.index(stream)
        row = int(ward.alert.slots[slot, alert_state.LIMITS])
        assert ward.limits.values[row, alert_state.TACHYCARDIA] == bpm


def test_other_streams_keep_their_limits() -> None:
    ward = Ward()
    ward.limits.add([change(0, tachycardia=100.0)])
    beats = [("bed", 5, 110), ("other", 5, 110)]
    begun = ward.tick(sent(0, 1.0), sent(0, 1.0, stream="other"), beats=beats)
    assert [(a["stream"], a["rule"]) for a in begun] == [("bed", "tachycardia")]


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"drift": 1.0}, "limits of 'bed': expected one of asystole, .*; got 'drift'"),
        ({"asystole": 2.0}, "limits of 'bed': expected asystole of 3 to 10 s; got 2"),
        ({"tachycardia": float("nan")}, "expected tachycardia of 50 to 300 /min; got nan"),
        ({"tachycardia": 160.0}, "expected tachycardia of at most extreme tachycardia; got tachycardia 160 and .* 140"),
        ({"pause": 5.0}, "expected pause of at most asystole; got pause 5 and asystole 4"),
    ],
)
def test_limits_that_cannot_be_meant_are_refused(limits: dict[str, float], reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        check_limits("bed", limits, DEFAULTS)


@pytest.fixture(scope="module")
def signals() -> list[Signal]:
    """Return three streams whose rates are near the limits."""
    shown = synthetic_ward(3, 40, seed=5, rates_hz=(128, 250), leads=(1,))
    return [Signal(f.stream, f.recording.samples, f.recording.rate_hz, 5.0) for f in shown.feeds]


def changes_of(signals: list[Signal]) -> list[LimitChange]:
    """Return changes at 8, 16 and 24 s of each stream, by which most beats are beyond a limit, or none."""
    wide = {"tachycardia": 250.0, "extreme tachycardia": 260.0}
    narrow = {"tachycardia": 52.0, "bradycardia": 50.0, "pause": 2.0, "asystole": 3.0}
    return [
        LimitChange(s.stream, limits, {}, "Ada", 0, round(at_s * 1e6))
        for s in signals
        for at_s, limits in ((8.3, narrow), (16.1, wide), (24.7, narrow))
    ]


def messages_of(signals: list[Signal], chunk_s: float = 0.2) -> list[tuple[int, bytes]]:
    """Return chunks of the streams with their arrivals, a tenth of a second after their last sample."""
    sent_at = []
    for s in signals:
        n = round(chunk_s * s.rate_hz)
        firsts = range(0, s.samples.shape[1] - n, n)
        sent_at += [(round(1e6 * ((a + n) / s.rate_hz + 0.1)), s.chunk(a, a + n)) for a in firsts]
    return sorted(sent_at, key=lambda one: one[0])


def run(
    messages: list[tuple[int, bytes]], changes: list[LimitChange], sizes: list[int], settings: Settings | None = None
) -> tuple[Run, Pipeline]:
    pipeline, found = Pipeline(settings or Settings()), Run()
    collect(pipeline, found)
    found.published = []  # type: ignore[attr-defined]
    pipeline.subscribe(pipeline.lifecycle, lambda alerts: found.published.extend(alerts.transitions))  # type: ignore[attr-defined]
    pipeline.change_limits(changes)
    rest, size = list(messages), itertools.cycle(sizes)
    while rest:
        n = next(size)
        part, rest = rest[:n], rest[n:]
        pipeline.emit(RawTick.of([m for _, m in part], arrival_us=[t for t, _ in part]))
    return found, pipeline


def by_stream(published: list[dict[str, Any]]) -> dict[str, list[tuple[Any, ...]]]:
    rows: dict[str, list[tuple[Any, ...]]] = {}
    for a in published:
        rows.setdefault(a["stream"], []).append((a["decided"], a["rule"], a["state"], a["id"], a["limit"], a["value"]))
    return {stream: sorted(own) for stream, own in rows.items()}


def test_any_cut_into_ticks_and_a_replay_give_the_same_alerts_by_changed_limits(signals: list[Signal]) -> None:
    messages, changes = messages_of(signals), changes_of(signals)
    whole, _ = run(messages, changes, [len(messages)])
    rng = np.random.default_rng(3)
    cut, _ = run(messages, changes, rng.integers(1, 30, 50).tolist())
    assert_same(whole, cut, fewest_beats=60)
    assert by_stream(whole.published) == by_stream(cut.published)  # type: ignore[attr-defined]
    found = [a for a in whole.alerts if a["rule"] == "tachycardia" and a["state"] == "on"]
    assert {a["stream"] for a in found} == {s.stream for s in signals}, "expected each stream to be beyond its limit"
    plain, _ = run(messages, [], [len(messages)])
    assert by_stream(plain.alerts) != by_stream(whole.alerts)
    alone, _ = run(messages_of(signals[:1]), changes, [7])
    assert by_stream(alone.published) == {  # type: ignore[attr-defined]
        stream: rows
        for stream, rows in by_stream(whole.published).items()  # type: ignore[attr-defined]
        if stream == signals[0].stream
    }


@pytest.mark.parametrize("pass_s", [0.5, 1.1, 10.0])
def test_a_beat_before_the_new_limits_has_the_old_ones_if_a_later_pass_finds_it_too(pass_s: float) -> None:
    """A mark of active time is where the chunk ends before which a beat is not found yet, and the next one begins."""
    signal = Signal("bed", synthesise((3, 0), seconds=15).recording.samples)
    edges = [0, 125, 250, 500, 875, 1125, 1250, 1375, 1750, 1875, 2250, 2500, 2750, 3125, 3375, 3625]
    messages = [(4_000 * b + 50_000, signal.chunk(a, b)) for a, b in itertools.pairwise(edges)]
    changes = [LimitChange("bed", {"tachycardia": 52.0}, {}, "Ada", 0, 9_075_000)]
    cuts = [run(messages, changes, sizes, Settings(pass_s=pass_s))[0] for sizes in ([1], [7, 1, 3, 2], [len(messages)])]
    begun = [[alert["decided"] for alert in cut.alerts if alert["rule"] == "tachycardia"] for cut in cuts]
    assert begun == 3 * [[2396]], "2225 is before the chunk from 2250 on, which arrives at 10.05 s"
