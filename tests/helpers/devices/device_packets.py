"""Packets of a drawn device, with the truth: what was sampled when, what was lost on the way, and how it arrived."""

from dataclasses import dataclass, field

import numpy as np
from beatwire_producers.devices.packets import Description, Packet, Placed
from beatwire_producers.devices.places import Placer

START_S = 1_750_000_000.0


@dataclass(frozen=True)
class Device:
    """A device and its way to us.

    rate_hz, ppm      the stated rate, and how much faster its crystal is
    size              samples a packet
    packets           how many it sends
    lost, doubled     numbers of packets that do not arrive, or arrive twice
    stalls            number of a packet -> seconds by which it and what follows arrive late, together
    clock_jitter_s    largest error of the time of a packet
    arrival_jitter_s  largest delay of a packet
    set_at, set_by_s  from this packet on its clock is so much further
    restart_at        from this packet on it counts from 0
    turn              after how many samples its count begins again; 0: never
    has_count, has_times  what it states
    is_stamped        its times are those of a program that is late now and then: they wait for stalls too
    """

    rate_hz: float = 250.0
    ppm: float = 0.0
    size: int = 25
    packets: int = 100
    lost: frozenset[int] = frozenset()
    doubled: frozenset[int] = frozenset()
    stalls: dict[int, float] = field(default_factory=dict)
    clock_jitter_s: float = 0.0
    arrival_jitter_s: float = 0.0
    set_at: int = -1
    set_by_s: float = 0.0
    restart_at: int = -1
    turn: int = 0
    has_count: bool = True
    has_times: bool = True
    is_stamped: bool = False
    seed: int = 0

    def description(self, *, stated: bool = True) -> Description:
        """Return what it says of itself."""
        return Description("bed-1", rate_hz=self.rate_hz if stated else None, turn=self.turn, is_epoch=True)

    def sent(self) -> list[tuple[int, Packet]]:
        """Return the packets in the order of their arrival, each with its number."""
        rng = np.random.default_rng(self.seed)
        true_hz = self.rate_hz * (1 + self.ppm * 1e-6)
        signal = np.cumsum(rng.integers(-9, 10, self.packets * self.size)).astype(np.int32)
        out, earliest_s = [], 0.0
        for k in range(self.packets):
            taken_s = START_S + k * self.size / true_hz
            stall_s = max((s - (k - at) * self.size / true_hz for at, s in self.stalls.items() if k >= at), default=0.0)
            arrival_s = taken_s + self.size / true_hz + max(0.0, stall_s) + rng.uniform(0, 1) * self.arrival_jitter_s
            arrival_s = earliest_s = max(earliest_s, arrival_s)
            if k in self.lost:
                continue
            time_s = taken_s + rng.uniform(-1, 1) * self.clock_jitter_s
            if self.is_stamped:
                time_s += max(0.0, stall_s)
            if 0 <= self.set_at <= k:
                time_s += self.set_by_s
            count = (k - (self.restart_at if 0 <= self.restart_at <= k else 0)) * self.size
            packet = Packet(
                signal[None, k * self.size : (k + 1) * self.size],
                arrival_s,
                time_s if self.has_times else None,
                (count % self.turn if self.turn else count) if self.has_count else None,
            )
            out += [(k, packet)] * (2 if k in self.doubled else 1)
        return out


@dataclass(frozen=True)
class Outcome:
    """What a placer made of a device.

    placed   all packets, in their order
    where    number of a packet -> its session and index, by its samples
    placer   after all of them
    notes    its sentences
    """

    placed: list[Placed]
    where: dict[int, tuple[int, int]]
    placer: Placer
    notes: list[str]


def outcome(device: Device, *, stated: bool = True) -> Outcome:
    """Place the packets of a device."""
    notes: list[str] = []
    placer = Placer(device.description(stated=stated), notes.append)
    placed: list[Placed] = []
    number = {}
    for k, packet in device.sent():
        number[_address(packet)] = k
        placed += placer.place(packet)
    placed += placer.close()
    where = {number[_address(one.packet)]: (one.session, one.first) for one in placed}
    return Outcome(placed, where, placer, notes)


def _address(packet: Packet) -> int:
    """Return where the samples are in memory, which copies of a packet share."""
    return int(packet.samples.__array_interface__["data"][0])
