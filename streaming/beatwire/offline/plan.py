"""How a recording is cut into shards, and how many of them are processed at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

from beatwire.backends.base import Backend
from beatwire.offline.prefetch import BUFFERS
from beatwire.records import Bank

# A score depends on the 75 s before its beat, over beats that depend on the 22.4 s before them, with the network on
# 32.4, and over samples without mains hum, which depend on 4.4 s more: 111.8 s. Alerts depend on more, but they are
# decided from the merged beats of all shards.
WARM_S = 112.0
AHEAD_S = 1.0  # more than any decision or window looks ahead

_LARGE_MEMORY_BYTES = 16 << 30  # of a device: from here on the results of a batch are kept until it ends
_BEAT_BYTES = 3600  # device memory of a beat until its result is on the host
_RR_S = 0.3  # where beats come faster, less may fit
_SAMPLE_BYTES, _ALONE_SAMPLE_BYTES = 50, 120  # of a sample in work; where leads are detected alone, too (measured)
_LANE_BYTES = 10_000  # state of a lane beside its rings
_ALONE_BYTES = 6_000  # of a lead that is detected alone, too


@dataclass(frozen=True, slots=True)
class Plan:
    """How a recording is cut.

    shard_s     seconds that a shard owns; it processes ``WARM_S`` more before them
    pass_s      seconds of each shard that pass through the rings at once
    lanes       shards of a batch, at most
    by_pass     True: results are fetched after every pass; less device memory, more round trips. False: after a batch
    longest_s   shards grow up to this length if that turns a long recording into a single batch; 0: they do not grow
    """

    shard_s: float = 900.0
    pass_s: float = 60.0
    lanes: int = 128
    by_pass: bool = True
    longest_s: float = 0.0

    @staticmethod
    def of(backend: Backend, memory_bytes: int | None = None) -> Plan:
        """Return the plan for a backend: many lanes for a GPU; for the CPU, as many as fit its caches."""
        if backend.in_order:
            return Plan()
        if memory_bytes is not None and memory_bytes < _LARGE_MEMORY_BYTES:
            # What a pass costs follows its length, not its lanes: short passes leave memory for more of them.
            return Plan(shard_s=90.0, pass_s=5.0, lanes=2048, longest_s=3600.0)
        return Plan(shard_s=90.0, pass_s=96.0, lanes=2048, by_pass=False, longest_s=900.0)

    def within(self, memory_bytes: int, bank: Bank) -> Plan:
        """Return the plan with as many lanes as fit into a device's memory for lanes, at least one.

        A lane needs its rings, the upload buffers and the work of a pass, and memory for a beat every 0.3 s until the
        results are fetched.
        """
        unfetched_s = self.pass_s if self.by_pass else self.shard_s + WARM_S + AHEAD_S
        alone = bank.leads if bank.leads > 1 else 0
        sample_bytes = 2 * bank.leads * ((1 + BUFFERS) * self.pass_s + 7.0) + 4 * ((1 + alone) * self.pass_s + 5.0)
        sample_bytes += bank.leads * (self.pass_s + 14.0)  # of the past that the network reads; all per hertz
        sample_bytes += (_ALONE_SAMPLE_BYTES if alone else _SAMPLE_BYTES) * self.pass_s
        state_bytes = _LANE_BYTES + alone * _ALONE_BYTES
        lane_bytes = sample_bytes * bank.rate_hz + _BEAT_BYTES * unfetched_s / _RR_S + state_bytes
        return replace(self, lanes=max(1, min(self.lanes, int(memory_bytes / lane_bytes))))

    def for_length(self, seconds: float, segments: int = 1) -> Plan:
        """Return the plan with shards long enough, up to ``longest_s``, for a recording to be a single batch."""
        needed_s = seconds / max(1, self.lanes - segments)  # the last shard of a segment is shorter than the others
        return replace(self, shard_s=max(self.shard_s, min(self.longest_s, needed_s)))
