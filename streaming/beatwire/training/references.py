"""Run the references of alarms through the graph: the beats of each record, with its annotations and comments.

In:  records (``evaluation.bedside``), and recordings of noise
Out: :class:`Reference`

A record that a shipped model was trained on is processed by its companion. A graph is kept for further records.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from beatwire.evaluation.bedside.folders import find_references
from beatwire.evaluation.bedside.watched import comments_of, ecg_leads
from beatwire.evaluation.records import AnnotatedRecord, annotate
from beatwire.evaluation.streamed import Streamed
from beatwire.offline.analyzer import Analyzer
from beatwire.pipeline.nodes import Stream
from beatwire.pipeline.parts import Alerting
from beatwire.recordings import read_recording
from beatwire.recordings.wfdb.annotations import ENDING, annotation_file
from beatwire.records import TickBeats


class Reference(NamedTuple):
    """A record that was run; ``samples`` per lead, ``tick`` has all its beats."""

    path: Path
    samples: int
    rate_hz: float
    annotated: AnnotatedRecord | None
    comments: tuple[str, ...]
    tick: TickBeats


def reference_paths(folders: Iterable[Path], noise: Iterable[Path], ending: str = ENDING) -> list[Path]:
    """Return the records of folders, and recordings of noise, without suffix; ``ending`` is that of annotations."""
    return [path for folder in folders for path in find_references(folder, ending=ending)] + [
        p.with_suffix("") for p in noise
    ]


def run_references(
    paths: Iterable[Path],
    node_of: Callable[[Alerting], Stream],
    fixed: dict[str, Any],
    changed: dict[str, Any],
    ending: str = ENDING,
) -> Iterator[Reference]:
    """Run each record; yield the beats that a node emits.

    Parameters
    ----------
    paths
        Records without suffix.
    node_of
        Returns the node.
    fixed
        Models of :class:`Streamed` that are the same for all records.
    changed
        Settings that differ from those of :class:`Streamed`.
    ending
        Of the annotation files.
    """
    shipped = Streamed()
    held_out = shipped.held_out()
    analyzers: dict[Streamed, tuple[Analyzer, list[TickBeats]]] = {}
    for path in paths:
        recording = ecg_leads(read_recording(path.with_name(f"{path.name}.hea")))
        n = recording.samples.shape[1]
        graph = replace(held_out.get((recording.name, n), shipped), **fixed)
        if graph not in analyzers:
            analyzer = Analyzer(replace(graph.settings(), **changed))
            analyzers[graph] = analyzer, []
            analyzer.alerting.subscribe(node_of(analyzer.alerting), analyzers[graph][1].append)
        analyzer, ticks = analyzers[graph]
        analyzer.analyze(recording, "train")
        tick = ticks.pop()
        ticks.clear()
        annotated = annotate(recording, path, ending) if annotation_file(path, ending).exists() else None
        yield Reference(path, n, recording.rate_hz, annotated, comments_of(path), tick)
