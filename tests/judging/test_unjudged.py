"""Signals that cannot be judged: noise, "cannot analyse", and asystole in noise, in any cut."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beatwire.kernels.rhythms import rest, wave_shape
from beatwire.kernels.rhythms.flutter import FLAT, REST, SATURATED, WAVES
from beatwire.offline.analyze import analyze
from beatwire.recordings import read_recording
from bedside import Ward, device_chunk, rows_of
from draws import draws
from hypothesis import example, given, settings
from hypothesis import strategies as st
from laws import Signal, assert_equal, run_graph, ticks_of

BLOCK = 200  # samples of the ward's streams, at 100 Hz
TIME = "cannot analyse"


def begun(transitions: Sequence[dict[str, Any]]) -> list[tuple[str, int]]:
    """Return rule and onset of the alerts that begin."""
    return [(a["rule"], a["onset"]) for a in transitions if a["state"] == "on"]


def noisy(first: int, last: int, errors: float = 1.5, every: int = 80) -> list[tuple[Any, ...]]:
    """Return beats of a noisy signal."""
    return [("bed", at, 70, False, errors) for at in range(first, last, every)]


def blocks_of(*kinds: int, first: int = 0) -> list[tuple[str, int, int]]:
    """Return blocks in a row, the first of which begins at a sample."""
    return [("bed", first + BLOCK * (k + 1), kind) for k, kind in enumerate(kinds)]


def test_a_stretch_that_cannot_be_judged_is_announced_after_ten_seconds_and_with_high_priority_after_thirty(
    ward: Ward,
) -> None:
    clean, after = [("bed", at, 70, False, 0.1) for at in (20, 100)], [("bed", 5000, 70, False, False, 0.2)]
    transitions = ward.tick(beats=[*clean, *noisy(180, 4990), *after])
    assert rows_of([a for a in transitions if a["rule"] == TIME]) == [
        ("cannot analyse", "on", 1100, 1100),
        ("cannot analyse", "off", 1100, 3100),
        ("cannot analyse", "on", 3100, 3100),
        ("cannot analyse", "off", 3100, 5000),
    ]
    of_rule = {a["rule"]: a for a in transitions if a["state"] == "on"}
    raised = [a for a in transitions if a["rule"] == TIME and a["state"] == "on"]
    assert [(a["priority"], a["technical"]) for a in raised] == [("medium", True), ("high", True)]
    assert len({a["id"] for a in raised}) == 2
    assert of_rule["noise"]["onset"] == 180
    assert of_rule["noise"]["text"].startswith("noise: 1.5 errors expected in 10 s, limit 1")


def test_a_priority_rises_also_where_both_limits_are_nearly_or_wholly_the_same() -> None:
    for unjudged_s, long_s in ((28.0, 30.0), (30.0, 30.0)):
        ward = Ward(unjudged_s=unjudged_s, long_unjudged_s=long_s)
        ward.tick(device_chunk())
        ward.tick(beats=[*(("bed", at, 70, False, 0.1) for at in (20, 100)), *noisy(180, 4990)])
        published = ward.published
        ward.tick(beats=[("bed", 5000, 70, False, False, 0.2)], known=[("bed", 9000)])
        published = [a for a in [*published, *ward.published] if a["rule"] == TIME]
        of_high = [(a["state"], a["onset"]) for a in published if a["priority"] == "high"]
        assert of_high == [("on", 3100), ("off", 3100)]
        newest = {a["id"]: a["state"] for a in published}
        assert set(newest.values()) == {"off"}, "each is over"
        assert len(newest) == 2


def test_noise_ends_at_the_eighth_beat_without_expected_errors(ward: Ward) -> None:
    transitions = ward.tick(beats=[*noisy(100, 190), *noisy(260, 2000, errors=0.1)])
    assert rows_of(transitions) == [("noise", "on", 100, 100), ("noise", "off", 100, 260 + 7 * 80)]


@pytest.mark.parametrize("kind", [FLAT, WAVES])
def test_a_flat_line_and_fibrillation_are_judged(ward: Ward, kind: int) -> None:
    transitions = ward.tick(beats=noisy(100, 3400), blocks=blocks_of(*[0] * 3, *[kind] * 8, *[0] * 6))
    assert [at for rule, at in begun(transitions) if rule == "cannot analyse"] == [11 * BLOCK + 1000]


@pytest.mark.parametrize("denied", [120, 300, 499])
def test_a_silence_with_a_peak_that_the_network_denies_is_asystole_once_it_is_at_rest(ward: Ward, denied: int) -> None:
    certain = [("bed", at, 70, False, 0.1) for at in (20, 40, 60, 80, 100)]
    restless = blocks_of(*[0] * 4)
    assert begun(ward.tick(beats=certain, denied=[("bed", denied)], blocks=restless, known=[("bed", 990)])) == []
    begins = begun(ward.tick(blocks=blocks_of(REST, REST, first=800), known=[("bed", 1300)]))
    assert begins == [(TIME, 1100), ("asystole", 1200)]


def test_a_peak_that_the_network_denies_before_the_last_beat_leaves_a_silence_certain(ward: Ward) -> None:
    certain = [("bed", at, 70, False, 0.1) for at in (20, 40, 60, 80, 100)]
    begins = begun(ward.tick(beats=certain, denied=[("bed", 99)], blocks=blocks_of(0, 0), known=[("bed", 510)]))
    assert begins == [("asystole", 500)]


@settings(max_examples=draws(60), deadline=None)
@given(large=st.lists(st.integers(101, 1500), max_size=6))
@example(large=[500])
def test_a_silence_begins_with_a_wave_larger_than_any_beat_in_the_four_seconds_behind_the_last_one(
    large: list[int],
) -> None:
    ward, last = Ward(), 100
    ward.tick(device_chunk())
    for at in sorted(large):
        if at <= 500:
            last = at
    certain = [("bed", at, 70, False, 0.1) for at in (20, 40, 60, 80, 100)]
    begins = begun(ward.tick(beats=certain, large=[("bed", at) for at in large], known=[("bed", 1600)]))
    assert ("asystole", last + 400) in begins


def test_the_interval_behind_a_wave_larger_than_any_beat_begins_with_it(ward: Ward) -> None:
    beats = [("bed", at, 70, False, 0.1) for at in (20, 100, 180, 530, 610)]
    assert begun(ward.tick(beats=beats)) == [("pause", 530)]
    later = [("bed", at, 70, False, 0.1) for at in (690, 1040)]
    assert ("pause", 1040) not in begun(ward.tick(beats=later, large=[("bed", 780)]))


def test_faint_beats_in_a_silence_end_no_asystole(ward: Ward) -> None:
    at = [100, 200, 300, 420, 540, 660, 760, 860]
    beats = [("bed", sample, 70, False, 0.1) for sample in at]
    found = ward.tick(beats=beats, sizes=[1.0, 1.0, 0.1, 0.1, 0.1, 0.1, 0.5, 1.0])
    assert rows_of(found) == [("asystole", "on", 600, 600), ("asystole", "latched", 600, 760)]


def test_beats_that_have_been_faint_for_long_are_beats(ward: Ward) -> None:
    beats = [("bed", 100 * k, 70, False, 0.1) for k in range(1, 40)]
    found = rows_of(ward.tick(beats=beats, sizes=[1.0] * 10 + [0.1] * 29))
    assert found == [("asystole", "on", 1400, 1400), ("asystole", "latched", 1400, 3000)]  # 20 s after 1000


@settings(max_examples=draws(30), deadline=None)
@given(sizes=st.lists(st.floats(0.01, 2.0), min_size=8, max_size=20))
def test_beats_of_the_shape_of_the_normal_one_are_beats_however_small(sizes: list[float]) -> None:
    ward = Ward()
    ward.tick(device_chunk())
    beats = [("bed", 100 * k, 70, False, 0.1) for k in range(1, len(sizes) + 1)]
    assert begun(ward.tick(beats=beats, sizes=sizes, alike=[0.95] * len(sizes))) == []


RHYTHM = [("bed", at, 70, False, 0.1) for at in (10, 30, 50, 70, 90)]


def sparse(gap: int) -> list[tuple[Any, ...]]:
    """Return five certain beats with a gap between them."""
    return noisy(100, 100 + 5 * gap - gap // 2, 0.1, gap)


SILENCES = [
    ((), []),  # nothing is known of the signal: it is not at rest
    ((FLAT, FLAT, FLAT, FLAT), []),
    ((0, 0, 0, 0), []),
    ((REST,), [500]),
    ((0, REST, REST), [800]),  # when two blocks in a row were at rest
    ((0, REST, 0, REST, REST), [1200]),
]


@pytest.mark.parametrize(("kinds", "onsets"), SILENCES)
def test_after_an_uncertain_beat_asystole_needs_a_signal_at_rest(
    ward: Ward, kinds: tuple[int, ...], onsets: list[int]
) -> None:
    beats, blocks = [*RHYTHM, *noisy(100, 110)], blocks_of(*kinds, first=200)
    transitions = ward.tick(beats=beats, blocks=blocks, known=[("bed", 1400)])
    assert [at for rule, at in begun(transitions) if rule == "asystole"] == onsets


@pytest.mark.parametrize(
    ("beats", "onset"),
    [
        (noisy(100, 110), 1100),  # no beat that is certain
        ([*RHYTHM[:4], *noisy(100, 110)], 1100),  # four
        ([*RHYTHM, *noisy(100, 110)], 500),  # a rhythm
        ([*RHYTHM, *noisy(100, 4500)], 4420 + 400),  # which is remembered for 44 s
        ([*RHYTHM, *noisy(100, 4600)], 4580 + 1000),
        ([*noisy(100, 110), *noisy(200, 600, 0.1, 100)], 500 + 400),  # the last beat is certain
        ([*sparse(990), *noisy(4300, 4310)], 4700),
        ([*sparse(1000), *noisy(4300, 4310)], 5300),  # a row with 10 s between two beats
    ],
)  # fmt: skip
def test_after_an_uncertain_beat_without_a_rhythm_before_it_asystole_needs_six_seconds_more(
    ward: Ward, beats: list[tuple[Any, ...]], onset: int
) -> None:
    blocks = blocks_of(*[REST] * 40)
    transitions = ward.tick(beats=beats, blocks=blocks, known=[("bed", 8000)])
    assert [at for rule, at in begun(transitions) if rule == "asystole"][-1:] == [onset]


@pytest.mark.parametrize("kind", [0, FLAT, WAVES, REST])
def test_after_a_certain_beat_asystole_begins_whatever_the_signal(ward: Ward, kind: int) -> None:
    transitions = ward.tick(
        beats=noisy(100, 110, errors=0.5), blocks=blocks_of(*[kind] * 3, first=200), known=[("bed", 501)]
    )
    assert ("asystole", 500) in begun(transitions)


def test_asystole_takes_the_place_of_cannot_analyse(ward: Ward) -> None:
    blocks = blocks_of(*[0] * 8, REST, REST, REST, REST)
    transitions = ward.tick(beats=noisy(10, 100), blocks=blocks, known=[("bed", 5000)])
    assert rows_of([a for a in transitions if a["rule"] != "noise"]) == [
        ("cannot analyse", "on", 1000, 1000),
        ("cannot analyse", "off", 1000, 2000),
        ("asystole", "on", 2000, 2000),
    ]


def events_of(rng: np.random.Generator, samples: int) -> tuple[list[tuple[Any, ...]], list[tuple[str, int, int]]]:
    """Return beats and blocks of a stream with pauses, long noise, and stretches of blocks of every kind."""
    at = np.cumsum(rng.choice([60, 90, 90, 90, 90, 700, 1300], 300))
    errors = np.repeat(rng.choice([0.1, 1.5, 1.5], 10), 30)
    beats = [("bed", int(a), 70, False, float(e)) for a, e in zip(at, errors, strict=True) if a < samples]
    kinds = np.repeat(rng.choice([0, 0, 0, FLAT, WAVES, REST, REST, SATURATED], samples // (5 * BLOCK) + 1), 5)
    return beats, blocks_of(*kinds.tolist())


def cut_of(
    beats: list[tuple[Any, ...]],
    blocks: list[tuple[str, int, int]],
    samples: int,
    rng: np.random.Generator,
    longest: int,
) -> list[tuple[int, str, str, int]]:
    """Return the transitions of a ward in ticks of up to ``longest`` samples.

    A block is known when its end is decided, a beat a quarter of a second later.
    """
    ward, found, mark = Ward(), [], 0
    ward.tick(device_chunk())
    while mark < samples:
        new = min(samples, mark + int(rng.integers(1, longest)))
        ahead = 26 if longest < samples else 0
        found += ward.tick(
            beats=[b for b in beats if mark <= b[1] < new],
            blocks=[b for b in blocks if mark + (ahead if mark else 0) < b[1] <= new + ahead],
            known=[("bed", new)],
        )
        mark = new
    return sorted((a["decided"], a["rule"], a["state"], a["onset"]) for a in found if a["decided"] < samples)


def test_no_cut_of_the_events_changes_the_alerts() -> None:
    seen: set[str] = set()
    for seed in range(8):
        rng, samples = np.random.default_rng(seed), 20_000
        beats, blocks = events_of(rng, samples)
        whole = cut_of(beats, blocks, samples, rng, 10**9)
        assert seed > 1 or cut_of(beats, blocks, samples, rng, 40) == whole
        assert cut_of(beats, blocks, samples, rng, 450) == whole
        seen |= {rule for _, rule, *_ in whole}
    assert {"asystole", TIME, "noise", "saturated", "flat line", "ventricular fibrillation"} <= seen


def description(samples: np.ndarray, uv: float = 5.0) -> int:
    """Return the packed description of 128 points in units of ``uv`` microvolts."""
    points = np.rint(16 * (samples - samples.mean())).astype(np.int32)
    return wave_shape.pack_description(points, round(1000 * uv), 16, 90)


def test_a_block_is_at_rest_if_it_is_less_steep_than_the_beats_before_and_no_electrode_came_off(
    rng: np.random.Generator,
) -> None:
    t = np.arange(128) / 64
    living = 6 * np.sin(2 * np.pi * 1.5 * t) + rng.normal(0, 1, 128)
    beats = living + 150 * np.exp(-((((t - 0.3) % 0.8) - 0.1) ** 2) / (2 * 0.02**2))
    past = np.zeros(rest.COLUMNS, np.int32)
    assert [rest.is_at_rest(description(beats), past) for _ in range(20)] == [False] * 20
    assert rest.median_slope(past) == pytest.approx(np.abs(np.diff(5 * beats)).max(), rel=0.15)
    dead, slow = 0.2 * rng.normal(0, 1, 128), 300 * np.exp(-t / 3)  # 3 uV; it returns from a limit
    assert all(rest.is_at_rest(description(quiet), past) for quiet in (living, dead, slow))
    assert not rest.is_at_rest(description(12 * living), past)  # noise
    assert not rest.is_at_rest(description(10 * beats), past)  # 7 mV: an artefact
    for _ in range(13):
        assert rest.has_artefact(past)
        assert rest.is_at_rest(description(living), past)
        assert not rest.is_at_rest(description(dead), past.copy())
        assert not rest.is_at_rest(description(slow), past.copy())
    rest.is_at_rest(description(dead), past)
    assert rest.is_at_rest(description(dead), past)  # half a minute later
    assert rest.is_at_rest(description(12 * living, 0.0), past)  # not calibrated: nothing is known


def test_electrodes_that_come_off_are_no_asystole_and_a_silent_heart_is(ecg_folder: Path) -> None:
    raised = {}
    for name in ("a123l", "a462s", "a699l", "a825l", "a142s", "a185l", "a442s"):
        recording = read_recording(ecg_folder / "cinc2015" / f"{name}.hea").pick(0, 1)
        last = recording.samples.shape[1] - 16 * recording.rate_hz
        raised[name] = [a["rule"] for a in analyze(recording).alerts if a["rule"] == "asystole" and a["decided"] > last]
    assert {name for name, alerts in raised.items() if alerts} == {"a142s", "a185l", "a442s"}


def test_a_recording_without_a_heart_is_announced_as_one_that_cannot_be_analysed(ecg_folder: Path) -> None:
    recording = read_recording(ecg_folder / "nstdb" / "ma.hea", lead="first")
    short = np.ascontiguousarray(recording.samples[:, : round(60 * recording.rate_hz)])
    signal = Signal("bed", short, recording.rate_hz, recording.uv_per_unit)
    whole = run_graph([[signal.chunk(0, short.shape[1])]])
    assert {"noise", "cannot analyse"} <= {a["rule"] for a in whole.alerts}
    assert_equal(run_graph(ticks_of([signal], np.random.default_rng(0), 300)), whole, fewest_beats=1)
