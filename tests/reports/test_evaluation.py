"""``evaluate`` on records written for the test: failures, exclusions, leads, delay, alarms, report."""

from dataclasses import replace

import numpy as np
import pytest
from annotated import BEATS, RATE, SECONDS, spikes, write_record
from beatwire.errors import UserError
from beatwire.evaluation import Alarm, Cuts, Detected, as_json, as_text, evaluate, full_report
from beatwire.evaluation.alarms import AlarmCounts, count_alarms, reference_episodes
from beatwire.evaluation.beats.confidence import confidence_auroc
from beatwire.evaluation.beats.match import inside
from beatwire.evaluation.records import read_annotated
from beatwire.stages.score import ANOMALOUS


def test_a_detector_without_errors_has_a_hundred_per_cent(tmp_path):
    write_record(tmp_path, "a")
    figures = as_json(evaluate(tmp_path, spikes))
    assert figures["gross"] == {
        "beats": len(BEATS), "tp": len(BEATS), "fn": 0, "fp": 0,
        "se": 100.0, "ppv": 100.0, "f1": 100.0, "se_50ms": 100.0, "ppv_50ms": 100.0, "f1_50ms": 100.0,
    }  # fmt: skip
    assert figures["gross_paced"]["beats"] == 0
    assert figures["gross_paced"]["se"] is None
    assert figures["timing_ms"]["median"] == 0.0
    assert figures["delay_ms"] == {"median": 300.0, "p99": 300.0, "max": 300.0}
    assert figures["gross_after_5min"]["beats"] == int((BEATS >= 300 * RATE).sum())


def test_misses_false_detections_and_late_beats_are_counted(tmp_path):
    write_record(tmp_path, "a")

    def careless(samples, rate_hz, uv_per_unit, cuts):
        at = np.concatenate([BEATS[5:], [BEATS[10] + 70]])  # five missed at the start, one invented
        at[20] += 20  # 80 ms late
        return Detected(np.sort(at))

    figures = as_json(evaluate(tmp_path, careless))
    assert (figures["gross"]["fn"], figures["gross"]["fp"]) == (5, 1)
    assert (figures["gross_after_5min"]["fn"], figures["gross_after_5min"]["fp"]) == (0, 0)
    assert figures["gross"]["se_50ms"] < figures["gross"]["se"]
    assert figures["delay_ms"]["max"] is None
    assert figures["confidence"] == {"beat_auc": None, "window_auc": None}


def test_each_record_has_statistics_of_its_rr_intervals(tmp_path):
    for name in ("a", "b"):
        write_record(tmp_path, name)

    def alternating(samples, rate_hz, uv_per_unit, cuts):
        rr_ms = np.where(np.arange(len(BEATS)) % 2, 700.0, 900.0)
        return Detected(BEATS, rr_ms=np.where(np.arange(len(BEATS)) == 0, np.nan, rr_ms))

    assert [r["rr"]["mean_rr_ms"] for r in as_json(evaluate(tmp_path, spikes))["records"]] == [None, None]
    for record in as_json(evaluate(tmp_path, alternating))["records"]:
        assert record["rr"]["rmssd_ms"] == 200.0
        assert record["rr"]["pnn50"] == 100.0
        assert 799.0 < record["rr"]["mean_rr_ms"] < 801.0


def test_a_record_that_cannot_be_read_is_named_and_the_others_are_reported(tmp_path):
    write_record(tmp_path, "good")
    write_record(tmp_path, "short")
    (tmp_path / "short.dat").write_bytes((tmp_path / "short.dat").read_bytes()[:1000])
    (tmp_path / "gone.atr").write_bytes((tmp_path / "good.atr").read_bytes())
    figures = as_json(evaluate(tmp_path, spikes))
    assert [r["record"] for r in figures["records"]] == ["good"]
    assert {f["record"] for f in figures["failed"]} == {"short", "gone"}
    assert all("\n" not in f["reason"] and f["record"] in f["reason"] for f in figures["failed"])


def test_a_folder_without_records_is_refused(tmp_path):
    with pytest.raises(UserError, match="there are none"):
        evaluate(tmp_path, spikes)
    with pytest.raises(UserError, match="no such folder"):
        evaluate(tmp_path / "nowhere", spikes)


def test_flutter_between_its_marks_is_left_out(tmp_path):
    a, b = int(BEATS[50]) - 20, int(BEATS[60]) + 20
    write_record(tmp_path, "vf", extra=[(a, "[", ""), (b, "]", "")])

    def silent_in_flutter(samples, rate_hz, uv_per_unit, cuts):
        keep = ~inside(BEATS, np.array([[a, b]]))
        return Detected(np.sort(np.append(BEATS[keep], a + 90)))

    figures = as_json(evaluate(tmp_path, silent_in_flutter))
    assert (figures["gross"]["beats"], figures["gross"]["fn"], figures["gross"]["fp"]) == (len(BEATS) - 11, 0, 0)
    assert figures["records"][0]["excluded_s"] == pytest.approx((b - a + 1) / RATE, abs=0.01)


def test_the_detector_gets_the_first_lead_or_all_or_each(tmp_path):
    write_record(tmp_path, "a", leads=3)
    leads = []

    def record_leads(samples, rate_hz, uv_per_unit, cuts):
        leads.append(samples.shape[0])
        return spikes(samples, rate_hz, uv_per_unit, cuts)

    assert evaluate(tmp_path, record_leads, lead="first").results[0].lead == "L0"
    assert evaluate(tmp_path, record_leads, lead="all").results[0].lead == "all"
    assert evaluate(tmp_path, record_leads, lead="best").results[0].lead == "L0"
    assert leads == [1, 3, 1, 1, 1]
    with pytest.raises(UserError, match="first, best, all"):
        evaluate(tmp_path, record_leads, lead="second")


def test_scores_are_measured_on_matched_beats(tmp_path):
    symbols = ["V" if k % 10 == 0 else "A" if k % 10 == 5 else "N" for k in range(len(BEATS))]
    write_record(tmp_path, "a", symbols=symbols)

    def scoring(samples, rate_hz, uv_per_unit, cuts):
        score = np.array([{"V": 5.0, "A": 1.0, "N": 0.0}[s] for s in symbols])
        score[1] = 3.0
        return Detected(BEATS, score=score)

    figures = as_json(evaluate(tmp_path, scoring), resamples=50)
    assert figures["auroc"]["V"]["pooled"] == 1.0
    assert figures["auroc"]["any"]["pooled"] > 0.99
    assert figures["auroc"]["F"]["pooled"] is None
    assert figures["false_positives_per_day"] == pytest.approx(86400 / SECONDS, rel=0.01)
    assert figures["flagged_percent"]["1 %"]["V"] == figures["flagged_percent"]["0.1 %"]["V"] == 100.0
    assert figures["flagged_percent"]["1 %"]["S"] == 0.0
    assert figures["records"][0]["auroc"] == {"V": 1.0, "S": pytest.approx(0.997, abs=1e-3), "F": None,
                                              "any": pytest.approx(0.998, abs=1e-3)}  # fmt: skip
    assert figures["threshold"] == ANOMALOUS


def test_without_scores_there_is_no_promise(tmp_path):
    write_record(tmp_path, "a")
    report = full_report(tmp_path, lambda *_: Detected(BEATS))
    assert report["promise"]["people"] == 0
    assert "promised" not in as_text(report)


def test_a_false_detection_that_is_marked_is_a_false_positive_except_in_flutter(tmp_path):
    a, b = int(BEATS[50]) - 20, int(BEATS[60]) + 20
    write_record(tmp_path, "vf", extra=[(a, "[", ""), (b, "]", "")])

    def excited(samples, rate_hz, uv_per_unit, cuts):
        at = np.sort(np.append(BEATS, [BEATS[10] + 90, BEATS[55] + 90]))
        return Detected(at, score=np.where(np.isin(at, BEATS[~inside(BEATS, np.array([[a, b]]))]), 0.0, 9.0))

    figures = as_json(evaluate(tmp_path, excited))
    assert figures["false_positives_per_day"] == pytest.approx(86400 / SECONDS, rel=1e-3)
    assert figures["flagged_percent"]["1 %"]["N"] == 0.0


def test_a_record_of_the_training_data_is_evaluated_with_its_held_out_model(tmp_path):
    for name in ("known", "other"):
        write_record(tmp_path, name)

    def held_out(samples, rate_hz, uv_per_unit, cuts):
        return Detected(BEATS[1:])

    report = full_report(tmp_path, spikes, held_out={("known", SECONDS * RATE): held_out, ("other", 5): held_out})
    assert {r["record"]: (r["unseen"], r["fn"]) for r in report["records"]} == {"known": (True, 1), "other": (False, 0)}
    assert report["unseen"] == 1
    assert "Records of the training data: 1," in as_text(report)


def test_a_record_with_paced_beats_is_paced_whatever_its_name(tmp_path):
    write_record(tmp_path, "mine", symbols=["/" if k % 2 else "N" for k in range(len(BEATS))])
    assert as_json(evaluate(tmp_path, spikes))["gross_paced"]["beats"] == len(BEATS)


def test_confidence_is_measured_by_beat_and_by_ten_seconds(tmp_path):
    write_record(tmp_path, "a")

    def unsure(samples, rate_hz, uv_per_unit, cuts):
        at = np.sort(np.append(BEATS, BEATS[[3, 200]] + 100))
        return Detected(at, quality=np.where(np.isin(at, BEATS), 0.9, 0.1))

    run = evaluate(tmp_path, unsure)
    assert confidence_auroc(r.confidence for r in run.results) == {"beat_auc": 1.0, "window_auc": 1.0}


def test_cuts_cover_a_recording_once_and_depend_on_the_seed_only():
    for samples in (1, 5, 1000, 90_001):
        cuts = Cuts.random(samples, 250.0, seed=4)
        assert (cuts.chunk[0], cuts.chunk[-1]) == (0, samples)
        assert (np.diff(cuts.chunk) > 0).all()
        assert (cuts.tick[0], cuts.tick[-1]) == (0, len(cuts.chunk) - 1)
        assert (np.diff(cuts.tick) > 0).all()
        again = Cuts.random(samples, 250.0, seed=4)
        assert np.array_equal(cuts.chunk, again.chunk)
        assert np.array_equal(cuts.tick, again.tick)


def test_detections_out_of_order_are_refused():
    with pytest.raises(ValueError, match="ascending order"):
        Detected(np.array([5, 3]))
    with pytest.raises(ValueError, match="1 values of score"):
        Detected(np.array([5]), score=np.zeros(2))


def test_alarms_are_found_or_false_by_their_episodes(tmp_path):
    write_record(tmp_path, "a", extra=[(1000, "[", ""), (5000, "]", ""), (20_000, "+", "(VFL"), (21_000, "+", "(N")])
    record = read_annotated(tmp_path, "a")
    assert reference_episodes(record)["ventricular fibrillation"] == [(1000, 5000), (20_000, 20_999)]
    assert reference_episodes(record, tachycardia_bpm=70.0)["tachycardia"] == [(int(BEATS[7]), int(BEATS[-1]))]
    given = [
        Alarm("ventricular fibrillation", 1500, 2000, 4000),
        Alarm("ventricular fibrillation", 60_000, 60_500, 61_000),
        Alarm("tachycardia", 2000, 2100, 2200),  # in flutter: not counted against
        Alarm("tachycardia", 40_000, 40_100, 40_200),
        Alarm("other", 0, 1, 2),
    ]
    counts = count_alarms(record, given)
    assert counts["ventricular fibrillation"] == AlarmCounts(episodes=2, found=1, false=1)
    assert counts["tachycardia"] == AlarmCounts(episodes=0, found=0, false=1)
    assert counts["asystole"] == AlarmCounts()


def test_runs_pauses_and_fibrillation_are_episodes_too(tmp_path):
    symbols = ["V" if k in (9, 20, 21, 22, 23, 40, 41) else "N" for k in range(len(BEATS))]
    write_record(tmp_path, "a", symbols=symbols, extra=[(10, "+", "(N"), (30_000, "+", "(AFIB"), (31_000, "+", "(N")])
    record = read_annotated(tmp_path, "a")
    episodes = reference_episodes(record)
    assert episodes["ventricular run"] == [(int(BEATS[20]), int(BEATS[23]))]
    assert episodes["irregular rhythm"] == [(30_000, 30_999)]
    gap = replace(record, beat=np.array([0, 200, 200 + 3 * RATE + 1, 2000]), beat_class=("N",) * 4, rhythms=())
    assert reference_episodes(gap)["pause"] == [(200, 951)]
    assert "irregular rhythm" not in reference_episodes(gap)
    counts = count_alarms(record, [Alarm("ventricular run", int(BEATS[22]), int(BEATS[22]), int(BEATS[31]))])
    assert counts["ventricular run"] == AlarmCounts(episodes=1, found=1, false=0)


def test_alarms_a_bed_and_day_are_those_about_the_heart_that_were_decided_in_time(tmp_path):
    write_record(tmp_path, "a")
    end = int(SECONDS * RATE)
    alarms = (
        Alarm("tachycardia", 10, 20, 30),
        Alarm("tachycardia", 40, 50, 60),
        Alarm("asystole", 40, 50, end),
        Alarm("pause", 40, end, end),  # decided when the record is over
        Alarm("missed beat", 10, 20, 30),  # low
        Alarm("lead off", 10, 20, 30),  # technical
    )

    def alarming(samples, rate_hz, uv_per_unit, cuts):
        return Detected(BEATS, alarms=alarms)

    figures = as_json(evaluate(tmp_path, alarming))
    assert figures["load"]["rules"] == {"tachycardia": 2, "asystole": 1}
    per_day = 3 * 86_400 / SECONDS
    line = next(one for one in as_text(figures).splitlines() if one.startswith("Alarms about the heart"))
    assert f"{per_day:.1f} a bed and day (3 in" in line
    assert line.endswith("tachycardia 2, asystole 1)")
