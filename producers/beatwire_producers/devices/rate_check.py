"""Whether the times of packets show the sampling rate that is stated, or was measured.

In:  packets with their device times
Out: an error where they show another rate
"""

from collections.abc import Callable

import numpy as np
from beatwire.errors import UserError
from beatwire.records import F64, I64

from beatwire_producers.devices.rates import OTHER, earliest_hz

_COMPARED, _COMPARED_S, _MOST_COMPARED = 64, 8.0, 20_000  # packets; seconds; packets of a clock that does not run
_NOTED, _TIMES = 0.01, 3  # so far from the stated rate it is said, if device times show it so often in a row


class OtherRateError(UserError):
    """The times of packets show another rate than the one that is stated, or was measured."""


class RateCheck:
    """Compares the times of packets with the stated rate.

    Parameters
    ----------
    where, is_stated
        The stream, and whether its rate was stated or measured: for the error.
    note
        Called with a sentence where another rate is near enough to go on.

    Attributes
    ----------
    rate_hz : float
        The stated rate.
    """

    def __init__(self, where: str, note: Callable[[str], None], *, is_stated: bool) -> None:
        self._where, self._note, self._is_stated = where, note, is_stated
        self.rate_hz = 0.0
        self._packets: list[tuple[int, int, float]] = []  # index, or -1; samples; time
        self._side = 0  # 1: in the last comparison the rate was higher than the stated one; -1: lower
        self._near = 0  # the same of the rate that is said; so many comparisons

    def add(self, size: int, index: int | None, time_s: float, *, is_stamped: bool) -> None:
        """Add a packet of so many samples, with its index if the device counts; ``is_stamped``: by its own clock.

        Raises
        ------
        OtherRateError
            The steps from packet to packet, all of them together, and the packets that came earliest show another rate
            than the stated one, twice: so it is not that packets were late.
        """
        packets = self._packets
        packets.append((-1 if index is None else index, size, time_s))
        span_s = time_s - packets[0][2]
        if len(packets) < _COMPARED or span_s < _COMPARED_S:
            if span_s < 0 or len(packets) >= _MOST_COMPARED:
                packets.clear()
            return
        indices, counts, times = (np.array(column) for column in zip(*packets, strict=True))
        packets.clear()
        samples = np.diff(indices) if index is not None and indices.min() >= 0 else counts[:-1]
        if samples.min() < 0:  # a count has begun again
            return
        at, half = np.concatenate([[0], samples.cumsum()]), len(times) // 2
        steps_hz = _usual_hz(samples, np.diff(times))
        far, took_s = at[half:] - at[:-half], times[half:] - times[:-half]
        all_hz = _usual_hz(far, took_s)  # each time may be wrong
        mean_hz = _usual_hz(far.sum(keepdims=True), took_s.sum(keepdims=True))  # all of them may be rounded
        shown = steps_hz, all_hz, mean_hz, earliest_hz(at, times)
        side = self._side_of(shown, OTHER)
        before, self._side = self._side, side
        if side and side == before:
            stated = "stated" if self._is_stated else "measured"
            raise OtherRateError(
                f"{self._where}: expected {self.rate_hz:g} samples a second, as {stated}; its times give {all_hz:.4g}"
            )
        near = self._side_of(shown, _NOTED) if is_stamped and self._is_stated else 0
        self._near = near + (self._near if near * self._near > 0 else 0)
        if abs(self._near) == _TIMES:
            self._note(
                f"its times give {all_hz:.4g} samples a second, {self.rate_hz:g} are stated: heart rates may be "
                f"{abs(self.rate_hz / all_hz - 1):.1%} too {'low' if near > 0 else 'high'} (--fs)"
            )

    def _side_of(self, shown: tuple[float, ...], apart: float) -> int:
        """Return 1 if all rates are higher than the stated one by a share of it, -1 if they are lower, else 0."""
        return int(min(shown) > (1 + apart) * self.rate_hz) - int(max(shown) < (1 - apart) * self.rate_hz)


def _usual_hz(samples: I64, took_s: F64) -> float:
    """Return the usual rate of stretches; infinite if most take no time, as by a clock of whole seconds."""
    step_s = float(np.median(took_s / np.maximum(samples, 1)))
    return 1.0 / step_s if step_s > 0 else np.inf
