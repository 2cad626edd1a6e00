"""Slow reference versions: the encoding and decoding of a chunk, and the placement of its samples in a stream."""

import io
import itertools
import json
import math
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

import fastavro
import numpy as np
from beatwire.kernels.intake.holes import NO_VALUE
from beatwire.wire.avro import encode_chunk, schema_text


def avro_long(value: int) -> bytes:
    """Encode a long by the Avro specification: zigzag, then seven bits a byte, lowest first."""
    value = 2 * value if value >= 0 else -2 * value - 1
    out = []
    while True:
        value, seven = divmod(value, 128)
        out.append(seven + (128 if value else 0))
        if not value:
            return bytes(out)


def avro_chunk(chunk: dict[str, Any], blocks: Sequence[int] | None = None) -> bytes:
    """Encode a SampleChunk; ``blocks``: sizes of the blocks of its leads, a negative one with its size in bytes."""
    out = b"".join([avro_text(chunk["stream"]), *(avro_long(chunk[k]) for k in ("session", "first", "time"))])
    out += struct.pack("<d", chunk["rate_hz"])
    at = 0
    for size in [len(chunk["leads"])] if blocks is None else blocks:
        items = b"".join(avro_text(name) for name in chunk["leads"][at : at + abs(size)])
        out += avro_long(size) + (avro_long(len(items)) if size < 0 else b"") + items
        at += abs(size)
    out += b"\0" + struct.pack("<d", chunk["uv_per_unit"]) + avro_long(chunk["lead_off"])
    return out + avro_long(len(chunk["samples"])) + chunk["samples"]


def avro_text(text: str | bytes) -> bytes:
    """Encode a string or bytes."""
    raw = text.encode() if isinstance(text, str) else text
    return avro_long(len(raw)) + raw


@cache
def _plain_schema() -> Any:
    """Return the schema of SampleChunk without the logical type: fastavro would convert times to dates."""
    plain = json.loads(schema_text("sample_chunk"))
    for one in plain["fields"]:
        if one["name"] == "time":
            one["type"] = "long"
    return fastavro.parse_schema(plain)


def usable_chunk(value: bytes) -> dict[str, Any] | None:
    """Decode a plain SampleChunk with fastavro and check its fields; return None if it is not usable.

    Raises
    ------
    UnicodeDecodeError
        A text is not UTF-8. The stage may reject such a message later.
    """
    stream = io.BytesIO(value)
    try:
        chunk: Any = fastavro.schemaless_reader(stream, _plain_schema(), None)
    except UnicodeDecodeError:
        raise
    except Exception:
        return None
    leads, samples = len(chunk["leads"]), len(chunk["samples"])
    good = (
        stream.tell() == len(value) <= 65_536
        and 1 <= len(chunk["stream"].encode()) <= 64
        and 50 <= chunk["rate_hz"] <= 4000
        and 1 <= leads <= 12
        and 0 <= chunk["uv_per_unit"] <= 1e6
        and samples > 0
        and samples % (2 * leads) == 0
        and 0 <= chunk["lead_off"] < 2**leads
        and 0 <= chunk["first"] <= 2**53
        and abs(chunk["time"]) <= 2**53
    )
    return chunk if good else None


@dataclass
class SentChunk:
    """A chunk as a device sends it; ``samples`` int16 [leads, n]."""

    stream: str
    session: int
    first: int
    samples: np.ndarray
    rate_hz: float = 100.0
    uv_per_unit: float = 5.0
    lead_off: int = 0
    arrival_us: int = 0
    leads: tuple[str, ...] = ()
    clock: float = 1.0

    @property
    def stop(self) -> int:
        return self.first + self.samples.shape[1]

    def message(self) -> bytes:
        """Return the message; the device's clock starts with the session, and runs ``clock`` times as fast."""
        passed_us = self.clock * self.first * 1e6 / self.rate_hz
        return encode_chunk(
            self.stream, self.session, self.first, round(1e9 * self.session + passed_us), self.rate_hz,
            self.leads or [f"L{k}" for k in range(len(self.samples))], self.samples,
            uv_per_unit=self.uv_per_unit, lead_off=self.lead_off,
        )  # fmt: skip


def with_marks(c: SentChunk) -> list[tuple[int, ...]]:
    """Return the values of each sample of a chunk, ``NO_VALUE`` for leads that are off."""
    off = np.array([c.lead_off >> k & 1 for k in range(len(c.samples))], np.bool_)
    return [tuple(map(int, row)) for row in np.where(off[:, None], NO_VALUE, c.samples).T]


def filled(leads: np.ndarray, hole: int) -> np.ndarray:
    """Fill in the holes of at most ``hole`` samples of int64 [leads, n], by cubics as exact fractions."""
    reach = max(1, hole // 10)
    out = leads.copy()
    for lead in out:
        edges = np.flatnonzero(np.diff(lead == NO_VALUE, prepend=False, append=False)).reshape(-1, 2)
        for at in (range(*edge) for edge in edges.tolist()):
            a, b = at.start, at.stop
            if len(at) > hole or a == 0 or b == len(lead):
                continue
            before = list(itertools.takewhile(lambda v: v != NO_VALUE, lead[a - 1 :: -1][: reach + 1].tolist()))
            after = list(itertools.takewhile(lambda v: v != NO_VALUE, lead[b : b + reach + 1].tolist()))
            n, y0, y1 = len(at) + 1, before[0], after[0]
            line = Fraction(y1 - y0, n)
            slope0 = Fraction(y0 - before[-1], len(before) - 1) if len(before) > 1 else line
            slope1 = Fraction(after[-1] - y1, len(after) - 1) if len(after) > 1 else line
            for j in at:
                t = Fraction(j - a + 1, n)
                value = (
                    (1 + 2 * t) * (1 - t) ** 2 * y0 + t * t * (3 - 2 * t) * y1
                    + n * (t * (1 - t) ** 2 * slope0 - t * t * (1 - t) * slope1)
                )  # fmt: skip
                lead[j] = min(32767, max(-32767, math.floor(value + Fraction(1, 2))))
    return out


@dataclass
class PlacedStream:
    """Expected samples of one stream: a dictionary from sample index to the values of its leads."""

    reorder: int
    bridge: int
    duplicate: int
    silence_us: int
    forget_us: int
    hole: int
    session: int | None = None
    base: int = 0
    expected: int = 0
    newest: int = 0  # first sample of the newest chunk, whose leads may all be off
    absent: int = 0
    kind: tuple[Any, ...] = ()
    arrival_us: int = 0
    before_jump: int | None = None
    known: dict[int, tuple[int, ...]] = field(default_factory=dict)
    ahead: dict[int, tuple[int, ...]] = field(default_factory=dict)
    past: dict[tuple[int | None, int], dict[int, tuple[int, ...]]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def take(self, c: SentChunk) -> str:
        """Take a chunk; returns why it cannot be used, or nothing."""
        leads = len(c.samples)
        anew = c.session != self.session
        kind = (leads, c.rate_hz, c.leads, c.uv_per_unit)
        silent = c.arrival_us - self.arrival_us > self.silence_us
        if c.arrival_us - self.arrival_us > self.forget_us:
            anew = True
        elif not anew and silent:
            anew = True
            self.counts["silences"] += 1
        if not anew:
            for own, other, reason in zip(self.kind, kind, ("leads", "Hz", "the leads", "microvolts"), strict=True):
                if own != other:
                    return reason
            if c.stop + self.duplicate < max(self.expected, self.newest):
                if not self.undoes_jump(c):
                    return "goes back"
                anew = True
                self.counts["restarts"] += 1
            elif c.stop <= self.expected:
                self.counts["duplicates"] += 1
                self.arrival_us = c.arrival_us
                return ""
        self.arrival_us = c.arrival_us
        self.note_jump(c, anew)
        self.newest = c.first if anew else max(self.newest, c.first)
        if anew:
            self.session, self.kind = c.session, kind
            self.restart(c.first)
            self.ahead.clear()
        if c.lead_off == 2**leads - 1:
            return ""
        values = with_marks(c)
        kinds = [values.count(NO_VALUE) for values in values]
        kinds = [2 if k == leads else int(k > 0) for k in kinds]
        self.counts["no_value"] += kinds.count(2)
        first = c.first
        for kind, group in itertools.groupby(kinds):
            stop = first + len(list(group))
            if kind < 2:
                self.run({a: values[a - c.first] for a in range(first, stop)})
            elif first <= max(self.expected, self.absent):
                self.absent = max(self.absent, stop)
            first = stop
        return ""

    def undoes_jump(self, c: SentChunk) -> bool:
        """Return whether a chunk goes on where the stream was before its last one."""
        before = self.before_jump
        return before is not None and before <= c.first <= before + self.duplicate

    def note_jump(self, c: SentChunk, anew: bool) -> None:
        """Remember where the stream is before a chunk far ahead."""
        jumps = not anew and c.first - self.expected > self.duplicate
        if not jumps or self.before_jump is None:
            self.before_jump = self.expected if jumps else None

    def run(self, values: dict[int, tuple[int, ...]]) -> None:
        """Accept consecutive samples of a chunk, each with a value on some lead."""
        first, stop = min(values), max(values) + 1
        while first > self.expected and stop > self.expected:
            shards = sum(a - 1 not in self.ahead for a in self.ahead)
            if stop - self.expected <= self.reorder and shards < 8 and first > self.absent:
                new = {a: v for a, v in values.items() if a not in self.ahead}
                self.counts["duplicates" if not new else "reordered"] += 1
                self.counts["overlaps"] += 0 < len(new) < len(values)
                self.ahead |= new
                return
            self.give_up(min([first, *self.ahead]), values)
        if stop <= self.expected:
            self.counts["duplicates"] += 1
            return
        self.counts["overlaps"] += first < self.expected or any(a in self.ahead for a in values)
        while self.expected < stop:
            self.settle(self.ahead.pop(self.expected, None) or values[self.expected])
        self.advance()

    def give_up(self, resume: int, values: dict[int, tuple[int, ...]]) -> None:
        """Bridge the gap before ``resume``, or restart there if the gap is too long."""
        missing = resume - self.expected
        self.counts["lost_samples"] += missing
        if missing <= self.bridge and self.expected > self.base:
            self.counts["bridged"] += 1
            after = self.ahead.get(resume) or values[resume]
            before = self.known[self.expected - 1]
            for j in range(1, missing + 1):
                self.settle(
                    tuple(
                        NO_VALUE if missing <= self.hole or NO_VALUE in (a, b) else a + (b - a) * j // (missing + 1)
                        for a, b in zip(before, after, strict=True)
                    )
                )
        else:
            self.counts["restarts"] += 1
            self.restart(resume)
        self.advance()

    def advance(self) -> None:
        """Accept the samples that arrived ahead and follow now."""
        while self.expected in self.ahead:
            self.settle(self.ahead.pop(self.expected))

    def settle(self, sample: tuple[int, ...]) -> None:
        """Add one sample, with ``NO_VALUE`` for leads that have none."""
        self.known[self.expected] = sample
        self.expected += 1

    def filled(self, final: int) -> np.ndarray:
        """Return the samples up to ``final``, which the holes behind them do not change: int16 [leads, n]."""
        known = np.array([self.known[a] for a in range(self.base, self.expected)], np.int64).T
        return filled(known, self.hole)[:, : final - self.base].astype(np.int16)

    def restart(self, first: int) -> None:
        """Restart at ``first`` without any samples before it."""
        self.base = self.expected = self.absent = first
        self.known = self.past[self.session, first] = {}
