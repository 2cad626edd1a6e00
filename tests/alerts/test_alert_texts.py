"""Texts, values and limits in the messages of alerts."""

import numpy as np
import pytest
from beatwire.alerts.rule import alert_id
from beatwire.kernels.rhythms.flutter import WAVES
from bedside import Ward, device_chunk, rows_of


def test_limits_are_taken_from_the_settings() -> None:
    ward = Ward(tachycardia_bpm=100.0, asystole_s=3.0)
    ward.tick(device_chunk())
    transitions = ward.tick(beats=[("bed", 100, 110)], known=[("bed", 500)])
    assert [(a["rule"], a["onset"], a["limit"]) for a in transitions] == [
        ("tachycardia", 100, 100.0),
        ("asystole", 400, 3.0),
    ]


@pytest.mark.parametrize(("errors", "doubt"), [(0.99, ""), (1.0, " (signal doubtful)"), (2.5, " (signal doubtful)")])
def test_the_text_of_an_alert_that_a_beat_in_noise_begins_says_that_the_signal_is_doubtful(
    ward: Ward, errors: float, doubt: str
) -> None:
    ward.expected_errors = errors
    begun = ward.tick(beats=[("bed", 50 + 50 * k, 150.0) for k in range(4)])
    texts = {a["rule"]: a["text"] for a in begun if a["state"] == "on"}
    assert texts["extreme tachycardia"] == f"extreme tachycardia: median rate 150/min, limit 140{doubt}"
    assert ("noise" in texts) == bool(doubt)
    assert not doubt or texts["noise"] == f"noise: {errors:.1f} errors expected in 10 s, limit 1"
    assert {a["text"] for a in ward.tick(known=[("bed", 3000)]) if a["rule"] in ("asystole", "cannot analyse")}


@pytest.mark.parametrize("same_tick", [True, False])
def test_the_text_of_an_alert_that_a_block_decides_has_no_beat_though_one_is_at_its_end(
    ward: Ward, same_tick: bool
) -> None:
    ward.expected_errors = 0.86
    beat, block = [("bed", 300, 70.0)], [("bed", 300, WAVES)]
    found = ward.tick(beats=beat, blocks=block) if same_tick else [*ward.tick(beats=beat), *ward.tick(blocks=block)]
    assert [a["text"] for a in found] == ["ventricular fibrillation: suspected from the last 6 s"]


def test_the_text_of_an_alert_that_ended_says_so_and_a_latched_one_that_nobody_acknowledged_it(ward: Ward) -> None:
    ward.expected_errors = 0.0
    begun = ward.tick(beats=[("bed", 100, 130)], known=[("bed", 900)])
    ended = ward.tick(beats=[("bed", 1000 + 100 * k, 70) for k in range(25)])
    assert [a["rule"] for a in ended] == [a["rule"] for a in reversed(begun)] == ["asystole", "tachycardia"]
    assert [a["text"] for a in ended] == ["ended, not acknowledged: asystole", "ended: tachycardia"]


def test_a_value_that_is_not_known_is_none(ward: Ward) -> None:
    pause = ward.tick(beats=[("bed", 50), ("bed", 400)])
    ward.last.clear()  # the next beat has no interval, as after a gap
    ended = ward.tick(beats=[("bed", 400 + 100 * k) for k in range(8, 9)])
    assert [(a["rule"], a["state"], a["value"]) for a in [*pause, *ended] if a["rule"] == "pause"] == [
        ("pause", "on", 3.5),
        ("pause", "off", None),
    ]


@pytest.mark.parametrize("end", ["a gap", "a session", "an eviction", "nothing known"])
def test_what_nothing_measured_has_no_value_when_its_alert_ends(ward: Ward, end: str) -> None:
    bpm = [150, 130, 39]
    begun = ward.tick(
        beats=[("bed", 100 + 40 * k, rate) for k, rate in enumerate(bpm)], runs=[2] * 3, classes="VVV",
        drifts=[("bed", 150, 1500)],
    )  # fmt: skip
    states = {a["rule"]: a["state"] for a in begun if a["value"] is not None}
    measured = {rule for rule, state in states.items() if state == "on"}
    assert len(measured) >= 6
    if end == "nothing known":
        beats = [("bed", 3000 + 40 * k, np.nan) for k in range(30)]
        ended = ward.tick(beats=beats, drifts=[("bed", 3100, 0)])
    elif end == "an eviction":
        ward.tick(now_us=10**6)
        ended = [a for at_us in (10**12, 2 * 10**12) for a in ward.tick(now_us=at_us)]
    else:
        ended = ward.tick(device_chunk(5000) if end == "a gap" else device_chunk(session=2))
    over = {a["rule"]: a["value"] for a in ended if a["rule"] in measured}
    assert over.keys() == measured
    assert {rule for rule, value in over.items() if value is not None} <= {"frequent ventricular beats"}


def test_drift_is_a_technical_alert_of_low_priority(ward: Ward) -> None:
    transitions = ward.tick(drifts=[("bed", 2000, 931), ("bed", 4000, 940), ("bed", 6000, -512), ("bed", 8000, -100)])
    assert rows_of(transitions) == [("drift", "on", 2000, 2000), ("drift", "off", 2000, 6000)]
    assert (transitions[0]["priority"], transitions[0]["technical"], transitions[0]["value"]) == ("low", True, 0.931)
    assert transitions[1]["value"] == 0.512
    assert transitions[0]["id"] == transitions[1]["id"] == alert_id("bed", 1, "drift", 2000)
