"""The report of a short example: three minutes with a pause and a tachycardia; its tables, read from the page."""

from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beatwire.evaluation.records import AnnotatedRecord, Rhythm
from beatwire.offline.analyze import Analysis, analyze
from beatwire.recordings import NO_VALUE, Recording
from beatwire.recordings.synthetic.person import synthesise
from beatwire.recordings.synthetic.rhythm import ASYSTOLE, TACHYCARDIA, Event
from beatwire.report.write import Written, write_report

NAME = 'bed <script>alert("1")</script> & co'
SECONDS = 180

Example = tuple[Recording, Analysis, AnnotatedRecord]


def example() -> Example:
    """Analyze three minutes with a pause of six seconds and a tachycardia, and the true beats as annotations."""
    events = [Event(ASYSTOLE, 60.0, 66.0), Event(TACHYCARDIA, 100.0, 130.0)]
    made = synthesise(7, name=NAME, seconds=SECONDS, events=events, ectopy=0.04)
    recording = made.recording
    recording.samples[:, 2500:2600] = NO_VALUE
    classes = tuple("V" if wide else "N" for wide in made.wide)
    rhythms = (Rhythm("N", 0, recording.samples.shape[1] - 1),)
    annotations = AnnotatedRecord(recording, made.beats, classes, np.zeros((0, 2), np.int64), rhythms)
    return recording, analyze(recording), annotations


@pytest.fixture(scope="module", name="analyzed")
def example_fixture() -> Example:
    return example()


def written(example: Example, folders: pytest.TempPathFactory, **options: Any) -> Written:
    """Write the report of the example into a new folder."""
    recording, analysis, annotations = example
    path = folders.mktemp("report") / "report.html"
    return write_report(recording, analysis, path, annotations=annotations, **options)


class Tables(HTMLParser):
    """Collects the rows of tables by section, the ids and the internal links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.section, self.cell = "", False
        self.rows: dict[str, list[list[str]]] = {}
        self.ids: list[str] = []
        self.links: list[str] = []
        self.sources: list[str] = []
        self.tags: Counter[str] = Counter()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        given = dict(attrs)
        self.tags[tag] += 1
        if "id" in given:
            self.ids.append(given["id"])
        if "src" in given:
            self.sources.append(given["src"])
        if tag == "section":
            self.section = given["id"]
        if tag == "a":
            self.links.append(given["href"])
        if tag == "tr":
            self.rows.setdefault(self.section, []).append([])
        if tag == "td":
            self.rows[self.section][-1].append("")
            self.cell = True

    def handle_endtag(self, tag: str) -> None:
        self.cell = self.cell and tag != "td"

    def handle_data(self, data: str) -> None:
        if self.cell:
            self.rows[self.section][-1][-1] += data


def parsed(path: Path) -> Tables:
    page = Tables()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def body_rows(page: Tables, section: str) -> list[list[str]]:
    return [row for row in page.rows[section] if row]
