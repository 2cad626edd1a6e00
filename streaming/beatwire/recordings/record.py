"""The record of a recording: its samples, rate and leads, and how a lead is selected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from beatwire.recordings.arguments import number
from beatwire.recordings.leads import find_lead
from beatwire.recordings.places import called
from beatwire.records import I16
from beatwire.tables import array_module

NO_VALUE = -32768  # a sample without a value, in int16
MAX_LEADS = 12  # the wire format carries 1-12 leads
MIN_RATE_HZ = 50.0  # the range of sampling rates of the wire format
MAX_RATE_HZ = 4000.0
LONGEST_GAP_S = 86400.0  # a day without samples is another recording


@dataclass(frozen=True)
class Recording:
    """One recording.

    name          of the file or record, without folder
    rate_hz       sampling rate, 50-4000 Hz
    leads         names of the 1-12 leads
    uv_per_unit   microvolts per unit of a sample; 0 if the source is not calibrated
    samples       int16 [leads, n], NumPy or CuPy; -32768 where there is no value
    notes         remarks about the conversion, one sentence each
    """

    name: str
    rate_hz: float
    leads: tuple[str, ...]
    uv_per_unit: float
    samples: I16
    notes: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """Length in seconds."""
        return float(self.samples.shape[1] / self.rate_hz)

    def say_notes(self, source: Any, say: Callable[[str], None]) -> None:
        """Pass on the notes, each with what errors call the source."""
        for note in self.notes:
            say(f"{called(source, self.name)}: {note}")

    def pick(self, *leads: str | int, where: str | None = None) -> Recording:
        """Return the recording with these leads only: ``first``, names, or numbers counted from 0.

        An error begins with ``where``, or the name of the recording.

        Raises
        ------
        UserError
            There is no such lead; the message lists the leads.
        """
        rows = [find_lead(where or self.name, self.leads, lead) for lead in leads]
        kept = self.samples if rows == list(range(len(self.leads))) else self.samples[rows]
        return replace(
            self, leads=tuple(self.leads[r] for r in rows), samples=array_module(kept).ascontiguousarray(kept)
        )


def check_rate(where: str, rate_hz: Any) -> float:
    """Return the sampling rate if it is 50-4000 Hz, the range of the wire format.

    Raises
    ------
    UserError
        The rate is out of range; the message begins with ``where``.
    """
    expected = f"a rate of {MIN_RATE_HZ:g}-{MAX_RATE_HZ:g} Hz"
    return number(where, rate_hz, expected, MIN_RATE_HZ, MAX_RATE_HZ)
