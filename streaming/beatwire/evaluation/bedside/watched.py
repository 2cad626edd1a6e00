"""Records of alarm folders, and the alarms of the graph on them.

In:  WFDB records with beats, rhythm marks, or comments in the header
Out: :class:`Watched`

The graph runs over all leads that are ECG, with the companion models of records that the shipped ones were trained on.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from beatwire.errors import UserError
from beatwire.evaluation.alarms import about_the_heart
from beatwire.evaluation.beats.detection import Alarm
from beatwire.evaluation.records import AnnotatedRecord, annotate
from beatwire.evaluation.streamed import Streamed, alarms_of
from beatwire.offline.analyzer import Analyzer
from beatwire.recordings import Recording, read_recording
from beatwire.recordings.wfdb.annotations import ENDING, annotation_file

PEOPLE = ("development", "held back", "all")
_PULSE_WAVES = ("pleth", "ppg", "abp", "art", "resp", "cvp", "pap")  # begin the names of leads that are no ECG


@dataclass(frozen=True)
class Watched:
    """A record and what the monitor announced.

    folder      name of the folder
    person      of the record, unique over folders
    rate_hz     sampling rate
    samples     per lead
    comments    lines of the header's comments
    alarms      decided before the end of the record, in order
    annotated   beats and rhythms; None without annotations
    """

    folder: str
    name: str
    person: str
    rate_hz: float
    samples: int
    comments: tuple[str, ...]
    alarms: tuple[Alarm, ...]
    annotated: AnnotatedRecord | None = None

    @property
    def hours(self) -> float:
        """Length in hours."""
        return self.samples / self.rate_hz / 3600.0

    def of_rule(self, *rules: str) -> list[Alarm]:
        """Return the alarms of these rules."""
        return [a for a in self.alarms if a.rule in rules]

    def physiological(self, *priorities: str) -> list[Alarm]:
        """Return the alarms about the heart with one of these priorities."""
        return about_the_heart(self.alarms, *priorities)


def classed(records: Sequence[Watched]) -> list[tuple[Watched, AnnotatedRecord]]:
    """Return the records whose annotated beats have classes, without paced ones; none if every beat of them is N."""
    found = [(r, r.annotated) for r in records if r.annotated is not None and not r.annotated.paced]
    return found if any(set(annotated.beat_class) - {"N"} for _, annotated in found) else []


def half_of(person: str) -> str:
    """Return ``development`` or ``held back``, by a hash of the person: the same in every run.

    >>> half_of("mitdb/100")
    'development'
    """
    return PEOPLE[zlib.crc32(person.encode()) & 1]


class Watcher:
    """Runs records through the graph, and keeps the memory of the graphs between them."""

    def __init__(self, graph: Streamed) -> None:
        self._graph = graph
        self._held_out: Mapping[tuple[str, int], Streamed] = graph.held_out()
        self._analyzers: dict[Streamed, Analyzer] = {}

    def watch_recording(self, recording: Recording) -> tuple[Alarm, ...]:
        """Return the alarms that are decided before the end of a recording."""
        n = recording.samples.shape[1]
        graph = self._held_out.get((recording.name, n), self._graph)
        if graph not in self._analyzers:
            self._analyzers[graph] = Analyzer(graph.settings(), None, graph.backend)
        alerts, _ = self._analyzers[graph].analyze(recording, "evaluate")
        return tuple(a for a in alarms_of(alerts.transitions, n) if a.decided < n)

    def watch(self, path: Path, ending: str = ENDING) -> Watched:
        """Run one record.

        Parameters
        ----------
        path
            Of the header, without its suffix.
        ending
            Of the annotation file.

        Raises
        ------
        UserError
            The record or its annotations cannot be read.
        """
        recording = ecg_leads(read_recording(path.with_name(f"{path.name}.hea")))
        has_annotations = annotation_file(path, ending).exists()
        annotated = annotate(recording, path, ending) if has_annotations else None
        folder = path.resolve().parent.name
        return Watched(
            folder=folder,
            name=path.name,
            person=person_of(path),
            rate_hz=recording.rate_hz,
            samples=recording.samples.shape[1],
            comments=comments_of(path),
            alarms=self.watch_recording(recording),
            annotated=annotated,
        )


def person_of(path: Path) -> str:
    """Return the person of a record: folder and record, MIT-BIH records 201 and 202 being one person."""
    folder = path.resolve().parent.name
    return f"{folder}/{'201' if folder == 'mitdb' and path.name == '202' else path.name}"


def comments_of(path: Path) -> tuple[str, ...]:
    """Return the lines of the comments of a header, without the number sign."""
    lines = path.with_name(f"{path.name}.hea").read_text(encoding="utf-8", errors="replace").splitlines()
    return tuple(line.lstrip("# ").strip() for line in lines if line.startswith("#"))


def ecg_leads(recording: Recording) -> Recording:
    """Return the recording without leads that are pulse waves or respiration, by their names.

    Raises
    ------
    UserError
        No lead remains.
    """
    kept = [k for k, name in enumerate(recording.leads) if not name.casefold().startswith(_PULSE_WAVES)]
    if not kept:
        raise UserError(f"{recording.name}: expected an ECG lead; got {', '.join(recording.leads)}")
    return recording if len(kept) == len(recording.leads) else recording.pick(*kept)
