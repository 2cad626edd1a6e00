"""Export of FHIR: R5 is valid by fhir.resources, R6 has what its draft requires, and both say what was published."""

import gzip
import json
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from beatwire.cli.main import app
from beatwire.cli.recordings.export import validate
from beatwire.errors import UserError
from beatwire.offline.results.merge import START_US
from beatwire.wire import fhir
from draws import draws
from fhir.resources.observation import Observation
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

BEGIN = datetime(2026, 11, 23, 8, 0, tzinfo=UTC)
TIMES = st.integers(-(10**6), 10**6).map(lambda hours: BEGIN + timedelta(hours=hours, microseconds=hours))


def beat(second: float, rate: float | None, stream: str = "bed-1") -> dict[str, Any]:
    return {"stream": stream, "time": BEGIN + timedelta(seconds=second), "rate_bpm": rate}


def alert(state: str, decided_s: int, **changed: Any) -> dict[str, Any]:
    return {
        "id": "ab" * 16, "stream": "bed-1", "session": 0, "rule": "extreme tachycardia", "priority": "high",
        "technical": False, "state": state, "onset": 1250, "onset_us": 5_000_000, "decided": 250 * decided_s,
        "decided_us": decided_s * 1_000_000, "value": 160.0, "limit": 140.0, "text": "rate 160/min",
    } | changed  # fmt: skip


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["export", "fhir", *map(str, arguments)])


def test_a_minute_of_a_stream_is_one_observation_of_its_median_rate() -> None:
    beats = [beat(1, None), beat(2, 60.0), beat(30, 70.04), beat(59.9, 90.0), beat(60, 100.0), beat(61, 80.0, "bed-2")]
    found = fhir.heart_rates(beats, "beatwire")
    streams = [one["subject"]["identifier"]["value"] for one in found]
    starts = [one["effectivePeriod"]["start"] for one in found]
    assert list(zip(streams, starts, [one["valueQuantity"]["value"] for one in found], strict=True)) == [
        ("bed-1", "2026-11-23T08:00:00.000Z", 70.0),
        ("bed-1", "2026-11-23T08:01:00.000Z", 100.0),
        ("bed-2", "2026-11-23T08:01:00.000Z", 80.0),
    ]
    assert found[0]["effectivePeriod"]["end"] == "2026-11-23T08:01:00.000Z"
    assert "at 3 beats" in found[0]["method"]["text"]


def test_a_rate_of_poor_signal_is_no_heart_rate_and_a_minute_without_another_says_so() -> None:
    noise = {"expected_errors": 2.5}
    beats = [
        beat(1, 60.0),
        beat(2, 170.0) | noise,
        beat(61, 170.0) | noise,
        beat(121, 70.0) | {"expected_errors": None},
    ]
    found = fhir.heart_rates(beats, "beatwire")
    assert [one.get("valueQuantity", {}).get("value") for one in found] == [60.0, None, 70.0]
    assert found[1]["dataAbsentReason"]["text"] == "no good signal in this minute"
    assert [one["method"]["text"].split(",")[0] for one in found] == [
        f"median of the rates at {n} of good signal" for n in ("1 beat", "0 beats", "1 beat")
    ]
    validate(json.dumps(fhir.bundle(found)))


@given(st.lists(st.tuples(TIMES, st.floats(1, 400), st.text("bed-é1", min_size=1)), min_size=1, max_size=5))
@settings(max_examples=draws(25), deadline=None)
def test_every_observation_is_valid_by_r5(given: list[tuple[datetime, float, str]]) -> None:
    beats = [{"stream": stream, "time": time, "rate_bpm": rate} for time, rate, stream in given]
    found = fhir.heart_rates(beats, "beatwire")
    for one in found:
        read = Observation.model_validate(one)
        assert (read.code.coding[0].code, read.meta.security[0].code) == ("8867-4", "HTEST")
    validate(json.dumps(fhir.bundle(found)))


def test_a_bundle_that_is_not_valid_is_refused_in_one_line() -> None:
    (one,) = fhir.heart_rates([beat(1, 60.0)], "beatwire")
    with pytest.raises(UserError, match=r"expected a valid FHIR R5 Bundle; got .*status") as refused:
        validate(json.dumps(fhir.bundle([one | {"status": None}])))
    assert "\n" not in str(refused.value)


def test_an_export_without_beats_is_an_empty_bundle_that_is_valid() -> None:
    validate(json.dumps(fhir.bundle([])))


def test_an_export_that_is_repeated_has_the_same_ids_and_no_two_resources_share_one() -> None:
    beats = [beat(60 * k, 60.0, stream) for k in range(3) for stream in ("bed-1", "bed-2")]
    ids = [one["id"] for one in fhir.heart_rates(beats, "beatwire")]
    assert ids == [one["id"] for one in fhir.heart_rates(beats, "another")]
    assert len(set(ids)) == 6


@pytest.mark.parametrize(
    ("states", "status", "presence", "acknowledged", "end"),
    [
        (["on"], "in-progress", True, False, None),
        (["on", "latched"], "in-progress", False, False, 2),
        (["on", "latched", "acknowledged off"], "completed", False, True, 2),
        (["on", "ack", "acknowledged off"], "completed", False, True, 3),
        (["on", "off"], "completed", False, False, 2),
        (["on", "ack"], "in-progress", True, True, None),
        (["on", "latched", "ack"], "completed", False, True, 2),
    ],
)
def test_the_states_of_an_alert_are_those_of_a_device_alert(
    states: list[str], status: str, presence: bool, acknowledged: bool, end: int | None
) -> None:
    by = [{"ack_by": "Ada"} if "ack" in state else {} for state in states]
    alerts = [alert(state.split()[-1], k + 1, **by[k]) for k, state in enumerate(states)]
    (found,) = fhir.device_alerts(alerts, "beatwire")
    assert (found["status"], found["presence"], found["acknowledged"]) == (status, presence, acknowledged)
    expected = {"start": "1970-01-01T00:00:05.000Z"} | ({"end": f"1970-01-01T00:00:0{end}.000Z"} if end else {})
    assert found["occurrencePeriod"] == expected
    assert (found["type"], found["code"]["coding"][0]["code"]) == ("physiological", "extreme-tachycardia")


def test_the_files_of_analyze_are_exported(tmp_path: Path) -> None:
    beats, alerts, out = tmp_path / "bed-7.csv", tmp_path / "alerts.jsonl", tmp_path / "out.json"
    beats.write_text("sample,time_s,rate_bpm\n0,0.5,\n250,1.5,75\n20000,80,90\n")
    done = invoke("--beats", beats, "--start", "2026-11-23T08:00:00Z", "--out", out)
    assert done.stdout == f"{out}: 2 observation resources\n"
    read = [one["resource"] for one in json.loads(out.read_text())["entry"]]
    assert [one["effectivePeriod"]["start"] for one in read] == [f"2026-11-23T08:0{k}:00.000Z" for k in (0, 1)]
    assert read[0]["subject"]["identifier"]["value"] == "bed-7"
    alerts.write_text("\n".join(json.dumps(alert(state, 9)) for state in ("on", "off")))
    bundle = json.loads(invoke("--resource", "device-alert", "--alerts", alerts).stdout)
    assert [one["resource"]["status"] for one in bundle["entry"]] == ["completed"]


@pytest.mark.parametrize(
    ("options", "text", "message"),
    [
        (("--beats",), "a,b\n1,2\n", "given has no columns time_s, rate_bpm"),
        (("--beats",), "sample,time_s\n1,2\n", "given has no column rate_bpm"),
        (("--beats",), "time_s,rate_bpm\nx,60\n", "could not convert string to float: 'x'"),
        (
            ("--resource", "device-alert", "--alerts"),
            '{"id": 3}',
            "given, line 1: expected id: 1-64 printable characters, not only spaces; got 3",
        ),
        (("--resource", "device-alert", "--alerts"), "no JSON", "--alerts: expected lines of beatwire analyze"),
        (("--alerts",), "", "export: expected no --alerts with --resource observation"),
        (("--resource", "device-alert", "--beats"), "", "export: expected no --beats with --resource device-alert"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_that_names_the_option(
    tmp_path: Path, options: tuple[str, ...], text: str, message: str
) -> None:
    path = tmp_path / "given"
    path.write_text(text)
    done = invoke(*options, path)
    assert isinstance(done.exception, UserError)
    assert str(done.exception).startswith((f"{options[-1]}: expected ", f"export: expected no {options[-1]} "))
    assert message in str(done.exception)


@pytest.mark.parametrize("options", [("--beats",), ("--resource", "device-alert", "--alerts")])
def test_a_file_that_does_not_exist_is_named_without_a_number(tmp_path: Path, options: tuple[str, ...]) -> None:
    error = str(invoke(*options, tmp_path / "gone.csv").exception)
    assert error.startswith(f"{options[-1]}: expected ")
    assert error.endswith("gone.csv: No such file or directory")


def test_beats_of_a_parquet_file_are_those_of_a_csv_file(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("bed-7.csv", "bed-7.parquet")]
    for file in files:
        assert CliRunner().invoke(app, ["analyze", "synthetic:seconds=70", "--out", str(file)]).exit_code == 0
    first, second = (json.loads(invoke("--beats", file).stdout)["entry"] for file in files)
    assert first == second
    assert len(first) == 2


def test_one_resource_is_singular_and_an_empty_bundle_is_reported(tmp_path: Path) -> None:
    beats, alerts, out = tmp_path / "b.csv", tmp_path / "alerts.jsonl", tmp_path / "out.json"
    beats.write_text("time_s,rate_bpm\n1,60\n")
    done = invoke("--beats", beats, "--out", out, "--start", "2026-11-23T08:00:00")
    assert (done.stdout, done.stderr) == (f"{out}: 1 observation resource\n", "")
    alerts.write_text(json.dumps(alert("on", 9)))
    done = invoke("--resource", "device-alert", "--alerts", alerts, "--stream", "nosuch")
    assert "entry" not in json.loads(done.stdout)
    assert (done.exit_code, done.stderr) == (0, "export: found no alert of stream 'nosuch'; the Bundle is empty\n")
    beats.write_text("time_s,rate_bpm\n1,\n")
    assert invoke("--beats", beats).stderr.splitlines() == [
        "export: without --start the recording begins at 1970-01-01T00:00:00Z",
        "export: found no beat with a rate; the Bundle is empty",
    ]


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "fhir.resources.bundle", None)
    path = tmp_path / "b.csv"
    path.write_text("time_s,rate_bpm\n1,60\n")
    assert str(invoke("--beats", path).exception).endswith("it is not installed (pip install 'beatwire[fhir]')")


@given(
    time=st.one_of(st.just(""), st.floats(width=64).map(repr), st.integers(-(10**20), 10**20).map(str)),
    rate=st.one_of(st.just(""), st.floats().map(repr)),
    start=st.sampled_from(["0001-01-01T00:00:00", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z"]),
)
@settings(max_examples=draws(40), deadline=None)
def test_beats_of_any_time_and_rate_are_a_bundle_or_one_line(time: str, rate: str, start: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "b.csv"
        path.write_text(f"time_s,rate_bpm\n1,60\n{time},{rate}\n")
        done = invoke("--beats", path, "--start", start)
    assert done.exit_code == 0 or isinstance(done.exception, UserError)


def test_a_file_that_is_cut_off_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "b.csv.gz"
    path.write_bytes(gzip.compress(b"time_s,rate_bpm\n" + b"1,60\n" * 500)[:-12])
    assert str(invoke("--beats", path).exception).startswith("--beats: expected a file of beatwire analyze --out")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--beats FILE --bootstrap-servers b:1", "--bootstrap-servers: expected no file beside it; got --beats"),
        ("--beats FILE -X security.protocol=SSL", "--property: expected no file beside it; got --beats"),
        ("--beats FILE --topic-prefix a.", "--topic-prefix: expected no file beside it; got --beats"),
        ("--start 2026-11-23T08:00:00Z --bootstrap-servers b:1", "--start: expected --beats or --alerts beside it"),
        (
            "--start 2026-11-23T08:00:00Z --resource device-alert --alerts ALERTS",
            "--start: expected alerts of beatwire analyze; those of",
        ),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(options: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "b.csv"
    path.write_text("time_s,rate_bpm\n1,60\n")
    alerts = tmp_path / "of-kafka.jsonl"
    alerts.write_text(json.dumps(alert("on", 9)))
    words = options.replace("FILE", str(path)).replace("ALERTS", str(alerts)).split()
    assert str(invoke(*words).exception).startswith(message)


@pytest.mark.parametrize(("given", "subject"), [((), "ward"), (("--stream", "bed-7"), "bed-7")])
def test_alerts_of_analyze_begin_at_start_and_have_a_pseudonym(
    given: tuple[str, ...], subject: str, tmp_path: Path
) -> None:
    path = tmp_path / "ward.jsonl"
    analyzed = alert("on", 9, stream="analyze", onset_us=START_US + 5_000_000, decided_us=START_US + 9_000_000)
    path.write_text(json.dumps(analyzed))
    done = invoke("--resource", "device-alert", "--alerts", path, "--start", "2026-11-23T08:00:00Z", *given)
    (one,) = json.loads(done.stdout)["entry"]
    assert one["resource"]["occurrencePeriod"]["start"] == "2026-11-23T08:00:05.000Z"
    assert one["resource"]["subject"]["identifier"]["value"] == subject


def test_a_recording_without_alerts_is_an_empty_bundle_whenever_it_began(tmp_path: Path) -> None:
    path = tmp_path / "ward.jsonl"
    path.write_text("")
    done = invoke("--resource", "device-alert", "--alerts", path, "--start", "2026-11-23T08:00:00Z")
    assert (done.exit_code, "entry" in json.loads(done.stdout)) == (0, False)


@given(
    names=st.lists(st.text("ab.1-", min_size=1, max_size=6).map(lambda name: f"r{name}"), min_size=2, max_size=4),
    starts=st.lists(st.integers(0, 23), min_size=1, max_size=2, unique=True),
    ending=st.sampled_from([".jsonl", ".csv.alerts.jsonl", ".parquet.alerts.jsonl"]),
)
@settings(max_examples=draws(25), deadline=None)
def test_no_two_recordings_share_a_subject_or_the_identifier_of_an_alert(
    names: list[str], starts: list[int], ending: str
) -> None:
    analyzed = [alert(state, 9, stream="analyze", onset_us=START_US, decided_us=START_US) for state in ("on", "off")]
    found: dict[str, set[tuple[str, int]]] = {}
    subjects: dict[str, set[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            path = Path(folder) / f"{name}{ending}"
            path.write_text("\n".join(map(json.dumps, analyzed)))
            for hour in starts:
                done = invoke("--resource", "device-alert", "--alerts", path, "--start", f"2026-11-23T{hour:02}:00:00Z")
                (one,) = json.loads(done.stdout)["entry"]
                found.setdefault(one["resource"]["identifier"][0]["value"], set()).add((name, hour))
                subjects.setdefault(one["resource"]["subject"]["identifier"]["value"], set()).add(name)
    assert all(len(recordings) == 1 for recordings in (*found.values(), *subjects.values()))
    assert (len(found), len(subjects)) == (len(set(names)) * len(starts), len(set(names)))
