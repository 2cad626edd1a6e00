"""The places of packets by time, on the line of a clock: the device's if it states times, else that of the arrivals.

In:  packets of one device, in the order of their arrival
Out: `Placed` packets; none for a packet that came twice; several where packets had to wait for later ones
State: the next index, the lines of both clocks, the holes and packets of the last seconds, what waits

A packet that is late by the clock waits until later ones show whether samples are missing: these bring the clock back
to its line, or they do not. A missing packet is a hole of its length. A clock that was set is no hole: the arrivals
tell the two apart.
"""

import itertools
from collections import deque
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

from beatwire.recordings.record import check_rate

from beatwire_producers.devices.clock_line import ClockLine, span
from beatwire_producers.devices.packets import EARLIEST_S, LATEST_S, Description, Packet, Placed
from beatwire_producers.devices.rate_check import RateCheck
from beatwire_producers.devices.seen import Seen, hash_of, may_be_doubled

_CONFIRM_S = {True: 0.25, False: 0.5}  # the clock stays ahead for so long where samples are missing
_CONFIRM_PACKETS = {True: 2, False: 3}  # True: with device times; False: with arrivals alone
_LEVEL = 0.25  # of the shortest gap: so little above the least is level with it
_SLOPE = 0.01  # by which the rate of a clock may be another than the stated one: so it comes nearer to its line
_LONGEST_HELD_S = 10.0  # of packets that wait while others come
_NEAR_WHOLE, _DRIFT = 0.1, 1e-3  # of a packet, and of a hole: what is that near to whole packets is so many
_SLACK_S = 0.05  # by which arrivals may contradict a hole
_BUSY_S = 0.1  # a computer at work reads so late for a second or more
_JITTER_S = {True: 0.002, False: 0.1}  # until it is measured
_MOST_SETS, _SETS_S = 5, 20.0  # a clock that is set so often, within so long, is none
_RECENT_S = 5.0
_NEAR_S = 60.0  # a clock that is further away is said to be


class ByTime:
    """Places the packets of one device by time.

    Parameters
    ----------
    described
        What the device sends.
    note
        Called with a sentence where something is assumed.

    Attributes
    ----------
    session : int
        The present session; 0 before the first packet.
    rate_hz : float or None
        The stated or the measured rate; None: not measured yet.
    set_s : float
        By how much the clock of this machine was set since :func:`packets.arrival_s` began.
    doubled, sessions : int
        Packets that came twice, and sessions, so far.
    seen : Seen
        Holes and packets of the last seconds, and what is missing so far.
    """

    def __init__(self, described: Description, note: Callable[[str], None] = lambda _: None) -> None:
        self.described, self._note = described, note
        self.rate_hz = None if described.rate_hz is None else check_rate(described.stream, described.rate_hz)
        self.doubled = self.sessions = 0
        self.session = self._last_session = 0
        self.seen = Seen()
        self._next = 0
        self._held: list[Packet] = []
        self._has_times = False
        self._offset_s = self.set_s = 0.0
        self._last_arrival_s = 0.0
        self._sizes: deque[int] = deque(maxlen=8)
        self._sets: deque[float] = deque(maxlen=_MOST_SETS)  # arrivals at which the clock was set
        self._check = RateCheck(described.stream, note, is_stated=described.rate_hz is not None)

    def _reset(self, packet: Packet, first: int) -> None:
        """Begin a session with a packet, at an index."""
        assert self.rate_hz is not None
        has_times = packet.time_s is not None
        self._check.rate_hz = self.rate_hz
        self.session = max(self.session + 1, self._last_session + 1, round(packet.arrival_s * 1e6))
        self.sessions += 1
        self._next = first
        self.seen.clear()
        self._clock = ClockLine(self.rate_hz, _JITTER_S[has_times] * self.rate_hz)
        self._arrivals = ClockLine(self.rate_hz, _JITTER_S[False] * self.rate_hz)
        is_epoch = self.described.is_epoch or not has_times
        self._offset_s = 0.0 if is_epoch else self._sent_s(packet) - self._time_s(packet)
        if is_epoch and has_times:
            ahead_s = self._time_s(packet) - self._sent_s(packet) - self.set_s
            if abs(ahead_s) > _NEAR_S and self.sessions == 1:
                side = "ahead of" if ahead_s > 0 else "behind"
                self._note(
                    f"its clock is {span(abs(ahead_s))} {side} that of this machine: so are the times of its beats"
                )

    def _time_s(self, packet: Packet) -> float:
        """Return the time of the first sample of a packet, by the clock that places."""
        return self._sent_s(packet) if packet.time_s is None else packet.time_s

    def _sent_s(self, packet: Packet) -> float:
        """Return when the first sample was taken if the packet was sent with its last one, and arrived at once."""
        assert self.rate_hz is not None
        return float(packet.arrival_s - packet.samples.shape[1] / self.rate_hz)

    def _put(self, packet: Packet, index: int, *, on_line: bool = True) -> Placed:
        """Place a packet at an index; ``on_line``: its times are worth knowing."""
        count = packet.samples.shape[1]
        if index > self._next:
            self.seen.add_hole(self._next, index)
        sent_s = self._sent_s(packet)
        time_s = sent_s if packet.time_s is None else packet.time_s
        if on_line:
            self._clock.add(index, time_s)
            self._arrivals.add(index, sent_s)
            self._check.add(count, index if self._is_counted(packet) else None, time_s, is_stamped=self._has_times)
        self.seen.add(index, time_s, hash_of(packet))
        self._sizes.append(count)
        self._next = max(self._next, index + count)
        self._last_arrival_s = packet.arrival_s
        taken_s = self._offset_s + self._clock.time_of(index)
        if not (self.described.is_epoch and self._has_times):
            taken_s += self.set_s
        is_set = (EARLIEST_S if self.described.is_epoch else -LATEST_S) < taken_s < LATEST_S
        time_us = round(1e6 * (taken_s if is_set else sent_s + self.set_s))
        return Placed(self.session, index, time_us, packet)

    def late_s(self, now_s: float) -> float | None:
        """Return how much later the last packet arrived than those of two minutes; None: there is no recent one."""
        if not self.session or now_s - self._last_arrival_s > _RECENT_S:
            return None
        return (self._arrivals.last - self._arrivals.long_level) / self._arrivals.hz

    def _is_counted(self, packet: Packet) -> bool:
        """Return True if a packet has its place by its count."""
        del packet
        return False

    def _by_time(self, packet: Packet) -> list[Placed]:
        if self._is_doubled(packet):
            self.doubled += 1
            return []
        if self._held:
            self._held.append(packet)
            return self._decide()
        assert self.rate_hz is not None
        clock, time_s, count = self._clock, self._time_s(packet), packet.samples.shape[1]
        needed = self._shortest_gap(count)
        raw = clock.raw(self._next, time_s)
        above = raw - clock.level
        if packet.time_s is not None:
            if self._is_behind(above, needed):
                return self._behind(packet, above)
            if above >= needed and self._arrives_too_early(packet, above):
                return self._clock_was_set(packet)
        if above >= needed and raw - clock.last >= needed:
            self._held.append(packet)
            return []
        return [self._put(packet, self._next)]

    def _is_behind(self, above: float, needed: float) -> bool:
        return above <= -max(needed, 4.0 * self._clock.jitter)

    def _behind(self, packet: Packet, above: float) -> list[Placed]:
        """Place a packet whose time is before the end of the one before: it fills a hole, or the clock was set back."""
        count, index = packet.samples.shape[1], self._next + round(above)
        filled = self.seen.fill_near(index, count, self._shortest_gap(count))
        if filled is not None:
            return [self._put(packet, filled, on_line=False)]
        return self._clock_was_set(packet)

    def _arrives_too_early(self, packet: Packet, above: float) -> bool:
        """Return True if the samples that a clock leaves out had no time to be taken: the clock was set forward."""
        assert self.rate_hz is not None
        arrivals = self._arrivals
        late = arrivals.raw(self._next, self._sent_s(packet)) - arrivals.long_level
        return late < above - _SLACK_S * self.rate_hz - 3.0 * arrivals.jitter

    def _clock_was_set(self, packet: Packet) -> list[Placed]:
        """Place a packet by its arrival, and begin the line of the clock anew."""
        assert self.rate_hz is not None
        late = self._arrivals.raw(self._next, self._sent_s(packet)) - self._arrivals.level
        self._sets.append(packet.arrival_s)
        if self._sets[-1] - self._sets[0] < _SETS_S and len(self._sets) == self._sets.maxlen:
            return self._without_clock(packet)
        size = packet.samples.shape[1]
        missing = max(0, size * round(late / size) if self._is_of_one_size(size) else round(late))
        missing = missing if late >= max(self._arrivals.shortest_gap(2), _SLACK_S * self.rate_hz) else 0
        self._set_clock(self._next + missing, self._time_s(packet))
        return [self._put(packet, self._next + missing)]

    def _without_clock(self, packet: Packet) -> list[Placed]:
        """Place a packet, and all from now on, by its arrival."""
        self._note("its clock does not run, or is set all the time: packets are placed by their arrivals")
        self._has_times, self._offset_s, self._clock = False, 0.0, deepcopy(self._arrivals)
        return self._by_time(replace(packet, time_s=None))

    def _set_clock(self, index: int, time_s: float) -> None:
        """Begin the line of the clock anew, with the time of a sample."""
        step_s = time_s - self._clock.time_of(index)
        is_midnight = abs(step_s + 86_400) < 1 and not self.described.is_epoch
        self._note("a new day began" if is_midnight else f"its clock was set by {step_s:+.3f} s")
        self._offset_s -= 0.0 if self.described.is_epoch else step_s
        self._clock.set_to(index, time_s)

    def _decide(self) -> list[Placed]:
        """Return the packets that wait, if it is known now where they belong."""
        has_times, ahead = self._has_times, self._ahead()
        needed, least = self._shortest_gap(self._held[0].samples.shape[1]), min(ahead)
        if self._held[-1].time_s is not None and self._is_behind(ahead[-1], needed):
            least, last = min(ahead[:-1]), self._held.pop()  # it was set back, or came late: those before it are later
            placed = self._release(least) if least >= needed else self._let_go(ahead.index(least) + 1, 0)
            return placed + self._by_time(last)
        at = [0, *itertools.accumulate(packet.samples.shape[1] for packet in self._held)]
        end = at[ahead.index(least)]
        k_least = next(
            k for k, above in enumerate(ahead) if above - least <= _LEVEL * needed + _SLOPE * max(0, end - at[k])
        )
        if least < needed:  # the first was late, nothing is missing
            return self._let_go(ahead.index(least) + 1, 0)
        times = [self._time_s(packet) for packet in self._held[k_least:]]
        longest_s = 1.5 * self._held[0].samples.shape[1] / (self.rate_hz or 1.0)  # silence shows nothing
        stays_s = sum(min(b - a, longest_s) for a, b in itertools.pairwise(times))
        is_clear = stays_s >= _CONFIRM_S[has_times] and len(times) >= _CONFIRM_PACKETS[has_times]
        waited_s = self._held[-1].arrival_s - self._held[0].arrival_s
        return self._release(least) if is_clear or waited_s > _LONGEST_HELD_S else []

    def _release(self, missing: float) -> list[Placed]:
        """Return the packets that wait: so much is missing before them, or the clock was set forward."""
        late = min(self._ahead(by_arrivals=True))
        if self._has_times and late < 0.5 * missing - 3.0 * self._arrivals.jitter:
            held, self._held = self._held, []
            return [*self._clock_was_set(held[0]), *(one for packet in held[1:] for one in self._by_time(packet))]
        return self._let_go(1, self._whole(missing))

    def _ahead(self, *, by_arrivals: bool = False) -> list[float]:
        """Return how far the clock that places, or arrivals, are ahead of each packet that waits, in samples."""
        line, time_s = (self._arrivals, self._sent_s) if by_arrivals else (self._clock, self._time_s)
        level = line.long_level if by_arrivals else line.level
        at = itertools.accumulate((packet.samples.shape[1] for packet in self._held), initial=self._next)
        return [line.raw(index, time_s(packet)) - level for index, packet in zip(at, self._held, strict=False)]

    def _let_go(self, sure: int, missing: int) -> list[Placed]:
        """Place the first packets that wait after a hole, and the others as if they came now."""
        held, self._held = self._held, []
        placed = [self._put(held[0], self._next + missing)]
        placed += [self._put(packet, self._next) for packet in held[1:sure]]
        for packet in held[sure:]:
            placed += self._by_time(packet)
        return placed

    def _whole(self, missing: float) -> int:
        """Return how many samples are missing: of packets of one size, whole packets if the clock allows that."""
        size = self._sizes[-1]
        whole = size * round(missing / size)
        near = max(self._shortest_gap(size), _NEAR_WHOLE * size + _DRIFT * missing)
        if self._is_of_one_size(size) and (not self._has_times or abs(missing - whole) <= near):
            return whole
        return max(0, round(missing))

    def _shortest_gap(self, count: int) -> float:
        """Return how far the clock is ahead where samples are missing, at least.

        Arrivals say little about what is missing: where packets have one size, it is a packet, else so much that no
        computer at work is so late.
        """
        assert self.rate_hz is not None
        needed = self._clock.shortest_gap(count)
        if self._has_times:
            return needed
        return max(needed, 0.5 * count if self._is_of_one_size(count) else _BUSY_S * self.rate_hz)

    def _is_of_one_size(self, count: int) -> bool:
        return count > 1 and all(size == count for size in self._sizes)

    def _is_doubled(self, packet: Packet) -> bool:
        """Return True if a packet without a count came before: the same samples with the same time."""
        assert self.rate_hz is not None
        if not self._has_times and not may_be_doubled(packet):
            return False
        digest, time_s = hash_of(packet), self._time_s(packet)
        waiting = [(self._time_s(one), hash_of(one)) for one in self._held]
        if self._has_times:
            near_s = 0.5 / self.rate_hz
            is_waiting = any(d == digest and abs(t - time_s) < near_s for t, d in waiting)
            return is_waiting or bool(self.seen.same(time_s, digest, near_s))
        count = packet.samples.shape[1]
        last_s, last = waiting[-1] if waiting else self.seen.last
        return last == digest and time_s - last_s < 0.5 * count / self.rate_hz
