"""The places of packets: session, first index and device time of each.

In:  packets of one device, in the order of their arrival: count, device time, arrival, or what there is of them
Out: `Placed` packets; none for a packet that came twice; several where packets had to wait for later ones
State: the next index, the lines of both clocks, the holes and packets of the last seconds, what waits

Where the device counts, the count is the place. Otherwise times are (`by_time`). A missing packet is a hole of its
length. A session ends only where the count begins again.

Invariant: within a session no index is given twice.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from beatwire.errors import UserError

from beatwire_producers.devices.by_time import ByTime
from beatwire_producers.devices.packets import MOST_S, Description, Packet, Placed
from beatwire_producers.devices.rates import measured_rate, sure_rate, with_repaired_times, without_doubled
from beatwire_producers.devices.seen import hash_of

__all__ = ["Placed", "Placer"]

_LEARN_S = {True: 3.0, False: 5.0}  # of packets with device times, of arrivals: to measure a rate that nobody states
_LONGEST_LEARN_S, _LOOK_S = 60.0, 1.0  # where they do not show it yet; between two looks
_MOST_LEARNT = 20_000  # packets
_MOST_COMPARED = 8  # packets among which one that came twice is found, while a rate is measured
_LONGEST_WAIT_S = 2.0  # of packets that wait while no others come
_SET_S = 1.0  # by which the clock of a device that counts leaves its line where it was set
_EARLY_S = 1.0  # a count may run ahead of the arrivals by this
_LARGEST_COUNT = 1 << 52  # an index must fit into a message
_RETURNS, _ENDS, _LOST = 2, 8, 4  # of a count to one before it; packets that are remembered; that may be lost
_RESTARTS = 3  # in as many packets: what the device counts are no samples


class Placer(ByTime):
    """Places the packets of one device; parameters and attributes as of `ByTime`."""

    def __init__(self, described: Description, note: Callable[[str], None] = lambda _: None) -> None:
        super().__init__(described, note)
        self._learnt: list[Packet] = []
        self._look_s, self._waits = 0.0, False
        self._count = self._count_index = 0
        self._restarts: deque[int] = deque(maxlen=_RESTARTS)
        self._ends: deque[int] = deque(maxlen=_ENDS)  # counts behind the last packets
        self._returns = 0
        self._packets = 0
        self._counts = True

    def begin_after(self, other: Placer) -> None:
        """Begin with a session after those of another placer of the stream: the device sends something else now."""
        self._last_session = other.session

    def place(self, packet: Packet) -> list[Placed]:
        """Return what can be placed now that a packet has come.

        Raises
        ------
        UserError
            The rate cannot be measured, or is not the stated one; or the counts are those of two devices.
        """
        if packet.samples.shape[1] == 0:
            return []
        if packet.time_s is not None and not abs(packet.time_s) <= MOST_S:
            self._note(f"a time of {packet.time_s:g} s is damaged: this packet is placed by its arrival")
            packet = replace(packet, time_s=None)
        if self.rate_hz is not None:
            return self._place(packet)
        if any(
            one.count == packet.count and one.time_s == packet.time_s and hash_of(one) == hash_of(packet)
            for one in self._learnt[-_MOST_COMPARED:]
            if packet.time_s is not None or packet.count is not None
        ):
            self.doubled += 1
            return []
        self._learnt.append(packet)
        span_s = packet.arrival_s - self._learnt[0].arrival_s
        is_last = span_s >= _LONGEST_LEARN_S or len(self._learnt) >= _MOST_LEARNT
        if not is_last and span_s < max(self._look_s, _LEARN_S[packet.time_s is not None]):
            return []
        self._look_s = span_s + _LOOK_S
        return self._learn(span_s, is_last=is_last)

    def _learn(self, span_s: float, *, is_last: bool) -> list[Placed]:
        """Measure the rate, and return the packets by which it was measured; none if more are needed."""
        found = without_doubled(self._learnt)
        learnt, repaired = with_repaired_times(found)
        self.rate_hz = measured_rate(self.described, learnt) if is_last else sure_rate(self.described, learnt)
        if self.rate_hz is None:
            if not self._waits:
                self._waits = True
                self._note("its packets do not show a rate yet: nothing is sent until they do (--fs gives it)")
            return []
        self.doubled += len(self._learnt) - len(found)
        if repaired:
            self._note(f"{repaired} of its first {len(learnt)} times are damaged: taken from those beside them")
        self._note(f"rate: {self.rate_hz:.7g} Hz, measured from {span_s:.1f} s of its packets")
        self._learnt = []
        return [placed for one in learnt for placed in self._place(one)]

    def idle(self, now_s: float) -> list[Placed]:
        """Return packets that have waited for long enough; ``now_s`` as of ``Packet.arrival_s``."""
        if self._held and now_s - self._held[-1].arrival_s > _LONGEST_WAIT_S:
            return self._release(min(self._ahead()))
        return []

    def close(self, *, ended: bool = False) -> list[Placed]:
        """Return packets that wait: none is missing before them if arrivals alone, too few to show it, say so.

        If no others come, those that waited for a rate are placed by the rate that they show, or said to be left out.
        """
        placed: list[Placed] = []
        if ended and self._learnt:
            span_s = self._learnt[-1].arrival_s - self._learnt[0].arrival_s
            try:
                placed = self._learn(span_s, is_last=True)
            except UserError as error:
                self._note(f"its first {len(self._learnt)} packets are left out: {error}")
        if self._held:
            placed += self._release(min(self._ahead())) if self._has_times else self._let_go(len(self._held), 0)
        return placed

    def _place(self, packet: Packet) -> list[Placed]:
        self._packets += 1
        packet = self._with_its_clock(packet)
        if not self.session:
            return [self._begin(packet)]
        if self._is_counted(packet):
            placed = self._by_count(packet)
            self._remember_end(packet)
            return placed
        return self._by_time(packet)

    def _remember_end(self, packet: Packet) -> None:
        if packet.count is not None:
            self._ends.append(packet.count + packet.samples.shape[1] // self.described.per_count)

    def _with_its_clock(self, packet: Packet) -> Packet:
        """Return a packet with a device time if the first packet had one, and without if not."""
        if not self.session:
            self._has_times = packet.time_s is not None
        if self._has_times == (packet.time_s is not None):
            return packet
        if not self._has_times:
            return replace(packet, time_s=None)
        return replace(
            packet, time_s=self._sent_s(packet) + self._clock.time_of(self._next) - self._arrivals.time_of(self._next)
        )

    def _begin(self, packet: Packet) -> Placed:
        """Begin a session with a packet: at its count, if the count does not turn."""
        first = 0
        if packet.count is not None:
            counted = packet.count * self.described.per_count
            if self._counts and not self.described.turn and 0 <= counted < _LARGEST_COUNT:
                first = counted
            self._count, self._count_index = packet.count, first
        if not self._ends:
            self._remember_end(packet)
        self._reset(packet, first)
        return self._put(packet, first)

    def _is_counted(self, packet: Packet) -> bool:
        return packet.count is not None and self._counts

    def _by_count(self, packet: Packet) -> list[Placed]:
        assert packet.count is not None
        index = self._index_of_count(packet, packet.count)
        count = packet.samples.shape[1]
        if index >= self._next:
            if index > self._next and not self._may_be(packet, index):
                return self._anew(packet)
            self._count, self._count_index = packet.count, index
            if packet.time_s is not None and self._contradicts(index, packet.time_s, self._sent_s(packet)):
                self._set_clock(index, packet.time_s)
            return [self._put(packet, index)]
        if self.seen.fill(index, index + count):
            return [self._put(packet, index, on_line=False)]
        if index in self._same(packet):
            self.doubled += 1
            return []
        return self._anew(packet)

    def _index_of_count(self, packet: Packet, counted: int) -> int:
        """Return the index that a count stands for; which turn of the count, the clock says."""
        per, turn = self.described.per_count, self.described.turn
        index = self._count_index + (counted - self._count) * per
        if not turn:
            return index
        came_before = next((i for i in self._same(packet) if (i - index) % (turn * per) == 0), None)
        if came_before is not None:
            return came_before
        ahead = self._clock.raw(self._next, self._time_s(packet)) - self._clock.level
        probable = self._next + max(0.0, ahead)
        index += round((probable - index) / (turn * per)) * turn * per
        is_known = index + packet.samples.shape[1] <= self._next and (
            self.seen.is_hole(index, index + packet.samples.shape[1])
        )
        return index if index >= self._next or is_known else index + turn * per

    def _may_be(self, packet: Packet, index: int) -> bool:
        """Return False if a count has run ahead of all that can have been sampled: the device counts from elsewhere."""
        assert self.rate_hz is not None
        late = max(0.0, self._arrivals.last - self._arrivals.long_level)
        elapsed_s = packet.arrival_s - self._last_arrival_s
        return index - self._next <= 1.02 * elapsed_s * self.rate_hz + late + _EARLY_S * self.rate_hz

    def _contradicts(self, index: int, time_s: float, sent_s: float) -> bool:
        """Return True if a clock has left its line, and neither the count nor the arrivals have: it was set."""
        assert self.rate_hz is not None
        clock, arrivals, slack = self._clock, self._arrivals, _SET_S * self.rate_hz
        above = clock.raw(index, time_s) - clock.level
        if above < -slack:
            return arrivals.raw(index, sent_s) - arrivals.level > above + slack
        return above > slack and arrivals.raw(index, sent_s) - arrivals.long_level < above - slack

    def _anew(self, packet: Packet) -> list[Placed]:
        """Begin another session; what restarts with each packet is no count."""
        self._look_for_another(packet)
        self._restarts.append(self._packets)
        if len(self._restarts) == _RESTARTS and self._restarts[-1] - self._restarts[0] < 2 * _RESTARTS:
            self._counts = False
            self._note("its count does not rise: packets are placed by their times")
            return self._by_time(packet)
        self._note("its count begins again: a new session")
        return [self._begin(packet)]

    def _look_for_another(self, packet: Packet) -> None:
        """Raise UserError if counts take turns, each going on where it was: they are those of two devices."""
        assert packet.count is not None
        per, size = self.described.per_count, packet.samples.shape[1]
        ahead = [(packet.count - end) * per for end in self._ends]
        goes_on = any(0 <= samples <= _LOST * size and samples % size == 0 for samples in ahead)
        self._returns = self._returns + 1 if goes_on else 0
        if self._returns >= _RETURNS:
            got = f"{self._ends[-1]} and {packet.count} go on in turns"
            raise UserError(f"{self.described.stream}: expected the count of one device; got two: {got}")

    def _same(self, packet: Packet) -> list[int]:
        """Return where the same samples are, of about the same time where the device states times."""
        assert self.rate_hz is not None
        turn_s = 0.5 * self.described.turn * self.described.per_count / self.rate_hz
        near_s = min(turn_s or math.inf, 0.25 if self._has_times else math.inf)
        return self.seen.same(self._time_s(packet), hash_of(packet), near_s)
