"""The rules of alerts on events made by the test: on, off, latched, in any cut."""

from collections.abc import Sequence

import numpy as np
import pytest
from beatwire.alerts.rule import alert_id
from beatwire.jit import cpu
from beatwire.kernels.alerts.alert_state import ENDING_BLOCKS, WAVE_BLOCKS, is_on
from beatwire.kernels.classes.normal_beat import NO_NORMAL, UNRELATED
from beatwire.kernels.rhythms.flutter import POSSIBLE, WAVES
from bedside import Ward, device_chunk, rows_of


def test_asystole_begins_four_seconds_after_the_last_beat_and_the_next_beat_latches_it(ward: Ward) -> None:
    assert ward.tick(beats=[("bed", 50)], known=[("bed", 450)]) == []
    begun = ward.tick(known=[("bed", 451)])
    assert rows_of(begun) == [("asystole", "on", 450, 450)]
    assert ward.tick(known=[("bed", 900)]) == []
    ended = ward.tick(beats=[("bed", 950)])
    assert rows_of(ended) == [("asystole", "latched", 450, 950)]
    assert begun[0]["id"] == ended[0]["id"] == alert_id("bed", 1, "asystole", 450)
    assert begun[0]["text"] == "asystole: no beat for 4 s"
    assert (begun[0]["priority"], begun[0]["technical"], begun[0]["limit"]) == ("high", False, 4.0)


def test_a_stream_that_begins_without_a_beat_is_in_asystole_four_seconds_after_its_first_sample(ward: Ward) -> None:
    assert rows_of(ward.tick(known=[("bed", 401)])) == [("asystole", "on", 400, 400)]


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.slow), 7, 50, 399, 5000])
def test_the_onset_of_asystole_does_not_depend_on_the_cutting_of_events(step: int) -> None:
    at = [100, 200, 700, 780, 1300, 1400]
    ward = Ward()
    transitions = rows_of(ward.tick(device_chunk()))
    for a in range(0, 2000, step):
        beats = [("bed", b) for b in at if a < b <= a + step]
        transitions += rows_of(ward.tick(beats=beats, known=[("bed", min(2000, a + step))]))
    assert transitions == [
        ("asystole", "on", 600, 600),
        ("asystole", "latched", 600, 700),
        ("asystole", "on", 1180, 1180),
        ("asystole", "latched", 1180, 1300),
        ("asystole", "on", 1800, 1800),
    ]


RATES = [
    (160, {"extreme tachycardia", "tachycardia"}),
    (141, {"extreme tachycardia", "tachycardia"}),
    (140, {"tachycardia"}),
    (121, {"tachycardia"}),
    (119.9, set()),
    (45.1, set()),
    (44, {"bradycardia"}),
    (40, {"bradycardia"}),
    (39, {"bradycardia", "extreme bradycardia"}),
    (np.nan, set()),
]


@pytest.mark.parametrize(("bpm", "rules"), RATES)
def test_a_rate_beyond_its_limit_raises_its_alerts(ward: Ward, bpm: float, rules: set[str]) -> None:
    transitions = ward.tick(beats=[("bed", 60, bpm)])
    assert {a["rule"] for a in transitions} == rules
    for a in transitions:
        assert (a["state"], a["onset"], a["value"]) == ("on", 60, bpm)
        assert a["text"] == f"{a['rule']}: median rate {bpm:.0f}/min, limit {a['limit']:g}"


@pytest.mark.parametrize(
    ("rule", "beyond", "within", "beats"),
    [
        ("tachycardia", 130, 110, 24), ("extreme tachycardia", 150, 130, 24), ("bradycardia", 43, 50, 8),
        ("extreme bradycardia", 39, 43, 8),
    ],
)  # fmt: skip
@pytest.mark.parametrize("again", [None, 4])
def test_a_rate_alert_ends_when_so_many_beats_were_within_the_limits(
    ward: Ward, rule: str, beyond: float, within: float, beats: int, again: int | None
) -> None:
    transitions = rows_of(ward.tick(beats=[("bed", 50, beyond)]))
    for k in range(40):
        rate = beyond if k == again else within
        transitions += rows_of(ward.tick(beats=[("bed", 100 + 50 * k, rate)]))
    transitions = [row for row in transitions if row[0] == rule]
    last = 50 + 50 * (beats if again is None else again + 1 + beats)
    assert transitions == [(rule, "on", 50, 50), (rule, "off", 50, last)]


def test_a_rate_about_its_limit_is_one_alert(ward: Ward) -> None:
    bpm = [122] * 3 + [118] * 20 + [122] * 2 + [118] * 20 + [122]
    assert rows_of(ward.tick(beats=[("bed", 50 + 50 * k, rate) for k, rate in enumerate(bpm)])) == [
        ("tachycardia", "on", 50, 50)
    ]


def test_a_long_interval_counts_as_several_beats_so_that_an_alert_ends_in_time(ward: Ward) -> None:
    transitions = ward.tick(beats=[("bed", 50, 43), *[("bed", 50 + 210 * k, 50) for k in range(1, 4)]])
    assert rows_of(transitions) == [("bradycardia", "on", 50, 50), ("bradycardia", "off", 50, 680)]


@pytest.mark.parametrize("silent", [1700, 4480, 100_000])
def test_behind_a_silence_of_seventeen_seconds_a_beat_ends_all_alerts_of_beats(ward: Ward, silent: int) -> None:
    ward.tick(beats=[("bed", at, 130) for at in (50, 100, 150)], classes="NVV")
    ended = rows_of(ward.tick(beats=[("bed", 150 + silent, 70)]))
    assert ("tachycardia", "off", 50, 150 + silent) in ended
    assert "couplet" not in {rule for rule, *_ in ended}


def test_beats_as_unlike_each_other_as_unrelated_signals_are_no_tachycardia_but_may_be_an_extreme_one() -> None:
    found = {}
    for spread in (NO_NORMAL, UNRELATED - 0.01, UNRELATED + 0.01):
        ward = Ward()
        ward.tick(device_chunk())
        transitions = ward.tick(beats=[("bed", 100 + 40 * k, rate) for k, rate in enumerate((130, 150))], spread=spread)
        found[spread] = [a["rule"] for a in transitions if a["state"] == "on"]
    assert list(found.values()) == [["tachycardia", "extreme tachycardia"]] * 2 + [["extreme tachycardia"]]


def test_three_anomalous_beats_of_eight_raise_an_alert_that_ends_after_eight_beats_with_fewer(ward: Ward) -> None:
    odd = [0, 1, 0, 1, 0, 0, 0, 1, 1] + [0] * 20
    transitions = ward.tick(beats=[("bed", 50 * k + 50, 70, bool(a)) for k, a in enumerate(odd)])
    third, last, eight = 400, 550, 400  # beat 10 is the last one that ends eight beats with three anomalous ones
    assert rows_of(transitions) == [
        ("anomalous beats", "on", third, third),
        ("anomalous beats", "off", third, last + eight),
    ]
    assert transitions[0]["text"] == "anomalous beats: 3 of the last 8 beats are unlike this stream's usual beats"
    assert transitions[0]["priority"] == "low"


def test_two_anomalous_beats_of_eight_raise_no_alert(ward: Ward) -> None:
    assert ward.tick(beats=[("bed", 50 * k, 70, k % 4 == 0) for k in range(1, 30)]) == []
    assert rows_of(ward.tick(beats=[("bed", 1500, 70, True)])) == [("anomalous beats", "on", 1500, 1500)]  # the third


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.slow), 7, 50, 5000])
def test_an_interval_of_three_to_four_seconds_is_a_pause_and_a_longer_one_is_asystole(ward: Ward, step: int) -> None:
    at = [100, 200, 501, 600, 1000, 1401, *range(1500, 2600, 100)]
    transitions = []
    for a in range(0, 3000, step):
        transitions += ward.tick(
            beats=[("bed", b) for b in at if a <= b < a + step], known=[("bed", min(a + step, 2600))]
        )
    assert rows_of(transitions) == [
        ("pause", "on", 501, 501),
        ("asystole", "on", 1400, 1400),
        ("asystole", "latched", 1400, 1401),
        ("pause", "off", 501, 1700),  # eight beats after the one of 4.00 s; 4.01 s count as five
    ]
    assert transitions[0]["text"] == "pause: 3.01 s between two beats, limit 3 s"
    assert (transitions[0]["value"], transitions[0]["priority"]) == (3.01, "medium")


def test_the_first_beat_after_a_restart_does_not_end_a_pause(ward: Ward) -> None:
    assert ward.tick(beats=[("bed", 350)]) == []
    assert rows_of(ward.tick(beats=[("bed", 651)])) == [("pause", "on", 651, 651)]  # the second beat does


def test_flutter_begins_with_a_block_of_waves_and_is_latched_after_eight_without(ward: Ward) -> None:
    bits = [0, 2, 0, 2, *[0] * 7, 1, 0, 2]
    transitions = ward.tick(blocks=[("bed", 200 * k + 200, b) for k, b in enumerate(bits)])
    assert rows_of([a for a in transitions if a["rule"] == "ventricular fibrillation"]) == [
        ("ventricular fibrillation", "on", 400, 400),
        ("ventricular fibrillation", "latched", 400, 2400),
        ("ventricular fibrillation", "on", 2800, 2800),
    ]
    assert transitions[0]["text"] == "ventricular fibrillation: suspected from the last 6 s"
    assert transitions[0]["priority"] == "high"


def test_blocks_of_possible_fibrillation_keep_its_alert_on_for_a_minute_and_begin_none(ward: Ward) -> None:
    possible = [POSSIBLE, *[0] * 7]
    bits = [*possible, WAVES | POSSIBLE, *possible, *possible, *[0] * 8, WAVES, *[POSSIBLE] * 40]
    transitions = ward.tick(blocks=[("bed", 200 * k + 200, b) for k, b in enumerate(bits)])
    assert rows_of([a for a in transitions if a["rule"] == "ventricular fibrillation"]) == [
        ("ventricular fibrillation", "on", 1800, 1800),
        (
            "ventricular fibrillation",
            "latched",
            1800,
            5200,
        ),  # with the eighth block after the last one that is possible
        ("ventricular fibrillation", "on", 6800, 6800),
        ("ventricular fibrillation", "latched", 6800, 12_800),  # 30 blocks later
    ]


def test_an_alert_of_fibrillation_is_on_as_a_slow_version_says(rng) -> None:
    compiled = cpu.compiled(is_on)
    for _ in range(300):
        begins, possible = (rng.random((2, WAVE_BLOCKS)) < [[0.02], [rng.random() / 3]]).tolist()
        slow = any(
            begins[k] and not any(not any(possible[j : j + ENDING_BLOCKS]) for j in range(k - ENDING_BLOCKS + 1))
            for k in range(WAVE_BLOCKS)
        )
        bits = [sum(int(b) << k for k, b in enumerate(row)) for row in (begins, possible)]
        assert is_on(*bits) == compiled(*bits) == slow


@pytest.mark.parametrize(
    ("sessions", "beats", "after_s"),
    [(range(2, 12), (), [10]), (range(2, 12), (50, 150), []), ([2, 3] * 5, (), [])],
    ids=["without beats", "with a beat behind the first samples", "while sessions take turns"],
)
def test_a_stream_that_begins_anew_every_two_seconds_cannot_be_analysed_after_ten(
    ward: Ward, sessions: Sequence[int], beats: tuple[int, ...], after_s: list[int]
) -> None:
    begun = []
    for k, session in enumerate(sessions, 1):
        at_us, found = k * 2_000_000, [("bed", at) for at in beats]
        alerts = ward.tick(device_chunk(0, 100, session=session, arrival_us=at_us), beats=found, now_us=at_us)
        begun += [2 * k for a in alerts if (a["rule"], a["state"]) == ("cannot analyse", "on")]
    assert begun == after_s


@pytest.mark.parametrize("seed", range(6))
def test_rules_by_beats_and_blocks_do_not_depend_on_events_older_than_a_minute(seed: int) -> None:
    """Two streams with a different past and the same events since have the same alerts a minute later."""
    rng = np.random.default_rng(seed)
    at, bpm, odd, logit = random_beats(rng, 500)
    bits = np.where(np.repeat(rng.random(20) < 0.5, 20), rng.choice([0, 0, 0, 1, 2, 2], 400), 0)
    transitions = []
    for past in range(2):
        own = np.random.default_rng(100 + past)
        before = random_beats(own, 150)
        begin = int(before[0][-1]) + 100
        begin += -begin % 200
        ward = Ward()
        ward.tick(device_chunk(0, 10))
        beats = [("bed", int(t), float(r), bool(o)) for t, r, o, _ in zip(*before, strict=True)]
        beats += [("bed", begin + int(t), float(r), bool(o)) for t, r, o in zip(at, bpm, odd, strict=True)]
        runs = np.concatenate([before[3], logit])
        classes = "".join("NVS"[int(r > 0) + int(r > 2)] for r in runs)
        blocks = [("bed", 200 * k, int(own.integers(0, 3))) for k in range(1, begin // 200 + 1)]
        blocks += [("bed", begin + 200 * (k + 1), int(w)) for k, w in enumerate(bits)]
        found = [
            (a["rule"], a["state"], a["onset"] - begin, a["decided"] - begin)
            for a in ward.tick(beats=beats, blocks=blocks, classes=classes, runs=runs.tolist())
        ]
        transitions.append([row for row in found if row[2] >= 6000])
    assert transitions[0] == transitions[1]
    assert {row[0] for row in transitions[0]} >= {
        "ventricular fibrillation",
        "frequent ventricular beats",
        "pause",
        "anomalous beats",
    }
    assert {row[0] for row in transitions[0]} & {"ventricular run", "ventricular tachycardia"}


def random_beats(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return samples at 100 Hz, rates in 1/min, anomalous, logits of a run; stretches of ten are regular or not."""
    wild = np.repeat(rng.random(n // 10) < 0.4, 10)
    gaps = np.where(wild, rng.choice([40, 60, 90, 140, 330], n), 80 + rng.integers(-3, 4, n))
    odd = rng.random(n) < np.where(wild, 0.7, 0.02)
    return np.cumsum(gaps) + 100, rng.uniform(30, 170, n), odd, rng.normal(np.where(odd, 1.0, -3.0), 2.0)
