"""The table of alarms: each reference on records made for the test, and the command on real ones."""

import json

import numpy as np
import pytest
from beatwire.cli.main import app
from beatwire.errors import UserError
from beatwire.evaluation import Alarm
from beatwire.evaluation.bedside import atrial, challenge, fibrillation, load, missed_beats, rates, runs, wearable
from beatwire.evaluation.bedside.folders import find_references, is_alarm_folder
from beatwire.evaluation.bedside.rows import PER_HOUR, Count, Row
from beatwire.evaluation.bedside.watched import Watched, ecg_leads
from beatwire.evaluation.records import AnnotatedRecord, Rhythm
from beatwire.recordings import Recording
from typer.testing import CliRunner

RATE = 100
SECONDS = 600


def watched(name="a", comments=(), alarms=(), *, seconds=SECONDS, annotated=None):
    """Return a record of person ``name``; alarms are (rule, onset, decided, ended) in seconds."""
    listed = tuple(Alarm(rule, *(round(s * RATE) for s in times)) for rule, *times in alarms)
    return Watched("folder", name, f"folder/{name}", RATE, seconds * RATE, tuple(comments), listed, annotated)


def annotated(*, beats=(), classes="", rhythms=(), excluded=()):
    recording = Recording("a", RATE, ("II",), 5.0, np.zeros((1, SECONDS * RATE), np.int16))
    spans = np.array([[a * RATE, b * RATE] for a, b in excluded], np.int64).reshape(-1, 2)
    named = tuple(Rhythm(name, a * RATE, b * RATE) for name, a, b in rhythms)
    return AnnotatedRecord(recording, np.array(beats, np.int64), tuple(classes), spans, named)


def value(rows, measure):
    """Return the JSON of the row whose figure begins with ``measure``."""
    return next(json for row in rows if (json := row.as_json())["measure"].startswith(measure))


def test_a_missed_true_alarm_weighs_five_times_in_the_score():
    on, off = [("asystole", 590, 594, 600)], [("asystole", 500, 504, 580)]
    records = [
        watched("a", ["Asystole", "True alarm"], on),
        watched("b", ["Asystole", "True alarm"], off),
        watched("c", ["Asystole", "False alarm"], on),
        watched("d", ["Asystole", "False alarm"]),
    ]
    rows = challenge.rows("folder", records)
    assert value(rows, "score")["value"] == 25.0  # 2 right of 1 + 1 + 1 + 5
    assert value(rows, "asystole: true alarms raised")["value"] == 50.0
    assert value(rows, "asystole: false alarms not raised")["value"] == 50.0
    assert value(rows, "extreme bradycardia: true")["value"] is None


def test_an_alarm_of_another_kind_does_not_count_as_raised():
    record = watched("a", ["Ventricular_Flutter_Fib", "True alarm"], [("asystole", 590, 594, 600)])
    assert not challenge.is_raised(record)


def test_fibrillation_must_be_announced_within_ten_seconds():
    rule = fibrillation.RULE
    truth = annotated(excluded=[(100, 120)], rhythms=[("VFL", 200, 230), ("VF", 300, 303)])
    alarms = [(rule, 106, 106, 125), (rule, 212, 212, 231), (rule, 301, 301, 303), (rule, 121.5, 121.5, 124)]
    rows = fibrillation.rows("folder", [watched(alarms=alarms, annotated=truth)])
    found, false = value(rows, "VF, VFL of 5 s and more: found"), value(rows, "VF, VFL of 5 s and more: false")
    assert (found["hits"], found["trials"], found["delay_s"]["max"]) == (1.0, 2.0, 6.0)
    assert false["hits"] == 1.0  # in a stretch that is too short; the last alarm is within the grace
    assert false["trials"] == pytest.approx((SECONDS - 20 - 30) / 3600, abs=1e-3)


def test_ventricular_runs_are_found_and_false_alarms_counted():
    beats = np.arange(1, 500) * RATE
    classes = "".join("V" if 100 <= k < 104 or 200 <= k < 202 else "N" for k in range(1, 500))
    alarms = [("ventricular run", 103, 103, 110), ("ventricular run", 203, 203, 210)]
    rows = runs.rows("folder", [watched(alarms=alarms, annotated=annotated(beats=beats, classes=classes))])
    assert value(rows, "ventricular runs of three and more")["hits"] == 1.0
    assert value(rows, "ventricular runs of three and more")["delay_s"]["median"] == 1.0  # after the third beat
    assert value(rows, "ventricular runs: false alarms")["hits"] == 1.0


def test_missed_beats_are_those_of_the_rule_at_annotated_beats():
    missing = (60, 200, 300)  # the second in atrial fibrillation
    beats = [k * RATE for k in range(1, 500) if k not in missing]
    classes = "".join("V" if k == 400 else "N" for k in range(1, 500) if k not in missing)
    truth = annotated(beats=beats, classes=classes, rhythms=[("N", 0, 150), ("AFIB", 150, 250), ("N", 250, 599)])
    alarms = [(missed_beats.RULE, at, at, at + 8) for at in (61, 201, 350)]
    rows = missed_beats.rows("folder", [watched(alarms=alarms, annotated=truth)])
    found = value(rows, "missed beats: found")
    assert (found["hits"], found["trials"]) == (1.0, 2.0)
    assert value(rows, "missed beats: false alarms")["hits"] == 1.0


def test_a_late_beat_after_an_ectopic_one_is_no_missed_beat():
    beats = np.array([k for k in range(1, 100) if k != 60]) * RATE
    for before in (57, 58, 59):
        classes = "".join("V" if k == before else "N" for k in range(1, 100) if k != 60)
        assert missed_beats.missed_beats(annotated(beats=beats, classes=classes)) == []
    assert missed_beats.missed_beats(annotated(beats=beats, classes="N" * 98)) == [61 * RATE]


def test_an_alarm_of_a_rate_is_confirmed_by_annotated_beats_near_its_beginning():
    fast = np.arange(100, 130, 0.45) * RATE  # 133/min
    beats = np.concatenate(
        [np.arange(1, 100) * RATE, fast, np.arange(130, 300) * RATE, np.arange(301, 310, 2.95) * RATE]
    )
    truth = annotated(beats=beats, classes="N" * (len(beats) - 1) + "V")
    alarms = [("tachycardia", 104, 104, 130), ("tachycardia", 200, 200, 210), ("extreme tachycardia", 110, 110, 130)]
    alarms += [("extreme bradycardia", 310, 310, 320), ("pause", 304, 304, 312), ("bradycardia", 50, 50, 60)]
    (row,) = rates.rows("folder", [watched(alarms=alarms, annotated=truth)])
    assert (row.as_json()["hits"], row.as_json()["trials"]) == (3.0, 6.0)  # 2.95 s are a pause, but for 3 %
    assert (
        rates.rows("folder", [watched(alarms=alarms, annotated=annotated(beats=beats, classes="N" * len(beats)))]) == []
    )


def test_the_first_minute_of_atrial_fibrillation_is_left_out():
    rule = atrial.RULE
    people = [watched("a", ["af"], [(rule, 30, 30, 330)]), watched("b", ["sinus"], [(rule, 10, 10, 50)])]
    rows = atrial.rows("folder", people)
    assert value(rows, "AF alarm on in AF")["value"] == 50.0
    assert value(rows, "AF alarm on in sinus rhythm")["value"] == 0.0


def test_an_alarm_in_atrial_flutter_is_neither_found_nor_false():
    truth = annotated(beats=[100], classes="N", rhythms=[("AFL", 0, 200), ("N", 200, 400), ("AFIB", 400, 599)])
    alarms = [(atrial.RULE, 100, 100, 150), (atrial.RULE, 300, 300, 350), (atrial.RULE, 450, 450, 600)]
    rows = atrial.rows("folder", [watched(alarms=alarms, annotated=truth)])
    assert value(rows, "AF of 2 min and more")["hits"] == 1.0
    assert value(rows, "AF: false alarms")["hits"] == 1.0


def test_low_and_technical_alarms_are_no_false_alarms_of_noise():
    alarms = [("anomalous beats", 10, 10, 20), ("flat line", 5, 5, 9)]
    records = [watched("a", ["noisy"], alarms), watched("b", ["noisy"], [("tachycardia", 10, 10, 20)])]
    rows = wearable.rows("folder", records)
    assert value(rows, "nothing but noise: with a physiological")["hits"] == 1.0
    assert wearable.rows("folder", [watched("a", ["af"])]) == []


def test_alarms_are_counted_per_bed_and_day():
    records = [watched("a", ["sinus"], [("tachycardia", 10, 10, 20)]), watched("b", ["sinus"])]
    rows = load.rows("group", records)
    assert value(rows, "alarms per bed and day, medium and high")["value"] == pytest.approx(72.0, rel=1e-3)
    assert [load.is_sinus(r) for r in (records[0], watched("c", ["af"]), watched("d", annotated=annotated()))] == [
        True, False, False,
    ]  # fmt: skip


def test_intervals_are_by_person():
    one = Row("f", "m", tuple(Count("one", 1.0, 1.0) for _ in range(50))).as_json()
    assert (one["people"], one["low"], one["high"]) == (1, 100.0, 100.0)  # one person resampled is one person
    fifty = Row("f", "m", tuple(Count(f"{k}", 1.0, 1.0) for k in range(50))).as_json()
    assert fifty["low"] == pytest.approx(92.9, abs=0.1)  # Wilson
    nothing = Row("f", "m", (Count("a", 0.0, 2.0), Count("b", 0.0, 4.0)), PER_HOUR).as_json()
    assert (nothing["value"], nothing["high"]) == (0.0, 0.5)


def test_pulse_waves_are_no_leads():
    recording = Recording("a", RATE, ("II", "PLETH", "V"), 5.0, np.zeros((3, 100), np.int16))
    assert ecg_leads(recording).leads == ("II", "V")
    with pytest.raises(UserError, match="expected an ECG lead; got PLETH"):
        ecg_leads(recording.pick("PLETH"))


def test_a_person_is_in_one_half(ecg_folder):
    halves = [find_references(ecg_folder / "cinc2015", half) for half in ("development", "held back", "all")]
    assert len(halves[0]) + len(halves[1]) == len(halves[2]) == 377
    assert 150 < len(halves[0]) < 227


def test_folders_are_recognised_by_their_comments(ecg_folder):
    kinds = {name: is_alarm_folder(ecg_folder / name) for name in ("cinc2015", "cinc2017", "mimicaf", "mitdb", "vfdb")}
    assert kinds == {"cinc2015": True, "cinc2017": True, "mimicaf": True, "mitdb": False, "vfdb": False}


def test_the_command_prints_the_table_of_a_folder(ecg_folder, tmp_path):
    folder = tmp_path / "judged"
    folder.mkdir()
    for name in ("a103l", "v846s"):
        for suffix in ("hea", "dat"):
            (folder / f"{name}.{suffix}").symlink_to(ecg_folder / "cinc2015" / f"{name}.{suffix}")
    printed = CliRunner().invoke(app, ["evaluate", str(folder), "--backend", "cpu", "--json", "--ward-beds", "2"])
    assert printed.exit_code == 0, printed.output
    table = json.loads(printed.stdout)
    assert table["records"] == {"judged": 2}
    assert value_of(table, "all kinds: false alarms not raised")["trials"] == 2.0
    assert value_of(table, "normal rhythm: with tachycardia")["trials"] == 2.0


def value_of(table, measure):
    """Return the row of a printed table whose figure is ``measure``."""
    return next(row for row in table["rows"] if row["measure"] == measure)
