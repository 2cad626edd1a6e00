"""The report of a recording: it states the facts of the analysis and needs no network."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beatwire.model.checkpoint import load_model
from beatwire.offline.analyze import analyze
from beatwire.recordings import Recording
from beatwire.report.events import kinds_of
from beatwire.report.study import study_of
from beatwire.report.write import write_report
from report_page import Example, body_rows, example_fixture, parsed, written  # noqa: F401  a fixture


@pytest.fixture(scope="module")
def report(analyzed: Example, tmp_path_factory: pytest.TempPathFactory) -> Path:
    done: list[float] = []
    made = written(analyzed, tmp_path_factory, progress=done.append)
    assert made.size == made.path.stat().st_size
    assert done == sorted(done)
    assert done[-1] == 1.0
    return made.path


def test_every_alert_has_a_row_with_its_onset_priority_and_text(report: Path, analyzed: Any) -> None:
    recording, analysis, _ = analyzed
    raised = [a for a in analysis.alerts if a["state"] == "on"]
    assert {"asystole", "tachycardia"} <= {a["rule"] for a in raised}
    rows = body_rows(parsed(report), "alerts")
    assert len(rows) == len(raised)
    assert sorted(row[3] for row in rows) == sorted(a["text"] for a in raised)
    for row, alert in zip(rows, sorted(raised, key=lambda a: (a["onset"], a["rule"])), strict=True):
        hours, minutes, seconds = (float(part) for part in row[0].split(":"))
        assert 3600 * hours + 60 * minutes + seconds == pytest.approx(alert["onset"] / recording.rate_hz, abs=0.051)
        assert row[2].startswith(alert["priority"])


def test_links_lead_to_places_of_the_page_and_no_id_occurs_twice(report: Path) -> None:
    page = parsed(report)
    assert any(link.startswith("#strip-") for link in page.links)
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert [name for name, count in Counter(page.ids).items() if count > 1] == []


def test_the_hours_sum_to_the_beats_and_alerts_of_the_analysis(report: Path, analyzed: Any) -> None:
    _, analysis, annotations = analyzed
    *hours, total = body_rows(parsed(report), "hours")
    assert total[0] == "all"
    assert sum(int(row[1].replace(",", "")) for row in hours) == len(analysis.beats["sample"]) == int(total[1])
    assert int(total[-2]) == sum(a["state"] == "on" for a in analysis.alerts)
    supraventricular, ventricular = int(total[5]), int(total[6])
    assert supraventricular > 20, "the tachycardia begins suddenly"
    assert 0 < ventricular <= annotations.beat_class.count("V")


def test_the_page_has_no_external_resource_and_escapes_the_name_of_the_recording(report: Path) -> None:
    html, page = report.read_text(encoding="utf-8"), parsed(report)
    assert page.sources == []
    assert [link for link in page.links if not link.startswith("#")] == []
    styles = "".join(re.findall(r"<style>.*?</style>", html, re.DOTALL))
    assert len(styles) > 1000
    assert re.findall(r"@import|url\(", styles) == []
    assert '<script>alert("1")' not in html
    assert "bed &lt;script&gt;alert" in html
    assert page.tags["link"] == 0


def test_a_strip_is_drawn_for_each_event_with_its_beats_and_annotations(report: Path, analyzed: Any) -> None:
    study = study_of(*analyzed[:2], load_model(), analyzed[2])
    events = [event for kind in kinds_of(study) for event in kind.events]
    html = report.read_text(encoding="utf-8")
    strips = re.findall(r'<figure id="strip-(\d+)">.*?</figure>', html, re.DOTALL)
    assert [int(k) for k in strips] == list(range(len(events)))
    event = next(e for e in events if e.episode is not None and e.episode.rule == "asystole")
    drawing = re.search(rf'<figure id="strip-{events.index(event)}">.*?</figure>', html, re.DOTALL)
    assert drawing is not None
    stop = event.first + round(7.5 * event.rows * study.recording.rate_hz)
    assert drawing.group().count('class="beat"') == int(((study.sample >= event.first) & (study.sample < stop)).sum())
    at = analyzed[2].beat
    assert drawing.group().count("annotated'") == int(((at >= event.first) & (at < stop)).sum())


def test_a_recording_without_beats_has_a_report(tmp_path: Path) -> None:
    recording = Recording("flat", 250.0, ("II",), 0.0, np.zeros((1, 5000), np.int16))
    written = write_report(recording, analyze(recording), tmp_path / "flat.html")
    report = parsed(written.path)
    assert body_rows(report, "hours")[-1][1] == "0"
    text = written.path.read_text(encoding="utf-8")
    assert text.count("There are too few beats for this figure.") == 5
    linked = re.findall(r'<a href="#([a-z]+)">', text)
    assert [name for name in linked if f'<section id="{name}">' not in text] == []
