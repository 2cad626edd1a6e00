"""The record of a recording: its samples, rate and leads, and how a lead is selected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from beatwire.errors import UserError
from beatwire.recordings.arguments import number
from beatwire.records import I16
from beatwire.tables import array_module

NO_VALUE = -32768  # a sample without a value, in int16
MAX_LEADS = 12  # the wire format carries 1-12 leads
MIN_RATE_HZ = 50.0  # the range of sampling rates of the wire format
MAX_RATE_HZ = 4000.0


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

    def pick(self, *leads: str | int) -> Recording:
        """Return the recording with these leads only: ``first``, names, or numbers counted from 0.

        Raises
        ------
        UserError
            There is no such lead; the message lists the leads.
        """
        rows = [find_lead(self.name, self.leads, lead) for lead in leads]
        kept = self.samples if rows == list(range(len(self.leads))) else self.samples[rows]
        return replace(
            self, leads=tuple(self.leads[r] for r in rows), samples=array_module(kept).ascontiguousarray(kept)
        )


def find_lead(where: str, leads: Sequence[str], requested: str | int, kind: str = "lead") -> int:
    """Return the index of a lead, given by its name, by its number from 0, or as ``first``.

    A name takes precedence over a number. Case is ignored unless two names differ only in case.

    Parameters
    ----------
    where, kind
        For the error message: the file or recording, and what is listed (``lead`` or ``column``).

    Raises
    ------
    UserError
        There is no such lead.
    """
    text = str(requested).strip()
    if text in leads:
        return list(leads).index(text)
    folded = [name.casefold() for name in leads]
    if folded.count(text.casefold()) == 1:
        return folded.index(text.casefold())
    if text == "first":
        return 0
    if text.isdecimal() and int(text) < len(leads):
        return int(text)
    choices = ", ".join(f"{k} {name!r}" for k, name in enumerate(leads[:30])) + (", ..." if len(leads) > 30 else "")
    raise UserError(f"{where}: expected one of its {kind}s, {choices}; got {text!r}")


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Append a number to repeated names.

    >>> unique_names(["II", "V1", "II"])
    ('II', 'V1', 'II.1')
    """
    return tuple(n if names.index(n) == k else f"{n}.{names[:k].count(n)}" for k, n in enumerate(names))


def check_rate(where: str, rate_hz: Any) -> float:
    """Return the sampling rate if it is 50-4000 Hz, the range of the wire format.

    Raises
    ------
    UserError
        The rate is out of range; the message begins with ``where``.
    """
    expected = f"a rate of {MIN_RATE_HZ:g}-{MAX_RATE_HZ:g} Hz"
    return number(where, rate_hz, expected, MIN_RATE_HZ, MAX_RATE_HZ)
