"""The result of ``beatwire.analyze``: tables, a summary and a picture."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from beatwire.api.notes import on_stderr
from beatwire.api.summary import summary_html, summary_text
from beatwire.model.storage import model_files
from beatwire.offline.analyze import Analysis
from beatwire.offline.results.exports import alerts_table, beats_table, write_alerts, write_beats
from beatwire.offline.results.files import check_out
from beatwire.offline.results.quality import quality_table
from beatwire.offline.results.summary import summarize
from beatwire.recordings import Recording
from beatwire.recordings.arguments import file_path, number
from beatwire.recordings.files import source_files
from beatwire.tables import host_array

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """Beats, alerts and signal quality of a recording.

    recording    the samples that were analyzed, int16 [leads, n], with rate, leads and scale
    analysis     the columns of beats and the alert transitions as the graph emitted them
    took_s       computing time in seconds, without reading
    source       the path that was analyzed; None: numbers in memory
    scored_with  the model file; None: the one in the package
    """

    recording: Recording
    analysis: Analysis
    took_s: float
    source: str | None = None
    scored_with: Path | None = None

    @cached_property
    def beats(self) -> pd.DataFrame:
        """The beats, one row each, with the columns of ``beatwire analyze --out``.

        ``sample`` is the index of R; times are in seconds, ``rr_ms`` in milliseconds, ``rate_bpm`` in beats per minute;
        ``quality`` is the probability that it is a heartbeat, up to 1 % less in a disturbance; ``score`` 2 means that 1
        in 100 normal beats looks as strange. docs/how-to/python.md describes every column.
        """
        return beats_table(self.analysis.beats, self.recording.rate_hz)

    @cached_property
    def alerts(self) -> pd.DataFrame:
        """The transitions of alerts in order, one row each; ``state`` is on, latched or off; ``onset`` a sample."""
        return alerts_table(self.analysis.alerts, self.recording.rate_hz)

    @cached_property
    def quality(self) -> pd.DataFrame:
        """The signal quality, one row for every ten seconds; see ``beatwire.offline.results.quality.quality_table``."""
        return pd.DataFrame(self._quality)

    @property
    def model(self) -> str:
        """Version and hash of the scoring model."""
        return self.analysis.model

    @property
    def fs(self) -> float:
        """Sampling rate in Hz."""
        return self.recording.rate_hz

    @property
    def leads(self) -> tuple[str, ...]:
        """Names of the leads that were analyzed."""
        return self.recording.leads

    def signal(self, start_s: float = 0.0, seconds: float | None = None) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return a stretch of the signal, float64 [leads, n], NaN where there is no value.

        In millivolts; of a recording that is not calibrated in the steps of ``recording.samples``, whose offset and
        size ``recording.notes`` has.

        Raises
        ------
        UserError
            The stretch is no number of seconds.
        """
        start_s = number("signal: start_s", start_s, "a number of seconds of at least 0", 0.0)
        length_s = self.recording.seconds
        first = round(min(start_s, length_s) * self.fs)
        if seconds is not None:
            seconds = number("signal: seconds", seconds, "a number of seconds of at least 0", 0.0)
        last = None if seconds is None else first + round(min(seconds, length_s) * self.fs)
        samples = host_array(self.recording.samples[:, first:last])
        scale = self.recording.uv_per_unit / 1000 or 1.0
        return np.where(samples == -32768, np.nan, samples * scale)

    def plot(self, start_s: float = 0.0, seconds: float = 10.0) -> Figure:
        """Return a figure of a stretch: the leads on ECG paper, its beats and alerts. Needs matplotlib.

        Parameters
        ----------
        start_s, seconds
            Begin and length of the stretch, in seconds.

        Raises
        ------
        UserError
            The stretch is not within the recording.
        """
        from beatwire.api.plot import plot

        return plot(self.recording, self.signal, self.beats, self.alerts, start_s, seconds)

    def report(self, path: str | Path, *, annotations: str | None = None) -> Path:
        """Write the report, one HTML file, and return its path. Needs the extra ``report``.

        The annotations of a WFDB record are shown beside its beats: those of its file ``.atr``, if there is one, or of
        the file with the ending ``annotations``.

        Raises
        ------
        UserError
            The file cannot be written or is that of the recording, the extra is missing, or there are no annotations of
            that ending.
        """
        from beatwire.report.annotations import annotations_of
        from beatwire.report.files import check_report
        from beatwire.report.write import write_report

        found = None if self.source is None else annotations_of(self.source, self.recording, on_stderr, annotations)
        checked = check_report(file_path("report", path), self._files, option="report")
        return write_report(
            self.recording, self.analysis, checked, annotations=found, model=self.scored_with, option="report"
        ).path

    def save(self, path: str | Path) -> Path:
        """Write the beats in the format that the ending selects (.csv, .parquet, .atr), the alerts beside them.

        Raises
        ------
        UserError
            The path cannot be written, or is that of the recording.
        """
        checked = check_out(file_path("save", path), self._files, option="save")
        written = write_beats(checked, self.analysis.beats, rate_hz=self.fs, option="save")
        write_alerts(written, self.analysis.alerts, option="save")
        return written

    def __repr__(self) -> str:
        """Return the summary that ``beatwire analyze`` prints."""
        return summary_text(self._printed)

    def _repr_html_(self) -> str:
        """Return the summary as a table, for notebooks."""
        return summary_html(self._printed)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Rates, intervals, alerts by rule and signal quality; see ``beatwire.offline.results.summary.summarize``."""
        return summarize(self.recording, self.analysis, self._quality)

    @property
    def _files(self) -> list[Path]:
        """Return the files that were read."""
        return [*([] if self.source is None else source_files(self.source)), *model_files(self.scored_with)]

    @cached_property
    def _quality(self) -> dict[str, Any]:
        return quality_table(self.recording, self.analysis.beats)

    @property
    def _printed(self) -> dict[str, Any]:
        return {"source": self.source or self.recording.name, **self.summary, "took_s": self.took_s}
