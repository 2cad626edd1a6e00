"""Which leads of a stream hum, by the last seconds of its trace.

In: Traces. Out: for each lead frequency and amplitude of its mains hum, or None. State: what was found last, by slot.

Whole windows are measured, counted from sample 0 of the session (``stages.support.hum``): how a stream was cut into
messages changes when something is said, not what.
"""

from beatwire.page.traces import RING_S, Traces
from beatwire.stages.support.hum import Sign, newest_hum, window_of

MOST_WINDOWS = 3  # the newest ones
MOST_AT_ONCE = 32  # streams that are measured for one message, while the ward is locked


class HumSigns:
    """What is shown of the hum of streams."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[tuple[int, int], list[Sign | None]]] = {}  # slot -> epoch and window, leads
        self._left = MOST_AT_ONCE

    def begin(self) -> None:
        """Begin a message."""
        self._left = MOST_AT_ONCE

    def of(self, traces: Traces, slot: int) -> list[Sign | None]:
        """Return ``hz`` and ``mv`` (peak; None: not calibrated) of each lead that hums; empty if none is known to."""
        rate_hz, stop, epoch = float(traces.rate_hz[slot]), int(traces.ints["stop"][slot]), traces.ints["epoch"][slot]
        width = window_of(rate_hz) if stop >= 0 else 0
        if not width:
            return []
        now = int(epoch), stop // width
        then, found = self._found.get(slot, (None, []))
        if then == now or self._left <= 0:
            return found if then is not None and then[0] == now[0] else []
        self._left -= 1
        windows = min(MOST_WINDOWS, int(RING_S * rate_hz) // width - 1)
        at, samples = traces.since(slot, (now[1] - windows) * width, int(traces.ints["leads"][slot]))
        found = newest_hum(samples, at, rate_hz, float(traces.uv_per_unit[slot]), windows)
        self._found[slot] = now, found
        return found
