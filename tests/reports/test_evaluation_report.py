"""The report of ``beatwire evaluate``: text, JSON, HTML page, and records that cannot be used."""

import json

import numpy as np
import pytest
from annotated import BEATS, RATE, spikes, write_record
from beatwire.cli.main import app
from beatwire.errors import UserError
from beatwire.evaluation import Detected, as_html, as_json, as_text, evaluate, full_report
from beatwire.evaluation.beats import rivals as peers
from beatwire.evaluation.streamed import Streamed
from beatwire.evaluation.text import record_lines
from beatwire.model.checkpoint import load_model
from page_folder import write_records
from typer.testing import CliRunner


def test_a_record_that_the_graph_refuses_is_listed_with_the_reason(tmp_path):
    write_record(tmp_path, "good")
    write_record(tmp_path, "slow")
    head = (tmp_path / "slow.hea").read_text()
    (tmp_path / "slow.hea").write_text(head.replace(f" {RATE} ", " 5000 ", 1))
    report = as_json(evaluate(tmp_path, Streamed()))
    assert [r["record"] for r in report["records"]] == ["good"]
    assert [f["record"] for f in report["failed"]] == ["slow"]
    assert "expected a rate of 50-4000 Hz; got 5000" in report["failed"][0]["reason"]


def test_the_command_reports_the_others_and_exits_with_one_when_a_record_cannot_be_read(tmp_path):
    for name in ("good", "short"):
        write_record(tmp_path, name)
    (tmp_path / "short.dat").write_bytes((tmp_path / "short.dat").read_bytes()[:1000])
    page = tmp_path / "page.html"
    done = CliRunner().invoke(app, ["evaluate", str(tmp_path), "--lead", "best", "--json", "--html", str(page)])
    assert done.exit_code == 1
    figures = json.loads(done.stdout)
    assert [r["record"] for r in figures["records"]] == ["good"]
    assert [f["record"] for f in figures["failed"]] == ["short"]
    assert figures["lead"] == "best"
    assert figures["model"] == load_model().name
    keys = {
        "records", "gross", "gross_paced", "timing_ms", "delay_ms", "auroc", "average_precision",
        "false_positives_per_day", "alarms", "load", "failed",
    }  # fmt: skip
    assert keys <= figures.keys()
    assert {"beats", "tp", "fn", "fp", "se", "ppv", "f1", "se_50ms", "ppv_50ms"} <= figures["gross"].keys()
    assert figures["auroc"].keys() == figures["average_precision"].keys() == {"V", "S", "F", "any"}
    assert all({"pooled", "mean", "low", "high"} <= area.keys() for area in figures["auroc"].values())
    assert {"asystole", "tachycardia", "ventricular fibrillation"} <= figures["alarms"].keys()
    assert "short" in page.read_text()


def test_the_command_adds_noise_at_each_ratio(tmp_path):
    write_records(tmp_path, ["3"])
    done = CliRunner().invoke(
        app,
        ["evaluate", str(tmp_path), "--detector", "trees", "--noise", "electrode-motion", "--snr", "12,-6", "--json"],
    )
    noisy = json.loads(done.stdout)["noise"]
    assert [n["condition"] for n in noisy] == ["electrode-motion 12 dB", "electrode-motion -6 dB"]
    assert noisy[0]["gross"]["f1"] > noisy[1]["gross"]["f1"]
    wrong = CliRunner().invoke(app, ["evaluate", str(tmp_path), "--snr", "loud"])
    assert "expected numbers separated by commas; got 'loud'" in str(wrong.exception)


@pytest.mark.parametrize("error", [ValueError("flat.\nCheck it."), ZeroDivisionError(), IndexError("3")])
def test_a_rival_that_dies_of_a_record_fails_it_and_nothing_else(tmp_path, monkeypatch, error):
    for name in ("a", "b", "c"):
        write_record(tmp_path, name)
    died = {"a": False, "b": True, "c": False, "a again": True, "b again": False, "c again": False}
    runs = iter(died.values())

    def detect(lead, rate_hz):
        if next(runs):
            raise error
        return BEATS

    monkeypatch.setattr(peers, "_PACKAGE", {"xqrs": "wfdb"})
    monkeypatch.setitem(peers._DETECTOR, "xqrs", detect)
    words = ["--rivals", "--noise", "electrode-motion", "--snr", "6", "--detector", "rule", "--html"]
    done = CliRunner().invoke(app, ["evaluate", str(tmp_path), *words, str(tmp_path / "page.html")])
    assert done.exit_code == 1
    failed = [line for line in done.stdout.splitlines() if line.startswith("Failed: ")]
    said = f"xqrs: expected beats; got {type(error).__name__}: {' '.join(str(error).split())}"
    assert failed == [f"Failed: b: {said}", f"Failed: a (electrode-motion 6 dB): {said}"]
    assert "Rival xqrs: F1 100.00 % (with electrode-motion 6 dB 100.00)" in done.stdout
    page = (tmp_path / "page.html").read_text()
    assert f"<li>a (electrode-motion 6 dB): {said}</li>" in page


def test_noise_that_cannot_be_read_is_refused_before_any_record_is_run(tmp_path):
    write_record(tmp_path, "a")

    def never(samples, rate_hz, uv_per_unit, cuts):
        raise AssertionError("ran")

    with pytest.raises(UserError, match="nowhere"):
        full_report(tmp_path, never, noise=[str(tmp_path / "nowhere")])


def test_records_with_and_without_rhythm_marks_are_reported_together(tmp_path):
    write_record(tmp_path, "a", extra=[(10, "+", "(N")])
    write_record(tmp_path, "b")
    assert as_json(evaluate(tmp_path, spikes))["alarms"]["irregular rhythm"] == {"episodes": 0, "found": 0, "false": 0}


def test_the_page_shows_beats_of_each_class_on_the_map(tmp_path):
    write_record(tmp_path, "a", symbols=["V" if k % 10 == 0 else "N" for k in range(len(BEATS))])

    def with_map(samples, rate_hz, uv_per_unit, cuts):
        map_xy = np.stack([np.arange(len(BEATS)), np.arange(len(BEATS)) % 7], axis=1).astype(float)
        map_xy[0] = np.nan
        return Detected(BEATS, map_xy=map_xy)

    figures = full_report(tmp_path, with_map)
    assert [len(figures["map"][c]) for c in "NVSF"] == [202, 44, 0, 0]  # every second of 404, all but the one without
    page = as_html(figures, "map")
    assert page.count("<circle") == 202 + 44
    assert "<svg" not in as_html(full_report(tmp_path, spikes), "none")


def test_the_table_of_records_fits_80_columns_and_has_every_figure(tmp_path):
    for name in ("a", "b"):
        write_record(tmp_path, name)
    figures = full_report(tmp_path, spikes)
    for row in (*figures["records"], figures["gross"]):
        row.update({"beats": 109_494, "fn": 1_234, "fp": 1_234, "se": 100.0, "ppv": 100.0, "f1": 100.0})
        row.update({"se_50ms": 100.0, "ppv_50ms": 100.0})
    for row in (*figures["records"], figures):
        row["timing_ms"]["median"], row["delay_ms"]["max"] = 12.34, 1325.67
    figures["records"][0].update({"record": "102", "paced": True})
    lines = record_lines(figures)
    assert max(map(len, lines)) <= 80
    assert len({len(line) for line in lines}) == 1
    assert [" ".join(line.split()) for line in lines[:4]] == [
        "R max",
        "Se 50 +P 50 error delay",
        "record beats missed false Se % +P % F1 % ms % ms % ms ms",
        "102 (paced) 109494 1234 1234 100.00 100.00 100.00 100.00 100.00 12.34 1325.67",
    ]


@pytest.mark.parametrize(("records", "shown"), [(1, "-"), (2, "1.000-1.000")])
def test_an_interval_is_printed_from_two_records_on(tmp_path, records, shown):
    symbols = ["V" if k % 10 == 0 else "N" for k in range(len(BEATS))]
    for k in range(records):
        write_record(tmp_path, f"r{k}", symbols=symbols)

    def scoring(samples, rate_hz, uv_per_unit, cuts):
        return Detected(BEATS, score=np.array([5.0 if s == "V" else 0.0 for s in symbols]))

    assert (
        f"AUROC V against N: 1.000 pooled (95 % interval {shown}), 1.000 mean over {records} records"
        in as_text(full_report(tmp_path, scoring)).splitlines()
    )


def test_the_report_is_json_and_can_be_written_as_text_and_page(tmp_path):
    write_record(tmp_path, "a")
    write_record(tmp_path, "noise")
    (tmp_path / "noise.atr").unlink()
    report = full_report(tmp_path, spikes, noise=[str(tmp_path / "noise")], snr_db=(24.0,))
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert [n["condition"] for n in report["noise"]] == ["noise 24 dB"]
    assert "noise 24 dB" in as_text(report)
    page = as_html(report, "a<b")
    assert "a&lt;b" in page
    assert "a<b" not in page
