"""What a device sent in the last seconds: packets, to recognise one that comes twice, and holes that may yet be filled.

State: the last packets, each with its index, time and a hash of its samples; the last holes, as ranges of indices
"""

from collections import Counter, deque

from beatwire_producers.devices.packets import Packet

_REMEMBERED = 128  # packets
_HOLES = 32
_FEWEST_EQUAL = 8  # samples: fewer may be equal by chance


class Seen:
    """The packets and holes of a session.

    Attributes
    ----------
    holes, missing : int
        Holes so far, of all sessions, and the samples that are missing in them.
    """

    def __init__(self) -> None:
        self.holes = self.missing = 0
        self._holes: deque[tuple[int, int]] = deque(maxlen=_HOLES)
        self._packets: deque[tuple[int, float, int]] = deque()
        self._hashes: Counter[int] = Counter()  # of these packets

    def clear(self) -> None:
        """Begin another session."""
        self._holes.clear()
        self._packets.clear()
        self._hashes.clear()

    def add(self, index: int, time_s: float, digest: int) -> None:
        """Add a packet."""
        self._packets.append((index, time_s, digest))
        hashes = self._hashes
        hashes[digest] += 1
        if len(self._packets) > _REMEMBERED:
            gone = self._packets.popleft()[2]
            hashes[gone] -= 1
            if not hashes[gone]:
                del hashes[gone]

    @property
    def last(self) -> tuple[float, int]:
        """Time and hash of the last packet."""
        return self._packets[-1][1:]

    def same(self, time_s: float, digest: int, near_s: float) -> list[int]:
        """Return the indices of packets with the same samples and about the same time."""
        if digest not in self._hashes:
            return []
        return [i for i, t, d in self._packets if d == digest and abs(t - time_s) < near_s]

    def add_hole(self, first: int, stop: int) -> None:
        """Add the samples ``[first, stop)`` that are missing."""
        self._holes.append((first, stop))
        self.holes += 1
        self.missing += stop - first

    def is_hole(self, first: int, stop: int) -> bool:
        """Return True if the samples ``[first, stop)`` are missing."""
        return any(a <= first and stop <= b for a, b in self._holes)

    def fill(self, first: int, stop: int) -> bool:
        """Take samples from a hole; return False if there is no hole for all of them."""
        for k, (a, b) in enumerate(self._holes):
            if a <= first and stop <= b:
                del self._holes[k]
                self._holes.extend((x, y) for x, y in ((a, first), (stop, b)) if y > x)
                self.missing -= stop - first
                return True
        return False

    def fill_near(self, index: int, count: int, slack: float) -> int | None:
        """Take samples from a hole near an index; return where, None if there is no hole for all of them."""
        for a, b in list(self._holes):
            if a - slack <= index and index + count <= b + slack and count <= b - a:
                first = min(max(index, a), b - count)
                self.fill(first, first + count)
                return first
        return None


def hash_of(packet: Packet) -> int:
    """Return a hash of the samples of a packet."""
    return hash(packet.samples.tobytes())  # lead by lead, however they lie in memory


def may_be_doubled(packet: Packet) -> bool:
    """Return True if equal samples say something: they are not few, and not a flat line."""
    samples = packet.samples
    return samples.shape[1] >= _FEWEST_EQUAL and bool((samples != samples[:, :1]).any())
