"""Samples of a message of MQTT: one list a lead, or one list a moment.

In:  samples [lists, values], and the names of the leads, where somebody states them
Out: samples [leads, n]; notes where the numbers do not fit what is stated
State: the streams with a list a moment; how much the first samples of each stream change, read in either way
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from beatwire.recordings.readers.objects import change_along
from beatwire.recordings.record import MAX_LEADS

MOMENTS, LEADS = "moments", "leads"
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
