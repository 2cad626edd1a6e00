"""The rules of ventricular and supraventricular beats, and which of several is announced."""

import numpy as np
import pytest
from beatwire.jit import cpu
from beatwire.kernels.alerts import ectopy
from beatwire.kernels.alerts.alert_state import ECTOPY_COLUMNS, MOST_COUNTED
from beatwire.stages import lifecycle
from beatwire.stages.judging import alert
from bedside import Ward, device_chunk, rows_of, states_of
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

RUN, NO_RUN = 2.0, -5.0


def ward_with(classes: str, *, bpm: float = 70.0, runs: list[float] | None = None, errors: float = 0.0) -> list[tuple]:
    """Return the transitions of beats of these classes, one a second after the first sample."""
    ward = Ward()
    ward.tick(device_chunk())
    beats = [("bed", 100 * k, bpm, False, errors) for k in range(1, len(classes) + 1)]
    return rows_of(ward.tick(beats=beats, classes=classes, runs=runs or [NO_RUN] * len(classes)))


def test_two_ventricular_beats_are_a_couplet_when_the_next_is_none() -> None:
    assert states_of(ward_with("NNVVNNNNNNNNNN"), "couplet") == [("on", 500), ("off", 1300)]


@pytest.mark.parametrize("classes", ["NNVNNN", "NVVVN", "NNVSVN"])
def test_one_three_or_interrupted_ventricular_beats_are_no_couplet(classes: str) -> None:
    assert states_of(ward_with(classes), "couplet") == []


@pytest.mark.parametrize(
    ("classes", "rule", "at", "after"),
    [("NVNVNV", "bigeminy", 600, 9), ("VNVNVN", "bigeminy", 500, 9), ("NNVNNVNNV", "trigeminy", 900, 10)],
)
def test_a_pattern_is_announced_at_its_third_turn(classes: str, rule: str, at: int, after: int) -> None:
    """It holds as long as the beats behind it continue it, and ends eight beats later."""
    found = ward_with(classes + "N" * 12)
    assert states_of(found, rule) == [("on", at), ("off", 100 * (classes.rindex("V") + 1 + after))]
    assert {name for name, *_ in found} - {"frequent ventricular beats"} == {rule}


def test_beats_in_noise_make_no_pattern() -> None:
    assert {name for name, *_ in ward_with("NVNVNVNV", errors=3.0)} <= {"noise"}
    found = {name for name, *_ in ward_with("NSSSSSS", bpm=160, errors=3.0)}
    assert found == {"noise", "tachycardia", "extreme tachycardia"}


@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize(
    ("rule", "beats", "bpm", "runs"),
    [
        ("couplet", "NV VN", 70.0, ()),
        ("ventricular tachycardia", "N NN", 130.0, (RUN, NO_RUN, RUN)),
        ("supraventricular tachycardia", "NSSSS S", 160.0, ()),
        ("anomalous beats", "NVV NNV", 70.0, ()),
    ],
)
def test_beats_on_both_sides_of_a_long_interval_are_not_together(
    ward: Ward, rule: str, beats: str, bpm: float, runs: tuple[float, ...], far: bool
) -> None:
    classes, at, samples = beats.replace(" ", ""), 0, list[int]()
    for letter in beats:
        at += (290 if far else 0) if letter == " " else 100
        samples += [at] if letter != " " else []
    rows = [("bed", s, bpm, letter == "V", 0.0) for s, letter in zip(samples, classes, strict=True)]
    assert bool(states_of(rows_of(ward.tick(beats=rows, classes=classes, runs=runs)), rule)) != far


GAPS = st.one_of(st.integers(60, 400), st.sampled_from([1500, 4000, (1 << 31) - 1000, 1 << 31, (1 << 32) + 1000]))


@settings(max_examples=draws(100), deadline=None)
@given(
    late=st.sampled_from([0, (1 << 31) - 2000, (1 << 32) - 2000]),
    beats=st.lists(st.tuples(GAPS, st.booleans()), min_size=1, max_size=60),
)
def test_ventricular_beats_of_a_window_are_counted_whatever_the_pauses(
    late: int, beats: list[tuple[int, bool]]
) -> None:
    for count in (ectopy.count_ventricular, cpu.compiled(ectopy.count_ventricular)):
        own, sample, counted = np.zeros(ECTOPY_COLUMNS, np.int64), late, list[int]()
        for gap, is_v in beats:
            sample += gap
            counted += [sample] * is_v
            recent = [s for s in counted[-MOST_COUNTED:] if s > sample - 3750]
            count(own, sample, gap, is_v, 3750)
            assert ectopy.ventricular_rate(own, sample, 3750) == 4.0 * len(recent)


def test_more_than_ten_ventricular_beats_a_minute_are_frequent() -> None:
    assert states_of(ward_with("NNNV" * 4), "frequent ventricular beats") == [("on", 1200)]
    assert states_of(ward_with("NNNNNNNV" * 3), "frequent ventricular beats") == []


def test_old_ventricular_beats_are_not_counted() -> None:
    found = states_of(ward_with("NV" * 3 + "N" * 30), "frequent ventricular beats")
    # At 1700 the first of the three is 15 s ago; that is the first of eight beats after which the alert ends.
    assert found == [("on", 600), ("off", 2400)]


def test_a_judged_run_is_announced_at_the_beat_that_ends_it() -> None:
    found = ward_with("NVVVNNNNNNNNNNN", runs=[NO_RUN, NO_RUN, NO_RUN, RUN] + [NO_RUN] * 11)
    assert states_of(found, "ventricular run") == [("on", 400), ("off", 1200)]
    assert states_of(found, "ventricular tachycardia") == []


def test_two_judgements_in_three_fast_beats_are_tachycardia_in_place_of_the_run() -> None:
    found = ward_with("N" * 20, bpm=130, runs=[NO_RUN, NO_RUN, RUN, RUN] + [NO_RUN] * 16)
    assert states_of(found, "ventricular run") == [("on", 300), ("off", 400)]
    # It last holds at 500, and goes on for 12 s.
    assert states_of(found, "ventricular tachycardia") == [("on", 400), ("latched", 1700)]


def test_a_ventricular_tachycardia_goes_on_for_twelve_seconds_at_any_rate() -> None:
    ward = Ward()
    ward.tick(device_chunk())
    beats = [("bed", 50 * k, 120.0, False, 0.0) for k in range(1, 40)]
    found = rows_of(ward.tick(beats=beats, classes="N" * 39, runs=[RUN] * 4 + [NO_RUN] * 35))
    # It last holds at 250.
    assert states_of(found, "ventricular tachycardia") == [("on", 100), ("latched", 1450)]


def test_a_slow_run_is_no_tachycardia() -> None:
    found = ward_with("N" * 6, bpm=95, runs=[RUN] * 6)
    assert {name for name, *_ in found} == {"ventricular run"}


@pytest.mark.parametrize(
    ("bpm", "logit", "found"), [(85, 0.5, True), (75, 0.5, False), (75, 1.5, True), (85, -0.1, False)]
)
def test_a_slow_run_must_be_more_certain(bpm: float, logit: float, found: bool) -> None:
    alerts = ward_with("N" * 6, bpm=bpm, runs=[NO_RUN, NO_RUN, NO_RUN, logit, NO_RUN, NO_RUN])
    assert bool(states_of(alerts, "ventricular run")) == found


def test_a_tachycardia_that_the_judge_of_runs_refuses_is_none() -> None:
    ward = Ward()
    ward.tick(device_chunk())
    beats = [("bed", 40 * k, 150.0) for k in range(1, 7)]
    found = ward.tick(beats=beats, runs=[NO_RUN] * 6, fast_runs=[RUN] * 6)
    assert {a["rule"] for a in found} == {"tachycardia", "extreme tachycardia"}


def test_a_doubtful_run_may_be_a_tachycardia() -> None:
    ward = Ward()
    ward.tick(device_chunk())
    beats = [("bed", 50 * k, 110.0) for k in range(1, 7)]
    found = ward.tick(beats=beats, runs=[-1.0] * 6, fast_runs=[0.0] * 6)
    assert {a["rule"] for a in found} == {"ventricular tachycardia"}


def test_beats_that_are_not_judged_end_no_run() -> None:
    found = ward_with("VVVVVV", runs=[np.nan] * 6, bpm=110)
    assert {name for name, *_ in found} == {"frequent ventricular beats"}


@pytest.mark.parametrize(("errors", "found"), [(2.9, {"ventricular tachycardia", "ventricular run"}), (3.0, set())])
def test_where_many_errors_are_expected_no_run_begins(errors: float, found: set[str]) -> None:
    alerts = ward_with("N" * 6, bpm=130, runs=[RUN] * 6, errors=errors)
    assert {name for name, *_ in alerts} & {"ventricular tachycardia", "ventricular run"} == found


def test_a_tachycardia_is_not_announced_beside_a_ventricular_one() -> None:
    alone = ward_with("N" * 6, bpm=130)
    beside = ward_with("N" * 6, bpm=130, runs=[RUN] * 6)
    assert states_of(alone, "tachycardia") == [("on", 100)]
    assert states_of(beside, "tachycardia") == [("on", 100), ("off", 200)]
    assert states_of(beside, "ventricular tachycardia") == [("on", 200)]


@pytest.mark.parametrize(
    ("bpm", "begins"), [(130.0, [("on", 100), ("off", 300), ("on", 1700)]), (80.0, [("on", 100), ("off", 300)])]
)
def test_after_a_ventricular_one_a_tachycardia_is_announced_only_if_it_goes_on(bpm: float, begins: list) -> None:
    """Alone it would be on until 24 beats after its last fast one; hidden until then, it does not begin."""
    rates = [130.0] * 8 + [bpm] * 12
    ward = Ward()
    ward.tick(device_chunk())
    beats = [("bed", 100 * k, rate, False, 0.0) for k, rate in enumerate(rates, 1)]
    runs = [NO_RUN] + [RUN] * 3 + [NO_RUN] * 16
    found = rows_of(ward.tick(beats=beats, classes="N" * 20, runs=runs))
    assert states_of(found, "ventricular tachycardia")[-1] == ("latched", 1700)
    assert states_of(found, "tachycardia") == begins


def test_a_tachycardia_of_a_replay_that_did_not_see_the_ventricular_one_is_not_kept() -> None:
    undisturbed, successor = Ward(), Ward()
    undisturbed.tick(device_chunk())
    successor.tick(device_chunk(450))
    log: dict[str, dict] = {}

    def tick(ward: Ward, begin: int, end: int, bpm: float, run: float = NO_RUN) -> list[dict]:
        beats = [("bed", 100 * k, bpm) for k in range(begin, end)]
        ward.tick(beats=beats, runs=[run] * len(beats), known=[("bed", 100 * end - 50)])
        if ward is undisturbed:
            log.update({a["rule"]: a for a in ward.published})
        return ward.published

    tick(undisturbed, 1, 3, 130.0)
    tick(undisturbed, 3, 5, 130.0, RUN)
    for ward in (undisturbed, successor):
        tick(ward, 5, 10, 130.0)
        tick(ward, 10, 19, 80.0)
    states = {rule: a["state"] for rule, a in log.items()}
    assert states == {"tachycardia": "off", "ventricular run": "off", "ventricular tachycardia": "latched"}
    assert alert.active(successor.alert)["tachycardia"] == 1, "expected the replay to raise it"
    alert.adopt(successor.alert, list(log.values()))
    lifecycle.adopt(successor.lifecycle, list(log.values()))
    for ward in (undisturbed, successor):
        assert tick(ward, 19, 60, 80.0) == []


def test_five_fast_supraventricular_beats_are_a_tachycardia() -> None:
    assert states_of(ward_with("NSSSSSN", bpm=160), "supraventricular tachycardia") == [("on", 600)]
    assert states_of(ward_with("NSSSSNS", bpm=160), "supraventricular tachycardia") == []
    assert states_of(ward_with("NSSSSSN", bpm=140), "supraventricular tachycardia") == []
    beside = ward_with("NSSSSSSSN", bpm=160, runs=[NO_RUN] * 6 + [RUN] * 2 + [NO_RUN])
    assert states_of(beside, "supraventricular tachycardia") == [("on", 600), ("off", 800)]


def test_a_restart_forgets_what_came_before() -> None:
    ward = Ward()
    ward.tick(device_chunk())
    ward.tick(beats=[("bed", 100 * k) for k in range(1, 4)], classes="NVV", runs=[NO_RUN, NO_RUN, RUN])
    ward.tick(device_chunk(first=0, session=2))
    assert "couplet" not in {t["rule"] for t in ward.tick(beats=[("bed", 50)])}
