"""Samples of a message of MQTT: one list a lead, or one list a moment.

In:  samples [lists, values], and the names of the leads, where somebody states them
Out: samples [leads, n]; notes where the numbers do not fit what is stated
State: the streams with a list a moment; how much the first samples of each stream change, read in either way, and which
of its rows have risen evenly so far
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from beatwire.recordings.readers.objects import change_along
from beatwire.recordings.record import MAX_LEADS

MOMENTS, LEADS = "moments", "leads"
_UNSIGNED = 65535
_FEWEST, _CLOCK = 4, 64  # samples: of a message, and of those by which a row is a clock
_EVENLY = 2.5  # times the usual step of a clock is more than any of its steps
_JUDGED, _ROUGHER = 1000, 3.0  # samples; by so much they change less from list to list than along one


class Readings:
    """Ways to read samples, of which the right one changes the first samples least.

    Parameters
    ----------
    names
        Of the ways; the first is the one in use.
    rougher
        By so much another has to change them less.
    """

    def __init__(self, names: Sequence[str], rougher: float) -> None:
        self._own, self._rougher, self._judged = names[0], rougher, 0
        self._changes = dict.fromkeys(names, 0.0)

    def better(self, count: int, change: Callable[[str], float]) -> str | None:
        """Return, once, the way that changes the first samples much less than the one in use; None: there is none.

        Parameters
        ----------
        count
            Of the samples that have come.
        change
            Returns how much they change in a way; called for the first samples only.
        """
        if self._judged >= _JUDGED:
            return None
        self._judged += count
        for name in self._changes:
            self._changes[name] += change(name)
        least = min(self._changes, key=self._changes.__getitem__)
        is_better = self._changes[self._own] > self._rougher * self._changes[least] > 0
        return least if self._judged >= _JUDGED and is_better else None


class Shapes:
    """Turns samples into those of leads.

    Parameters
    ----------
    lists
        ``moments``: a list is a moment; ``leads``: a list is a lead; empty: found out.
    note
        Called with what is assumed.
    """

    def __init__(self, lists: str, note: Callable[[str], None]) -> None:
        self._lists, self._note = lists, note
        self._by_moment: set[str] = set()
        self._readings: dict[str, Readings] = {}  # of streams
        self._last: dict[str, Any] = {}  # the samples of their last messages
        self._rising: dict[str, tuple[int, list[int]]] = {}  # the samples of streams, and their rows that rise

    def of_leads(self, stream: str, samples: Any, stated: int) -> Any:
        """Return samples [leads, n]; ``stated`` is the number of leads that have names, 0 if none has.

        A list a moment has as many values as there are leads; where nobody states them, more lists than leads can be.
        """
        lists, values = samples.shape
        if self._lists:
            return samples.T if self._lists == MOMENTS else samples
        if stated and lists != stated:
            return samples.T if values == stated else samples
        if not stated and lists > MAX_LEADS >= values and stream not in self._by_moment:
            self._by_moment.add(stream)
            self._note(f"{stream}: {lists} lists of {values} are taken as moments of {values} leads")
        if stream in self._by_moment:
            return samples.T
        if min(lists, values) > 1 or (not stated and 1 < values <= MAX_LEADS):
            self._judge(stream, samples)
        return samples

    def rising(self, stream: str, samples: Any) -> int | None:
        """Return a row of several, [leads, n], that rises evenly from the beginning on: a clock or a count."""
        is_sure = self._lists or stream in self._by_moment or samples.shape[1] > MAX_LEADS
        if not is_sure or samples.shape[1] < _FEWEST:
            return None
        seen, rows = self._rising.get(stream, (0, list(range(len(samples)))))
        rows = [k for k in rows if k < len(samples) > 1 and _rises(samples[k])]
        self._rising[stream] = seen + samples.shape[1], rows
        return rows[0] if rows and seen >= _CLOCK else None

    def check_signs(self, stream: str, samples: Any) -> None:
        """Note that negative samples seem to be written as positive ones of 16 bits, as registers are."""
        if samples.dtype.kind not in "iu" or samples.min() < 0 or samples.max() > _UNSIGNED:
            return
        kinds = {"uint16": samples, "int16": samples.astype(np.uint16).view(np.int16)}
        readings = self._readings.setdefault(f"{stream} signs", Readings(("uint16", "int16"), _ROUGHER))
        if readings.better(samples.size, lambda kind: float(np.abs(np.diff(kinds[kind].astype(np.int64))).sum())):
            self._note(f"{stream}: its samples jump between 0 and {_UNSIGNED}: negative numbers without their sign?")

    def _judge(self, stream: str, samples: Any) -> None:
        """Note that lists seem to be moments: the first samples change less from list to list than along one.

        A list alone is compared with that of the message before.
        """
        before, self._last[stream] = self._last.get(stream), samples
        several = samples
        if len(samples) == 1:
            if before is None or before.shape != samples.shape:
                return
            several = np.concatenate([before, samples])

        readings = self._readings.setdefault(stream, Readings((LEADS, MOMENTS), _ROUGHER))
        if readings.better(samples.size, lambda lists: change_along(several, 1 if lists == LEADS else 0)):
            self._note(
                f"{stream}: its samples jump along a list, and hardly from list to list: one list a moment? "
                "(lists=moments in the address)"
            )


def _rises(row: Any) -> bool:
    """Return True if numbers rise in about equal steps."""
    steps = np.diff(row)
    return len(steps) > 0 and bool((steps > 0).all() and steps.max() <= _EVENLY * np.median(steps))
