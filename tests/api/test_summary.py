"""The summary of a recording: its values against their definitions, and what ``beatwire analyze`` prints and writes."""

import io
import json
from importlib import resources
from pathlib import Path
from typing import Any

import beatwire
import numpy as np
import pytest
from beatwire.alerts.rules import RULES
from beatwire.api.summary import print_summary, sparkline
from beatwire.cli.main import app
from beatwire.errors import UserError
from beatwire.offline.analyze import Analysis, analyze
from beatwire.offline.results.episodes import episodes_of
from beatwire.offline.results.quality import quality_table
from beatwire.offline.results.summary import alerts_by_rule, quality_summary, rate_trend, summarize
from beatwire.recordings import NO_VALUE, Recording
from beatwire.recordings.synthetic.person import synthesise
from jsonschema import Draft202012Validator
from rich.console import Console
from typer.testing import CliRunner

RATE_HZ = 250.0


def analysis_of(rr_s: np.ndarray, errors: np.ndarray | None = None) -> Analysis:
    """Beats with these intervals, NaN after a gap of five seconds; the rate is that of the interval alone."""
    time_s = 1.0 + np.cumsum(np.nan_to_num(rr_s, nan=5.0))
    beats = {
        "sample": np.rint(time_s * RATE_HZ).astype(np.int64), "time_s": time_s, "rr_ms": 1000 * rr_s,
        "rate_bpm": 60 / rr_s, "quality": np.ones(len(rr_s)),
        "expected_errors": np.zeros(len(rr_s)) if errors is None else errors,
    }  # fmt: skip
    return Analysis(beats, [], {"bridged": 0, "restarts": 0}, "m")


def recording(seconds: float, leads: int = 1) -> Recording:
    return Recording("r", RATE_HZ, ("II", "V1")[:leads], 5.0, np.zeros((leads, round(seconds * RATE_HZ)), np.int16))


def summary_of(of: Recording, analysis: Analysis) -> dict[str, Any]:
    return summarize(of, analysis, quality_table(of, analysis.beats))


def test_the_extreme_rates_are_those_of_beats_with_eight_known_intervals_and_good_signal() -> None:
    rr_s = np.full(60, 0.8)
    rr_s[5], rr_s[20], rr_s[30], rr_s[50] = 2.0, 1.5, np.nan, 0.5
    rr_s[[36, 45]] = 0.3  # the first one has six known intervals before it, the second one is noise
    errors = np.where(np.arange(60) == 45, 1.1, 0.2)
    summary = summary_of(recording(90), analysis_of(rr_s, errors))
    time_s = analysis_of(rr_s).beats["time_s"]
    assert (summary["min_rate_bpm"], summary["max_rate_bpm"]) == (40.0, 120.0)
    assert (summary["min_rate_at_s"], summary["max_rate_at_s"]) == pytest.approx((time_s[20], time_s[50]), abs=1e-3)


@pytest.mark.parametrize("beats", [0, 1, 7])
def test_a_recording_with_too_few_beats_has_no_extreme_rates(beats: int) -> None:
    summary = summary_of(recording(30), analysis_of(np.full(beats, 0.8)))
    assert [summary[f"{name}_rate_bpm"] for name in ("min", "max")] == [None, None]
    assert summary["beats"] == beats
    assert (summary["median_rate_bpm"] is None) == (beats == 0)
    json.dumps(summary, allow_nan=False)


@pytest.mark.parametrize(("seconds", "parts"), [(0.5, 1), (30.0, 7), (479.9, 119), (480.0, 120), (80_000.0, 120)])
def test_the_trend_has_at_most_120_parts_of_at_least_four_seconds(seconds: float, parts: int) -> None:
    time_s = np.random.default_rng(1).permutation(np.linspace(0, seconds, 500, endpoint=False))
    trend = rate_trend(time_s, 60 + time_s, seconds)
    number = np.minimum((time_s * parts / seconds).astype(int), parts - 1)
    assert trend == [round(float(np.median(60 + time_s[number == k])), 1) for k in range(parts)]


def test_the_trend_is_empty_where_there_are_no_beats() -> None:
    assert rate_trend(np.array([1.0, 17.0, 17.5]), np.array([60.0, np.nan, 70.0]), 20.0) == [
        60.0,
        None,
        None,
        None,
        70.0,
    ]
    assert rate_trend(np.zeros(0), np.zeros(0), 20.0) == [None] * 5


def alert(rule: str, priority: str, state: str, onset: int, decided: int) -> dict[str, Any]:
    return {
        "id": f"{rule} {onset}", "rule": rule, "priority": priority, "technical": False, "state": state,
        "onset": onset, "text": rule, "decided": decided,
    }  # fmt: skip


def test_alerts_are_counted_by_rule_with_their_first_time_and_how_long_they_were_on() -> None:
    alerts = [
        alert("anomalous beats", "low", "on", 250, 250),
        alert("tachycardia", "medium", "on", 500, 500),
        alert("asystole", "high", "on", 1000, 1000),
        alert("tachycardia", "medium", "off", 500, 1500),
        alert("asystole", "high", "latched", 1000, 1250),
        alert("tachycardia", "medium", "on", 2000, 2000),
        alert("tachycardia", "medium", "off", 2000, 2250),
    ]
    rows = alerts_by_rule(episodes_of(alerts, np.zeros((1, 5000), np.int16)), RATE_HZ, 20.0)
    assert {name: (row["count"], row["first_s"], row["seconds"]) for name, row in rows.items()} == {
        "asystole": (1, 4.0, 1.0),
        "tachycardia": (2, 2.0, 5.0),
        "anomalous beats": (1, 1.0, 19.0),  # to the end
    }
    assert list(rows) == ["asystole", "tachycardia", "anomalous beats"]
    assert rows["asystole"]["priority"] == "high"


def test_an_alert_whose_priority_rises_is_one_and_is_listed_with_the_higher_one() -> None:
    alerts = []
    for first in (250, 5000):
        alerts += [
            alert("cannot analyse", "medium", "on", first, first),
            alert("cannot analyse", "medium", "off", first, first + 500),
            alert("cannot analyse", "high", "on", first + 500, first + 500),
            alert("cannot analyse", "high", "off", first + 500, first + 750),
        ]
    alerts.append(alert("tachycardia", "medium", "on", 9000, 9000))
    rows = alerts_by_rule(episodes_of(alerts, np.zeros((1, 10000), np.int16)), RATE_HZ, 40.0)
    row = rows["cannot analyse"]
    assert (row["priority"], row["count"], row["first_s"], row["seconds"]) == ("high", 2, 1.0, 6.0)
    assert list(rows) == ["cannot analyse", "tachycardia"]


def test_the_number_of_alerts_is_the_sum_of_the_rows_where_a_priority_rises_too() -> None:
    noise = np.random.default_rng(0).normal(size=45 * 250)
    result = beatwire.analyze(noise, 250, units="mV")
    rows = result.summary["alerts_by_rule"]
    assert rows["cannot analyse"]["priority"] == "high"
    assert result.summary["alerts"] == sum(row["count"] for row in rows.values())


def test_signal_quality_is_a_share_of_the_time_and_the_worst_stretch_has_the_most_expected_errors() -> None:
    table = {
        "time_s": np.arange(0.0, 70.0, 10.0),
        "seconds": np.array([10.0] * 6 + [2.0]),
        "with_signal": np.array([1, 1, 0.5, 0, 1, 1, 1]),
        "expected_errors": np.array([0.2, 1.5, 1.0, np.nan, 1.2, 1.1, np.nan]),
    }
    found = quality_summary(table)
    assert found["with_signal"] == pytest.approx(47 / 62, abs=1e-4)
    assert found["good"] == pytest.approx(15 / 60, abs=1e-4)  # nothing is known of the last 2 s
    assert found["worst"] == {"start_s": 40.0, "stop_s": 60.0, "expected_errors": 1.2}  # together 2.3
    table["expected_errors"] = np.array([0.2, 0.3, 0.1, np.nan, np.nan, 0.1, np.nan])
    assert quality_summary(table)["worst"] == {"start_s": 40.0, "stop_s": 50.0, "expected_errors": None}
    table["expected_errors"][4] = 1.0
    assert quality_summary(table)["worst"] is None


def test_a_character_of_the_line_is_the_median_of_its_parts_and_blank_without_any() -> None:
    assert sparkline([60, 70, None, None, 120, 100, 80, 60], 4, (60, 120), "12345678") == "2 72"
    assert sparkline([60, None, 120], 6, (60, 120), "01") == "00  11"
    assert sparkline([10, 500], 2, (60, 120), "01") == "01"


@pytest.fixture(scope="module")
def summary() -> dict[str, Any]:
    """The summary of two minutes with a gap and twenty seconds without beats."""
    samples = synthesise(1, rate_hz=RATE_HZ, seconds=120).recording.samples.copy()
    samples[:, 10_000:12_500] = NO_VALUE
    samples[:, 20_000:25_000] = samples[0, 20_000]
    made = Recording("made", RATE_HZ, ("II",), 5.0, samples)
    return {"source": "made", **summary_of(made, analyze(made)), "took_s": 1234.5}


def printed(summary: dict[str, Any], width: int, encoding: str = "utf-8", **options: Any) -> str:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding)
    print_summary(summary, Console(file=file, width=width, **options))
    file.flush()
    return raw.getvalue().decode()


def test_the_summary_fits_a_screen_of_80_columns(summary: dict[str, Any]) -> None:
    lines = printed(summary, 80).splitlines()
    assert len(lines) <= 24
    assert [line for line in lines if len(line) > 80 or line != line.rstrip()] == []
    rows = {line[:14].strip(): line[14:] for line in lines if line[0] != " "}
    assert list(rows) == [
        "recording", "heart rate", "beats", "RR intervals", "signal", "gaps", "rate", "alerts", "model"
    ]  # fmt: skip
    assert rows["signal"] == "present 92 % of the time, good 75 %"
    assert rows["gaps"] == "1"
    assert len(rows["rate"]) == 66
    blank = [k for k, character in enumerate(rows["rate"]) if character == " "]
    assert {26, 44, 45, 50, 51} <= set(blank)  # of 66 characters for 120 s: the gap at 40-50 s, no beats at 80-100 s
    assert len(printed(summary, 200).splitlines()[8]) > 80


@pytest.mark.parametrize(("rr_s", "errors", "asks"), [(0.8, 0.0, False), (0.8, 6.0, True), (1.9, 0.0, False)])
def test_a_signal_that_is_never_good_is_asked_about_and_no_rate_is_below_zero(
    rr_s: float, errors: float, asks: bool
) -> None:
    figures = summary_of(recording(90), analysis_of(np.full(40, rr_s), np.full(40, errors)))
    screen = printed({"source": "x", **figures, "rate_trend_bpm": [3.0, 40.0], "took_s": 1.0}, 80)
    assert ("is it an ECG?" in screen) is asks
    assert " 0 to " in screen


def test_every_rule_has_a_row_with_stars_count_first_time_and_duration(summary: dict[str, Any]) -> None:
    lines = printed(summary, 80).splitlines()
    assert "*** asystole                 1   0:01:23   0:00:16" in [line.strip() for line in lines]


def test_the_figures_of_a_rule_are_under_their_heads_however_long_the_names_are(summary: dict[str, Any]) -> None:
    row = {"priority": "medium", "count": 3, "first_s": 754.0, "seconds": 60.0}
    names = [rule.name for rule in RULES]
    longest = summary | {"alerts": 3 * len(names), "alerts_by_rule": dict.fromkeys(names, row)}
    lines = printed(longest, 80).splitlines()
    (head,) = (line for line in lines if line.startswith("alerts"))
    stop = head.index("COUNT") + len("COUNT")
    rows = lines[lines.index(head) + 1 : -1]
    assert [line[18 : stop - 5].strip() for line in rows] == list(longest["alerts_by_rule"])
    assert {line[stop - 6 :] for line in rows} == {"     3   0:12:34   0:01:00"}
    assert max(map(len, rows)) == len(head) <= 80


def test_colours_are_for_terminals_and_blocks_for_terminals_that_can_show_them(summary: dict[str, Any]) -> None:
    assert "\x1b" not in printed(summary, 80)
    coloured = printed(summary, 80, force_terminal=True, color_system="standard").splitlines()
    assert coloured[3].startswith("\x1b[2mbeats         \x1b[0m")  # the label alone is dim
    assert "\x1b" not in coloured[3].removeprefix("\x1b[2mbeats         \x1b[0m")
    assert "█" in printed(summary, 80)
    assert printed(summary, 80, "ascii").isascii()


def test_alerts_of_a_recording_are_lines_by_the_schema_of_the_topic(tmp_path: Path) -> None:
    file = tmp_path / "alerts.jsonl"
    arguments = ["analyze", "synthetic:seconds=30,ectopy=0.3", "--alerts"]
    done = CliRunner().invoke(app, [*arguments, str(file), "--out", str(tmp_path / "beats.csv")])
    assert done.exit_code == 0, done.output
    assert str(file) in done.stdout
    schema = json.loads(resources.files("beatwire.wire").joinpath("schemas/alert.schema.json").read_text("utf-8"))
    alerts = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    for one in alerts:
        Draft202012Validator(schema).validate(one)
    assert {one["state"] for one in alerts} == {"on", "off"}
    assert (tmp_path / "beats.csv.alerts.jsonl").read_bytes() == file.read_bytes()
    piped = CliRunner().invoke(app, [*arguments, "-"])
    assert piped.stdout == file.read_text("utf-8")
    assert "heart rate" in piped.stderr


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--alerts no/a.jsonl", "--alerts: expected a file in an existing folder; there is no folder 'no'"),
        ("--alerts - --json", "--alerts -: expected a file beside --json; both would be printed on standard output"),
        ("--out x.docx", "--out: expected CSV"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused_before_the_recording_is_read(options: str, expected: str) -> None:
    done = CliRunner().invoke(app, ["analyze", "nofile", *options.split()])
    assert isinstance(done.exception, UserError)
    assert str(done.exception).startswith(expected)
