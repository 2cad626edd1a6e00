"""``beatwire report``: one file, a folder with an index, and outputs that cannot be written."""

import json
import re
from pathlib import Path

import pytest
from beatwire.cli.main import app
from beatwire.cli.recordings.reporting import report_sources
from beatwire.errors import UserError
from report_page import body_rows, parsed
from typer.testing import CliRunner


def test_several_recordings_give_a_folder_with_an_index(tmp_path: Path) -> None:
    sources = ["synthetic:seconds=20,seed=1", "synthetic:seconds=20,seed=2,leads=2"]
    result = report_sources(sources, tmp_path / "reports", lead="all")
    rows = body_rows(parsed(Path(result["index"])), "")
    assert len(rows) == 2
    assert [row[0] for row in rows] == sources  # both recordings are called synthetic
    assert [int(row[3]) for row in rows] == [r["beats"] for r in result["reports"]]
    links = parsed(Path(result["index"])).links
    assert [str(tmp_path / "reports" / link) for link in links] == [r["path"] for r in result["reports"]]
    assert all(Path(r["path"]).stat().st_size == r["bytes"] for r in result["reports"])


@pytest.mark.parametrize("order", ["agc", "gac", "acg", "ac"])
@pytest.mark.parametrize("bad", ["words.csv", "nothing.csv", "header", "synthetic:beats=3"])
def test_a_recording_that_cannot_be_read_stops_no_other(tmp_path: Path, order: str, bad: str) -> None:
    (tmp_path / "words.csv").write_text("no numbers\n")
    (tmp_path / "header.hea").write_text("header 1 360 100\nheader.dat 16 200 11 1024\n")
    bad = bad if bad.startswith("synthetic") else str(tmp_path / bad)
    sources = {"a": "synthetic:seconds=12,seed=1", "c": bad, "g": "synthetic:seconds=12,seed=2"}
    words = [sources[letter] for letter in order]
    done = CliRunner().invoke(app, ["report", *words, "--out", str(tmp_path / "r"), "--json"])
    assert done.exit_code == 1
    result = json.loads(done.stdout)
    assert [one["source"] for one in result["reports"]] == [word for word in words if word != sources["c"]]
    assert len(body_rows(parsed(Path(result["index"])), "")) == len(words) - 1
    assert list(result["failed"]) == [sources["c"]]
    assert f"{sources['c']}: " in done.stderr
    assert "expected" in done.stderr


def test_an_option_that_no_recording_can_have_is_an_error_before_any_is_read(tmp_path: Path) -> None:
    words = ["synthetic:seconds=12,seed=1", "synthetic:seconds=12,seed=2", "--out", str(tmp_path / "r")]
    done = CliRunner().invoke(app, ["report", *words, "--fs", "20"])
    assert isinstance(done.exception, UserError)
    assert str(done.exception) == "--fs: expected 50-4000 Hz; got 20"
    assert not list((tmp_path / "r").glob("*"))


def test_the_command_prints_one_object_with_path_size_and_time(tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    done = CliRunner().invoke(app, ["report", "synthetic:seconds=10", "--out", str(path), "--json"])
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert [(r["path"], r["bytes"]) for r in result["reports"]] == [(str(path), path.stat().st_size)]
    assert result["seconds"] > 0
    assert result["index"] is None


def test_an_output_that_cannot_be_written_is_reported_before_the_recording_is_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no folder"):
        report_sources(["no-such-recording"], tmp_path / "missing" / "r.html")
    with pytest.raises(UserError, match="got the folder"):
        report_sources(["no-such-recording"], tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="expected a folder for 2 recordings; got the file"):
        report_sources(["a", "b"], tmp_path / "file")


def test_without_bokeh_the_message_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=re.escape("it is not installed (pip install 'beatwire[report]')")):
        report_sources(["no-such-recording"], tmp_path / "r.html")


def test_the_head_of_a_report_says_what_was_assumed_with_names_escaped(tmp_path: Path) -> None:
    source, out = tmp_path / "a.csv", tmp_path / "a.html"
    rows = "".join(f"{k * 4},{abs(k % 200 - 10) < 5:d}.{k % 7},72\n" for k in range(3000))
    source.write_text("stamp,<b>ecg,HR <i>\n" + rows)
    result = CliRunner().invoke(app, ["report", str(source), "--out", str(out)])
    assert result.exit_code == 0, result.output
    head = out.read_text().partition("Remarks on reading: ")[2].partition("</p>")[0]
    for part in ("in milliseconds; 250 Hz", "HR &lt;i&gt;", "read as millivolts"):
        assert part in head
