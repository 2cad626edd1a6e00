"""``beatwire watch``: broker, page and monitor in one process, fed by a board, by LSL, or by a recording."""

import json
import threading
import time
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from beatwire.alerts.rules import NUMBERS, RULES
from beatwire.cli.main import app
from beatwire.errors import UserError
from beatwire.offline.analyze import analyze
from beatwire.recordings import read_recording
from beatwire.recordings.record import Recording
from beatwire.recordings.synthetic.person import synthetic_recording
from beatwire.service import watch
from beatwire.service.observing.counters import Counters
from beatwire.service.watch import run_watch
from beatwire_producers.devices.feed import run_feed
from beatwire_producers.devices.packets import Description, Packet, arrival_s
from typer.testing import CliRunner

PERSON = synthetic_recording("synthetic:seconds=60,seed=3,bpm=72", rate_hz=250.0)


def decided_in(recording: Recording) -> int:
    """Return how many beats of a recording are decided before its end."""
    return int((analyze(recording).beats["decided"] <= recording.samples.shape[1]).sum())


class Strap:
    """A reader that plays a synthetic person in real time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def describe(self) -> Description:
        return Description("strap", ("II",), 250.0, PERSON.uv_per_unit)

    def packets(self) -> Any:
        began, began_s = time.monotonic(), arrival_s()
        for first in range(0, round(self._seconds * 250), 25):
            while time.monotonic() < began + first / 250.0:
                time.sleep(0.005)
                yield None
            yield Packet(PERSON.samples[:1, first : first + 25], began_s + first / 250.0, count=first)

    def close(self) -> None:
        """Nothing is open."""


def test_a_device_is_monitored_and_kept_as_a_record(tmp_path: Path) -> None:
    feeder = lambda cluster, ended, say: run_feed(  # noqa: E731
        [("strap", Strap(8.0))], cluster, ended, say, record=tmp_path
    ).as_dict()
    result = run_watch(feeder, "mock", threading.Event(), stay=False, quiet=True)
    assert (result["streams"], result["samples"], result["holes"]) == (1, 2000, 0)
    (header,) = tmp_path.glob("strap-*.hea")
    kept = read_recording(str(header))
    assert (kept.rate_hz, kept.leads, kept.uv_per_unit) == (250.0, ("II",), PERSON.uv_per_unit)
    np.testing.assert_array_equal(kept.samples[0], PERSON.samples[0, :2000])
    assert result["beats"] == decided_in(kept) > 6


def test_the_page_shows_the_trace_within_ten_seconds() -> None:
    stop, urls, seen_s = threading.Event(), list[str](), list[float]()
    began = time.monotonic()

    def feeder(cluster: Any, ended: threading.Event, say: Any) -> dict[str, Any]:
        from beatwire.page.dashboard import Dashboard

        with Dashboard(cluster, port=0) as page:
            urls.append(page.url)
            runner = threading.Thread(target=run_feed, args=([("strap", Strap(15.0))], cluster, ended, say))
            runner.start()
            while not seen_s and not ended.is_set():
                if page.ward.figures["streams"]:
                    seen_s.append(time.monotonic() - began)
                time.sleep(0.05)
            with urllib.request.urlopen(urls[0]) as answer:
                assert answer.status == 200
            stop.set()
            runner.join()
        return {}

    run_watch(feeder, "mock", stop, stay=True, quiet=True)
    assert seen_s[0] < 10.0


def test_a_recording_is_played_and_its_beats_are_found(tmp_path: Path) -> None:
    path = tmp_path / "ecg.csv"
    mv = PERSON.samples[0, :3000] * PERSON.uv_per_unit / 1000
    path.write_text("time_s,II_mV\n" + "".join(f"{k / 250:.3f},{v:.4f}\n" for k, v in enumerate(mv)))
    done = CliRunner().invoke(app, ["watch", str(path), "--speed", "6", "--json"])
    assert done.exit_code == 0, done.exception
    assert done.stderr.startswith("ecg.csv: times: column 'time_s', in seconds; 250 Hz\n")
    result = json.loads(done.stdout)
    assert result["samples"] == 3000
    assert result["beats"] == decided_in(read_recording(path)) > 9


def test_a_recording_that_is_stopped_was_not_played_to_the_end() -> None:
    for seconds, line in ((1, "stopped before its end"), (30, "played to the end")):
        words = ["synthetic:seconds=12", "--speed", "2", "--seconds", f"{seconds}", "--json"]
        done = CliRunner().invoke(app, ["watch", *words])
        assert done.exit_code == 0, done.exception
        assert f"feed     {line}" in done.stderr


def test_what_was_sent_before_the_kernels_were_ready_is_analysed_before_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("beatwire.service.watch.warm_up", lambda _: time.sleep(4.0))
    done = CliRunner().invoke(app, ["watch", "synthetic:seconds=60,bpm=60", "--speed", "5", "--seconds", "3", "--json"])
    assert done.exit_code == 0, done.exception
    result = json.loads(done.stdout)
    assert 2000 < result["samples"] < 6000
    assert abs(result["beats"] - result["samples"] / 250) < 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mqt://localhost/ward"], r"got 'mqt://localhost/ward' (nearest: mqtt:)"),
        (["POLAR:H10"], r"got 'POLAR:H10' (nearest: polar:)"),
        (["ws://h/ecg"], r"got 'ws://h/ecg' (a class of yours can read it: py:MODULE:CLASS)"),
        (["a.csv", "lsl:x"], "expected devices or recordings; got both"),
        (["synthetic:seconds=10", "--record", "x"], "--record: expected a device"),
        (["synthetic:seconds=10", "--speed", "max"], "--speed: expected a number; got max"),
        (["py:m:C", "--speed", "2"], "--speed: expected a recording beside it; got py:m:C"),
        (["synthetic", "synthetic", "--stream", "bed-1"], "--stream: expected one recording beside it; got 2"),
    ],
)
def test_what_cannot_be_watched_is_one_line(arguments: list[str], words: str) -> None:
    done = CliRunner().invoke(app, ["watch", *arguments])
    assert isinstance(done.exception, UserError)
    assert words in str(done.exception)


@pytest.mark.parametrize(("messages", "after_s"), [(5, 0.5), (4, 3.0), (0, 30.0)])
def test_a_feed_that_is_read_whole_ends_before_its_silence_is_an_alert(
    messages: int, after_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 10.0
    monkeypatch.setattr("beatwire.service.watch.time", SimpleNamespace(monotonic=lambda: now_s))
    is_read, counters = watch._is_read([now_s], [{"messages": 5}]), Counters(messages=messages)
    assert not is_read(counters)
    now_s += after_s - 0.1
    assert not is_read(counters)
    now_s += 0.2
    assert is_read(counters)
    assert RULES[NUMBERS["no data"]].default > watch._ALL_S
