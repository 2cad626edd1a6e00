"""The rules, by hand-made events: on, off, latched, whatever the cuts."""

from __future__ import annotations

import numpy as np
import pytest
from beatwire.stages.support.alert_rules import alert_id
from bedside import Ward, came, short


@pytest.fixture
def ward() -> Ward:
    one = Ward()
    assert one.tick(came()) == []
    return one


def test_asystole_begins_four_seconds_after_the_last_beat_and_is_latched_by_the_next(ward: Ward) -> None:
    assert ward.tick(beats=[("bed", 50)], known=[("bed", 450)]) == []
    begun = ward.tick(known=[("bed", 451)])
    assert short(begun) == [("asystole", "on", 450, 450)]
    assert ward.tick(known=[("bed", 900)]) == []
    ended = ward.tick(beats=[("bed", 950)])
    assert short(ended) == [("asystole", "latched", 450, 950)]
    assert begun[0]["id"] == ended[0]["id"] == alert_id("bed", 1, "asystole", 450)
    assert begun[0]["text"] == "asystole: no beat for 4 s"
    assert (begun[0]["priority"], begun[0]["technical"], begun[0]["limit"]) == ("high", False, 4.0)


def test_a_stream_that_begins_without_a_beat_is_asystole_from_its_first_sample_on(ward: Ward) -> None:
    assert short(ward.tick(known=[("bed", 401)])) == [("asystole", "on", 400, 400)]


@pytest.mark.parametrize("step", [1, 7, 50, 399, 5000])
def test_asystole_is_told_with_the_same_onset_however_events_are_cut(step: int) -> None:
    at = [100, 200, 700, 780, 1300, 1400]
    ward = Ward()
    told = short(ward.tick(came()))
    for a in range(0, 2000, step):
        beats = [("bed", b) for b in at if a < b <= a + step]
        told += short(ward.tick(beats=beats, known=[("bed", min(2000, a + step))]))
    assert told == [
        ("asystole", "on", 600, 600),
        ("asystole", "latched", 600, 700),
        ("asystole", "on", 1180, 1180),
        ("asystole", "latched", 1180, 1300),
        ("asystole", "on", 1800, 1800),
    ]


RATES = [
    (160, {"extreme tachycardia", "tachycardia"}),
    (151, {"extreme tachycardia", "tachycardia"}),
    (150, {"tachycardia"}),
    (121, {"tachycardia"}),
    (119.9, set()),
    (45.1, set()),
    (44, {"bradycardia"}),
    (35, {"bradycardia"}),
    (34, {"bradycardia", "extreme bradycardia"}),
    (np.nan, set()),
]


@pytest.mark.parametrize(("bpm", "rules"), RATES)
def test_a_rate_beyond_its_limit_is_told(ward: Ward, bpm: float, rules: set[str]) -> None:
    told = ward.tick(beats=[("bed", 60, bpm)])
    assert {a["rule"] for a in told} == rules
    for a in told:
        assert (a["state"], a["onset"], a["value"]) == ("on", 60, bpm)
        assert a["text"] == f"{a['rule']}: median rate {bpm:.0f}/min, limit {a['limit']:g}"


def test_a_rate_alert_goes_off_at_the_eighth_beat_within_the_limits() -> None:
    for once_more in (None, 4):
        ward = Ward()
        ward.tick(came())
        told = short(ward.tick(beats=[("bed", 50, 130)]))
        bpm = [130 if k == once_more else 110 for k in range(20)]
        for k, rate in enumerate(bpm):
            told += short(ward.tick(beats=[("bed", 100 + 50 * k, rate)]))
        last = 450 if once_more is None else 450 + 50 * 5
        assert told == [("tachycardia", "on", 50, 50), ("tachycardia", "off", 50, last)]


def test_a_pause_counts_as_several_beats_so_that_an_alert_goes_off_in_time(ward: Ward) -> None:
    told = ward.tick(beats=[("bed", 50, 130), *[("bed", 50 + 210 * k, 110) for k in range(1, 4)]])
    assert short(told) == [("tachycardia", "on", 50, 50), ("tachycardia", "off", 50, 680)]


def test_limits_are_settings() -> None:
    ward = Ward(tachycardia_bpm=100.0, asystole_s=3.0)
    ward.tick(came())
    told = ward.tick(beats=[("bed", 100, 110)], known=[("bed", 500)])
    assert [(a["rule"], a["onset"], a["limit"]) for a in told] == [("tachycardia", 100, 100.0), ("asystole", 400, 3.0)]


def test_three_anomalous_beats_of_eight_are_told_until_there_are_fewer_for_eight_beats(ward: Ward) -> None:
    odd = [0, 1, 0, 1, 0, 0, 0, 1, 1] + [0] * 20
    told = ward.tick(beats=[("bed", 50 * k + 50, 70, bool(a)) for k, a in enumerate(odd)])
    third, last, eight = 400, 550, 400  # the last beat that ends a row of eight with three is number 10
    assert short(told) == [("anomalous beats", "on", third, third), ("anomalous beats", "off", third, last + eight)]
    assert told[0]["text"] == "anomalous beats: 3 of the last 8 beats are unlike this stream's usual beats"
    assert told[0]["priority"] == "low"


def test_an_alert_that_a_beat_decides_says_how_sure_that_is_and_what_the_signal_is_worth(ward: Ward) -> None:
    ward.expected_errors = 1.26
    told = ward.tick(beats=[("bed", 100, 130)], known=[("bed", 900)])
    assert [a["rule"] for a in told] == ["tachycardia", "asystole"]
    assert told[0]["text"].endswith("limit 120 (beat confidence 97 %, 1.3 errors expected in 10 s)")
    assert told[1]["text"] == "asystole: no beat for 4 s"


def test_two_anomalous_beats_of_eight_are_not_told(ward: Ward) -> None:
    assert ward.tick(beats=[("bed", 50 * k, 70, k % 4 == 0) for k in range(1, 30)]) == []


def test_an_interval_of_three_to_four_seconds_is_a_pause_and_a_longer_one_is_asystole() -> None:
    at = [100, 200, 501, 600, 1000, 1401, *range(1500, 2600, 100)]
    for step in (1, 50, 5000):
        ward = Ward()
        told = ward.tick(came())
        for a in range(0, 3000, step):
            told += ward.tick(beats=[("bed", b) for b in at if a <= b < a + step], known=[("bed", min(a + step, 2600))])
        assert short(told) == [
            ("pause", "on", 501, 501),
            ("asystole", "on", 1400, 1400),
            ("asystole", "latched", 1400, 1401),
            ("pause", "off", 501, 1700),  # eight beats after the one of 4.00 s; 4.01 s count as five
        ]
        assert told[0]["text"] == "pause: 3.0 s between two beats, limit 3 s"
        assert (told[0]["value"], told[0]["priority"]) == (3.01, "medium")


def test_the_first_beat_after_a_restart_ends_no_pause(ward: Ward) -> None:
    assert ward.tick(beats=[("bed", 350)]) == []


def beats_apart(intervals: list[int], first: int = 100) -> list[tuple[str, int]]:
    return [("bed", first + int(t)) for t in np.cumsum([0, *intervals])]


def test_a_rhythm_is_irregular_when_most_of_32_intervals_are_unlike_the_one_before(ward: Ward) -> None:
    rng = np.random.default_rng(0)
    chaos = rng.permutation(np.arange(50, 110, 2)).tolist() * 2
    told = ward.tick(beats=beats_apart([*chaos, *[80] * 50]))
    assert [(a["rule"], a["state"]) for a in told] == [("irregular rhythm", "on"), ("irregular rhythm", "off")]
    assert told[0]["value"] == 22
    assert told[0]["text"] == "irregular rhythm: 22 of the last 32 intervals differ from the one before"


def test_a_heart_that_breathes_and_one_with_an_extra_beat_in_six_are_regular(ward: Ward) -> None:
    breathing = (80 + 6 * np.sin(np.arange(200) / 3)).astype(int).tolist()
    extra = [80, 80, 80, 80, 56, 104] * 30
    assert ward.tick(beats=beats_apart([*breathing, *extra])) == []


def test_three_anomalous_early_beats_in_a_row_are_a_run(ward: Ward) -> None:
    odd = {5: (1, 1), 6: (1, 1), 8: (1, 1), 9: (1, 0), 10: (1, 1), 20: (1, 1), 21: (1, 1), 22: (1, 1), 23: (1, 1)}
    beats = [("bed", 80 * k, 70, bool(odd.get(k, (0, 0))[0]), bool(odd.get(k, (0, 0))[1])) for k in range(1, 40)]
    told = [a for a in ward.tick(beats=beats) if a["rule"] != "anomalous beats"]
    assert short(told) == [("ventricular run", "on", 22 * 80, 22 * 80), ("ventricular run", "off", 22 * 80, 31 * 80)]
    assert told[0]["text"] == "ventricular run: 3 anomalous early beats in a row"


def test_beats_with_a_pause_between_them_are_no_run(ward: Ward) -> None:
    at = [100, 180, 260, 340, 490, 640, 790, 870]
    told = ward.tick(beats=[("bed", b, 70, True, True) for b in at[3:]])
    assert {a["rule"] for a in told} == {"anomalous beats"}


def test_two_blocks_of_waves_are_flutter_and_three_without_a_pair_end_it_and_it_stays_to_be_seen(ward: Ward) -> None:
    what = [0, 2, 0, 2, 2, 0, 2, 0, 0, 1, 2, 2]
    told = ward.tick(blocks=[("bed", 200 * k + 200, b) for k, b in enumerate(what)])
    assert short(told) == [
        ("flutter", "on", 1000, 1000),
        ("flutter", "latched", 1000, 1600),
        ("flutter", "on", 2400, 2400),
    ]
    assert told[0]["text"] == "flutter: waves without beats for 4 s, flutter or fibrillation suspected"
    assert told[0]["priority"] == "high"


def test_drift_is_a_technical_alert_of_low_priority(ward: Ward) -> None:
    told = ward.tick(drifts=[("bed", 2000, 931), ("bed", 4000, 940), ("bed", 6000, -512), ("bed", 8000, -100)])
    assert short(told) == [("drift", "on", 2000, 2000), ("drift", "off", 2000, 6000)]
    assert (told[0]["priority"], told[0]["technical"], told[0]["value"]) == ("low", True, 0.931)
    assert told[1]["value"] == 0.512
    assert told[0]["id"] == told[1]["id"] == alert_id("bed", 1, "drift", 2000)


@pytest.mark.parametrize("seed", range(6))
def test_rules_by_beats_and_blocks_forget_what_is_older_than_a_minute(seed: int) -> None:
    """Two streams with another past and the same minutes since are told the same."""
    rng = np.random.default_rng(seed)
    at, bpm, odd, early = random_beats(rng, 500)
    what = rng.choice([0, 0, 0, 1, 2, 2], 400)
    told = []
    for past in range(2):
        own = np.random.default_rng(100 + past)
        before = random_beats(own, 150)
        begin = int(before[0][-1]) + 100
        begin += -begin % 200
        ward = Ward()
        ward.tick(came(0, 10))
        beats = [("bed", int(t), float(r), bool(o), bool(e)) for t, r, o, e in zip(*before, strict=True)]
        beats += [
            ("bed", begin + int(t), float(r), bool(o), bool(e)) for t, r, o, e in zip(at, bpm, odd, early, strict=True)
        ]
        blocks = [("bed", 200 * k, int(own.integers(0, 3))) for k in range(1, begin // 200 + 1)]
        blocks += [("bed", begin + 200 * (k + 1), int(w)) for k, w in enumerate(what)]
        found = [
            (a["rule"], a["state"], a["onset"] - begin, a["decided"] - begin)
            for a in ward.tick(beats=beats, blocks=blocks)
        ]
        told.append([row for row in found if row[2] >= 6000])
    assert told[0] == told[1]
    assert {row[0] for row in told[0]} >= {"flutter", "ventricular run", "pause", "anomalous beats"}


def random_beats(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Samples at 100 Hz, rates, whether anomalous, whether early: calm and wild by turns."""
    wild = np.repeat(rng.random(n // 10) < 0.4, 10)
    gaps = np.where(wild, rng.choice([40, 60, 90, 140, 330], n), 80 + rng.integers(-3, 4, n))
    odd = rng.random(n) < np.where(wild, 0.7, 0.02)
    return np.cumsum(gaps) + 100, rng.uniform(30, 170, n), odd, odd & (rng.random(n) < 0.9)
