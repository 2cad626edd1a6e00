"""Strips on ECG paper: the signal around an event, the decisions above it, the response of the detector below it.

In:  Study, events
Out: an SVG for each event

Above the trace: a mark for each beat with its interval to the one before (ms), its class if it is not N,
and the annotated classes where the record has them. Below: the response of the detection filter, to its own scale.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from beatwire.offline.results.clock import clock
from beatwire.recordings import NO_VALUE
from beatwire.records import F64
from beatwire.report.events import ROW_S, Event
from beatwire.report.figures.paper import MM_PER_S, WIDTH_MM, Room, Scale, enlarged, grid, lead_trace, text, trace
from beatwire.report.figures.response import responses_of
from beatwire.report.study import Study

MOST_LEADS = 3  # drawn in a strip
BEFORE_S, AFTER_S = 12.0, 0.5  # filtered around a strip: its levels look back that far, its end depends on more samples
_CLOCK_MM = 20.0  # of the time below a row
_LETTER_MM, _WIDEST_LETTER_MM = 1.6, 2.2  # width of a letter; of a bold one
_ANNOTATED_MM, _DECIDED_MM, _RESPONSE_MM, _TIME_MM = 4.0, 7.0, 9.0, 4.5


class Strips:
    """Draws the strips of a study."""

    def __init__(self, study: Study, scale: Scale) -> None:
        self.study, self.scale = study, scale
        self.leads = min(MOST_LEADS, len(study.recording.leads))
        self.row_samples = round(ROW_S * study.recording.rate_hz)
        self.marks = marks_of(study)
        self.annotated_mm = _ANNOTATED_MM if study.annotated else 0.0

    def draw(self, events: Sequence[Event]) -> list[str]:
        """Return the drawing of each event."""
        by_rows: dict[int, list[int]] = {}
        for k, event in enumerate(events):
            by_rows.setdefault(event.rows, []).append(k)
        drawn = [""] * len(events)
        for rows, numbers in by_rows.items():
            responses = self._responses([events[k] for k in numbers], rows)
            for k, response in zip(numbers, responses, strict=True):
                drawn[k] = self._strip(k, events[k], response)
        return drawn

    def _responses(self, events: list[Event], rows: int) -> F64:
        """Return the responses of strips of equal length, float64 [strips, samples]."""
        recording = self.study.recording
        rate_hz, samples = recording.rate_hz, recording.samples
        before, after = round(BEFORE_S * rate_hz), round(AFTER_S * rate_hz)
        length = rows * self.row_samples
        index = np.array([e.first for e in events])[:, None] + np.arange(-before, length + after)
        around = samples[:, np.clip(index, 0, samples.shape[1] - 1)].transpose(1, 0, 2)
        return responses_of(_held(around), rate_hz, recording.uv_per_unit)[:, before : before + length]

    def _strip(self, number: int, event: Event, response: F64) -> str:
        rooms = self._rooms(event)
        leads_mm = sum(room.height for room in rooms)
        row_mm = self.annotated_mm + _DECIDED_MM + leads_mm + _RESPONSE_MM + _TIME_MM
        height = event.rows * row_mm
        top = max(1.0, float(np.nanmax(response)) if np.isfinite(response).any() else 1.0)
        rows = []
        for k in range(event.rows):
            part = slice(k * self.row_samples, (k + 1) * self.row_samples)
            rows.append(
                self._row(f"s{number}r{k}", k * row_mm, rooms, event, event.first + part.start, response[part] / top)
            )
        return (
            f'<svg class="paper" width="{WIDTH_MM}mm" viewBox="0 0 {WIDTH_MM} {height:g}" role="img" '
            f'aria-label="ECG strip">{"".join(rows)}</svg>'
        )

    def _rooms(self, event: Event) -> list[Room]:
        """Return the grid of each lead of a strip."""
        shown = self.study.recording.samples[: self.leads, event.first : event.first + event.rows * self.row_samples]
        rooms = self.scale.rooms[: self.leads]
        return [enlarged(room, lead, self.scale.mm_per_unit) for room, lead in zip(rooms, shown, strict=True)]

    def _row(self, name: str, y: float, rooms: list[Room], event: Event, first: int, response: F64) -> str:
        """Return one row of a strip: decisions, leads, response and time."""
        recording, scale = self.study.recording, self.scale
        rate_hz, n = recording.rate_hz, recording.samples.shape[1]
        stop = min(n, first + self.row_samples)
        if stop <= first:
            return ""
        paper = y + self.annotated_mm + _DECIDED_MM
        parts, bottom = [], paper
        for lead, room in enumerate(rooms):
            clip = f"{name}l{lead}"
            points = lead_trace(recording.samples[lead, first:stop], scale, rate_hz, bottom + room.above)
            parts += [grid(clip, 0, bottom, WIDTH_MM, room.height), trace(*points, "ecg", clip)]
            parts.append(text(1, bottom + 4, recording.leads[lead], "lead"))
            bottom += room.height
        parts.append(self._response(response[: stop - first], f"{name}f", bottom))
        parts.append(self._beats(first, stop, paper))
        parts.append(self._annotations(first, stop, y, bottom + _RESPONSE_MM))
        if first <= event.at < stop and event.mark is not None:
            x = (event.at - first) * MM_PER_S / rate_hz
            parts.append(f'<path class="onset" d="M{x:.2f} {paper:g}V{bottom + _RESPONSE_MM:g}"/>')
            parts.append(text(x + 0.8, bottom - 1, event.mark, "small"))
        parts.append(text(0, bottom + _RESPONSE_MM + 3.2, clock(first / rate_hz, 1), "time"))
        return "".join(parts)

    def _response(self, response: F64, name: str, y: float) -> str:
        x = np.arange(len(response)) * (MM_PER_S / self.study.recording.rate_hz)
        clip = f'<clipPath id="{name}"><rect x="0" y="{y:g}" width="{WIDTH_MM}" height="{_RESPONSE_MM}"/></clipPath>'
        line = trace(x, y + _RESPONSE_MM - 0.4 - (_RESPONSE_MM - 1.2) * response, "response", name)
        return clip + line + text(1, y + 3, "response", "small")

    def _beats(self, first: int, stop: int, paper: float) -> str:
        """Return the marks of the beats of a row, with intervals, and what ``marks_of`` says of them."""
        study = self.study
        rows = range(*np.searchsorted(study.sample, [first, stop]).tolist())
        rr_ms = study.beats["rr_ms"]
        parts = []
        for row in rows:
            x = (int(study.sample[row]) - first) * MM_PER_S / study.recording.rate_hz
            parts.append(f'<path class="beat" d="M{x - 0.8:.2f} {paper - 2.2:.2f}h1.6l-.8 1.6z"/>')
            if self.marks[row]:
                parts.append(text(_inside(x, self.marks[row]), paper - 2.9, self.marks[row], "kind"))
            if row > rows.start and np.isfinite(rr_ms[row]):
                half = rr_ms[row] / 2000 * MM_PER_S
                parts.append(text(x - half, paper - 0.9, f"{rr_ms[row]:.0f}", "rr"))
        return "".join(parts)

    def _annotations(self, first: int, stop: int, y: float, below: float) -> str:
        """Return the annotated classes above a row, from ``y`` on, and the rhythms ``below`` it."""
        annotations = self.study.annotations
        if annotations is None:
            return ""
        rate_hz = self.study.recording.rate_hz
        low, high = np.searchsorted(annotations.beat, [first, stop]).tolist()
        parts = []
        for k in range(low, high):
            x, letter = (int(annotations.beat[k]) - first) * MM_PER_S / rate_hz, annotations.beat_class[k]
            parts.append(text(_inside(x, letter), y + 3.2, letter, "annotated"))
        shown = [r for r in annotations.rhythms if r.first < stop and r.last >= first]
        free = _CLOCK_MM
        for k, rhythm in enumerate(shown):
            x = max(free, (rhythm.first - first) * MM_PER_S / rate_hz)
            label = f"annotated: ({rhythm.name}" if k == 0 else f"({rhythm.name}"
            parts.append(text(x, below + 3.2, label, "rhythm"))
            free = x + _LETTER_MM * (len(label) + 1)
        return "".join(parts)


def _inside(x: float, label: str) -> float:
    """Return the middle of a label at ``x``, so far from the edges of the paper that it is not cut."""
    half = _WIDEST_LETTER_MM * len(label) / 2
    return min(max(x, half), WIDTH_MM - half)


def marks_of(study: Study) -> list[str]:
    """Return what is written above each beat: its class, unless it is N."""
    return ["" if name == "N" else str(name) for name in study.beats["beat_class"]]


def _held(samples: Any) -> Any:
    """Return samples [.., n] whose missing values are replaced by the value before them."""
    missing = samples == NO_VALUE
    if not missing.any():
        return np.ascontiguousarray(samples)
    last = np.maximum.accumulate(np.where(missing, 0, np.arange(samples.shape[-1])), axis=-1)
    held = np.take_along_axis(samples, last, axis=-1)
    held[held == NO_VALUE] = 0
    return held
