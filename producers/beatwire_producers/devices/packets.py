"""The contract of a reader of devices.

A reader is a class with two methods. ``describe`` opens the device and returns what it sends, a `Description`;
``packets`` yields a `Packet` for each piece of signal as it arrives, until the device goes away. It says so by
`DeviceAwayError`, and is asked again after a pause: `describe` first. Whatever cannot be mended by waiting is a
UserError. A reader knows nothing of Kafka, sessions or lost packets: it passes on what the device states. It may have
``notes``, a list of lines to be said, ``unreadable``, the number of messages that it had to ignore, and ``rest``, which
returns at the end the packets that it has held back.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

EARLIEST_S, LATEST_S = 5e8, 4e9  # 1985 and 2096, since 1970: a clock that says less, or more, counts from another time
MOST_S = 1e12  # a time beyond is damaged: no clock says more


class DeviceAwayError(Exception):
    """The device does not answer, or not any more; the text is a short reason."""


@dataclass(frozen=True)
class Description:
    """What a device sends.

    stream     id of the stream, and Kafka key: 1-64 bytes of UTF-8, no patient data
    leads      names of the leads, 1-12
    rate_hz    sampling rate, 50-4000 Hz; None: the device does not state it, it is measured from the first packets
    uv         microvolts per value; 0: not calibrated; None: unknown, so fractions are millivolts
    per_count  samples for which ``Packet.count`` rises by 1; 1 where the device counts samples
    turn       after how many counts it begins again at 0; 0: it does not
    is_epoch   ``Packet.time_s`` are seconds since 1970; otherwise since anything
    """

    stream: str
    leads: tuple[str, ...] = ("ECG",)
    rate_hz: float | None = None
    uv: float | None = None
    per_count: int = 1
    turn: int = 0
    is_epoch: bool = False


@dataclass(frozen=True)
class Packet:
    """Consecutive samples of a device.

    samples    [leads, n], integers or floats; NaN: no value
    arrival_s  when it arrived, seconds since 1970, by :func:`arrival_s`
    time_s     when its first sample was taken, by the clock of the device; None: the device does not state it
    count      what the device counts, at the first sample; None: it counts nothing
    lead_off   bit l is set while lead l has no contact
    battery    charge in percent; None: unknown
    described  what is described, where a reader has several devices; None: what ``describe`` returned
    """

    samples: NDArray[Any]
    arrival_s: float
    time_s: float | None = None
    count: int | None = None
    lead_off: int = 0
    battery: int | None = None
    described: Description | None = None


class Placed(NamedTuple):
    """A packet with its place.

    session  number of the session: a device that counts anew begins another
    first    index of its first sample in the session
    time_us  device time of its first sample, microseconds since 1970
    packet   the packet; without samples that came before
    """

    session: int
    first: int
    time_us: int
    packet: Packet


class Reader(Protocol):
    """Reads packets of one device, or of several."""

    def describe(self) -> Description | None:
        """Open the device; return what it sends, None if each packet says so itself.

        Raises
        ------
        DeviceAwayError
            It does not answer: this method is called again after a pause.
        UserError
            Waiting would not help.
        """
        ...

    def packets(self) -> Iterator[Packet | list[Packet] | None]:
        """Yield packets as they arrive, or lists of those that came together; None once a second where none does.

        Raises
        ------
        DeviceAwayError
            The device has gone; a reader that ends does not come again.
        """
        ...

    def close(self) -> None:
        """Close the device; may be called twice, and from another thread if ``packets`` does not yield for 2 s."""
        ...


_LONGEST_READ_S = 0.001  # both clocks are read together in less, if nothing comes between
_SET_S = 0.1  # a clock that is set by less is followed with the next step
_BEGAN_S = time.time() - time.monotonic()


def arrival_s() -> float:
    """Return the present time, seconds since 1970; a clock of this machine that is set changes nothing in it."""
    return _BEGAN_S + time.monotonic()


class MachineClock:
    """By how much the clock of this machine was set since the program began; a sleep of the machine counts as well.

    :func:`arrival_s` leaves it out, so that no packet is early or late by it. A time that is stated has it.
    """

    def __init__(self) -> None:
        self.set_s = 0.0

    def look(self) -> float:
        """Return by how much it was set since the last look, seconds; 0: it was not, or by too little to matter."""
        before_s, now_s, after_s = time.monotonic(), time.time(), time.monotonic()
        step_s = now_s - before_s - _BEGAN_S - self.set_s
        if after_s - before_s > _LONGEST_READ_S or abs(step_s) < _SET_S:
            return 0.0
        self.set_s += step_s
        return step_s
