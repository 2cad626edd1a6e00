"""Samples of a message of MQTT: one list a lead, or one list a moment.

In:  samples [lists, values], and the names of the leads, where somebody states them
Out: samples [leads, n]; notes where the numbers do not fit what is stated
State: the streams with a list a moment; how much the first samples of each topic change in both directions
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from beatwire.recordings.record import MAX_LEADS

MOMENTS, LEADS = "moments", "leads"
_JUDGED, _ROUGHER = 1000, 3.0  # samples; by so much they change less from list to list than along one


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
        self._changes: dict[str, tuple[int, float, float]] = {}  # values; change along lists, and from list to list

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
        if min(lists, values) > 1:
            self._judge(stream, samples)
        return samples

    def _judge(self, stream: str, samples: Any) -> None:
        """Note that lists seem to be moments: the first samples change less from list to list than along one."""
        size, along, across = self._changes.get(stream, (0, 0.0, 0.0))
        if size >= _JUDGED:
            return
        lists, values = samples.shape
        size += samples.size
        along += float(np.nansum(np.abs(np.diff(samples.astype(float), axis=1)))) / (lists * (values - 1))
        across += float(np.nansum(np.abs(np.diff(samples.astype(float), axis=0)))) / (values * (lists - 1))
        self._changes[stream] = size, along, across
        if size >= _JUDGED and along > _ROUGHER * across > 0:
            self._note(
                f"{stream}: its samples jump along a list, and hardly from list to list: one list a moment? "
                "(lists=moments in the address)"
            )
