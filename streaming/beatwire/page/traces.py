"""The last ten seconds of samples of every stream, and the streams by slot.

In: RawTick. Out: the samples of a stream since an index, for as many readers as there are; each keeps its own index.
State: where the streams are (``page.placing``); by slot the columns of ``Traces``; by bank (rate and number of leads)
the rings, int16 [lanes, leads, R], sample ``a`` in column ``a % R``.

A trace is what the monitor analyses: the same rules say what is placed. Samples that did not arrive, or of a lead that
is off, are -32768, never what the ring held before. A trace begins anew with a session, where a stream returns from a
wrong place, and after a hole that is longer than the ring.

Memory: a stream of one lead at 250 Hz has 5 kB; 5,000 have 26 MB, so every stream has a ring and one that is watched
needs nothing of the past. Streams beyond ``most_bytes`` of rings are listed, but have no trace. A forgotten stream
leaves its ring to another of its bank, and the last one of a bank the memory to all. Everything that runs once a sample
or a chunk is a kernel or NumPy.
"""

from dataclasses import dataclass, field

import numpy as np

from beatwire.jit import cpu
from beatwire.kernels.intake.holes import NO_VALUE
from beatwire.kernels.intake.ring import MARK
from beatwire.page.placing import Placing
from beatwire.records import F64, I16, I64, Chunks, Placement, RawTick
from beatwire.records.columns import (
    CHUNK_LEADS,
    CHUNK_SESSION,
    PLACE_AT,
    PLACE_COUNT,
    PLACE_FIRST,
    PLACE_LANE,
    PLACE_LEAD_OFF,
)
from beatwire.records.slot_columns import (
    LIMIT_REORDER,
    SLOT_BANK,
    SLOT_EXPECTED,
    SLOT_FINAL,
    SLOT_LANE,
    SLOT_LEAD_OFF,
    SLOT_MASK_FROM,
    SLOT_NANOVOLTS,
    SLOT_PENDING,
    SLOT_SESSION,
)
from beatwire.stages.support.room import columns_for
from beatwire.stages.support.streams.directory import Directory
from beatwire.wire.avro import lead_names

RING_S = 10.0
EARLY_S = 0.5  # samples that came before their turn are in the ring, and not shown
MOST_BYTES = 512 << 20
GROWTH_BYTES = 1 << 16  # of the rings of a bank at least
_INT_COLUMNS = ("session", "base", "stop", "leads", "lead_off", "arrived_us", "bank", "lane", "epoch")


@dataclass(slots=True)
class Traces:
    """Streams by slot.

    ints         int64 [slots] of each of: session; base, its first sample here; stop, the sample after the newest one
                 (-1: none); leads; lead_off, the mask of the last chunk; arrived_us, when the last chunk was read;
                 bank, lane; epoch, how often it began anew
    rate_hz, uv_per_unit  float64 [slots]
    lead_names   slot -> names of its leads
    numbers      name -> slot
    rejected     messages that could not be used
    """

    most_bytes: int = MOST_BYTES
    placing: Placing = field(default_factory=Placing)
    ints: dict[str, I64] = field(default_factory=lambda: {name: np.full(0, -1, np.int64) for name in _INT_COLUMNS})
    rate_hz: F64 = field(default_factory=lambda: np.zeros(0))
    uv_per_unit: F64 = field(default_factory=lambda: np.zeros(0))
    lead_names: dict[int, list[str]] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    rejected: int = 0
    _rings: list[I16] = field(default_factory=list)
    _unnamed: set[int] = field(default_factory=set)  # slots that have begun, and whose leads have no names yet

    @property
    def directory(self) -> Directory:
        """Return names and slots."""
        return self.placing.directory

    @property
    def ring_bytes(self) -> int:
        """Return the size of all rings."""
        return sum(ring.nbytes for ring in self._rings)

    def add(self, tick: RawTick) -> list[int]:
        """Add the messages of a tick; return the slots of streams that are new."""
        chunks, aligned = self.placing.place(tick)
        self.rejected += len(aligned.rejects)
        claimed = self._enter(self.directory.claimed)
        for placement in aligned.passes:
            self._place(placement)
        self._follow(aligned.seen, tick.now_us)
        if self._unnamed:
            self._name_leads(chunks)
        return claimed

    def claim(self, streams: set[str]) -> list[int]:
        """Give slots to streams of which perhaps no sample has arrived; return those of the new ones."""
        unknown = [stream for stream in streams if stream not in self.numbers]
        return self._enter(self.placing.claim(unknown)) if unknown else []

    def since(self, slot: int, first: int, leads: int) -> tuple[int, I16]:
        """Return the samples of a stream from ``first`` on, or from the oldest one kept.

        Parameters
        ----------
        slot
            Of the stream.
        first
            Index of the first sample wanted.
        leads
            Number of leads wanted.

        Returns
        -------
        int, int16 [leads, n]
            The index of the first sample, and the samples; n is 0 if there are none.
        """
        stop, ring = int(self.ints["stop"][slot]), self._ring(slot)
        if stop < 0 or ring is None:
            return first, np.empty((leads, 0), np.int16)
        first = min(max(first, stop - self._kept(slot), int(self.ints["base"][slot])), stop)
        return first, ring[:leads, np.arange(first, stop) % ring.shape[1]]

    def time_us(self, slot: int, sample: int) -> int:
        """Return the device time of a sample, microseconds since 1970."""
        return self.placing.time_us(slot, sample, float(self.rate_hz[slot]))

    def forget(self, slots: I64) -> None:
        """Remove streams; their slots and rings go to others."""
        for slot in slots.tolist():
            self.numbers.pop(self.directory.names[slot], None)
            self.lead_names.pop(slot, None)
            self._unnamed.discard(slot)
            for name, column in self.ints.items():
                if name != "epoch":  # or who looks at the stream takes another trace for the one that he has
                    column[slot] = -1
            self.rate_hz[slot] = self.uv_per_unit[slot] = 0.0
        number = np.append(self.placing.forget(slots), -1)
        self._rings = [ring for ring, now in zip(self._rings, number[:-1].tolist(), strict=False) if now >= 0]
        self.ints["bank"] = number[self.ints["bank"]]

    def _enter(self, claimed: list[int]) -> list[int]:
        """Make room for new streams and note their names."""
        missing = self.directory.capacity - len(self.rate_hz)
        if missing > 0:
            self.ints = {name: np.append(c, np.full(missing, -1)) for name, c in self.ints.items()}
            self.rate_hz, self.uv_per_unit = (np.append(c, np.zeros(missing)) for c in (self.rate_hz, self.uv_per_unit))
        for new in claimed:
            self.numbers[self.directory.names[new]] = new
        return list(claimed)

    def _place(self, placement: Placement) -> None:
        """Write one pass of a bank into its rings."""
        fresh, bank, ints = placement.fresh, placement.fresh.bank, self.ints
        ring = self._grown(bank.number)
        slot, before = fresh.slot, ints["stop"][fresh.slot]
        kept, reorder = ring.shape[2] - self._early(bank.number), self._early(bank.number)
        anew = (ints["session"][slot] != fresh.session) | (ints["bank"][slot] != bank.number) | (before < 0)
        anew |= (ints["lane"][slot] != fresh.lane) | (fresh.start + reorder < before) | (fresh.start - before > kept)
        anew |= self.uv_per_unit[slot] != fresh.uv_per_unit
        for k in np.flatnonzero(anew).tolist():
            self._begin(int(slot[k]), int(fresh.session[k]), bank.number, int(fresh.start[k]), fresh.uv_per_unit[k])
        ints["lane"][slot] = fresh.lane
        for k in np.flatnonzero(~anew & (fresh.start > before)).tolist():
            self._clear(int(slot[k]), int(before[k]), int(fresh.start[k]))
        self._write(placement, ring)
        ints["stop"][slot] = np.maximum(ints["stop"][slot], fresh.stop)

    def _begin(self, slot: int, session: int, bank: int, first: int, uv_per_unit: float) -> None:
        """Begin the trace of a stream anew."""
        of_bank = self.placing.banks[bank]
        for name, value in (("session", session), ("bank", bank), ("base", first), ("stop", first), ("lane", -1)):
            self.ints[name][slot] = value
        self.ints["leads"][slot] = of_bank.leads
        self.ints["epoch"][slot] += 1
        self.rate_hz[slot], self.uv_per_unit[slot] = of_bank.rate_hz, uv_per_unit
        self._unnamed.add(slot)

    def _write(self, placement: Placement, ring: I16) -> None:
        """Write samples; what the monitor fills in has no value here."""
        place = placement.place[placement.place[:, PLACE_LANE] < len(ring)]
        rows = place[(place[:, PLACE_COUNT] > 0) & (place[:, PLACE_AT] >= 0)]
        mask = rows[:, PLACE_LEAD_OFF].copy()
        rows[:, PLACE_LEAD_OFF] = 0
        cpu.kernels.write_samples(len(rows), np.ascontiguousarray(rows), placement.payload, ring)
        missing = place[(place[:, PLACE_COUNT] < 0) | (place[:, PLACE_AT] == MARK)]
        for lane, first, count in missing[:, [PLACE_LANE, PLACE_FIRST, PLACE_COUNT]].tolist():
            ring[lane][:, np.arange(first, first + abs(count)) % ring.shape[2]] = NO_VALUE
        off = mask != 0
        columns = rows[off][:, [PLACE_LANE, PLACE_FIRST, PLACE_COUNT]].tolist()
        for bits, (lane, first, count) in zip(mask[off].tolist(), columns, strict=True):
            leads = [lead for lead in range(ring.shape[1]) if bits >> lead & 1]
            ring[np.ix_([lane], leads, np.arange(first, first + count) % ring.shape[2])] = NO_VALUE

    def _follow(self, seen: I64, now_us: int) -> None:
        """Note the last chunk of each stream; of chunks without any value no samples were placed."""
        state, ints = self.placing.state.slots[seen], self.ints
        ints["arrived_us"][seen], ints["lead_off"][seen] = now_us, state[:, SLOT_LEAD_OFF]
        ends = np.maximum(state[:, SLOT_EXPECTED], state[:, SLOT_MASK_FROM])
        behind = (ends > ints["stop"][seen]) | (state[:, SLOT_SESSION] != ints["session"][seen])
        open_hole = state[:, SLOT_FINAL] < state[:, SLOT_EXPECTED]  # the samples behind it are not final, but shown
        open_hole &= (state[:, SLOT_SESSION] == ints["session"][seen]) & (state[:, SLOT_LANE] == ints["lane"][seen])
        np.maximum.at(ints["stop"], seen[open_hole], state[open_hole, SLOT_EXPECTED])
        behind &= ~open_hole & (state[:, SLOT_EXPECTED] >= 0)
        behind &= (state[:, SLOT_LANE] >= 0) & (state[:, SLOT_PENDING] == 0)
        for slot, row, end in zip(seen[behind].tolist(), state[behind], ends[behind].tolist(), strict=True):
            session, bank = int(row[SLOT_SESSION]), int(row[SLOT_BANK])
            self._grown(bank)
            same = ints["session"][slot] == session and ints["bank"][slot] == bank and ints["stop"][slot] >= 0
            if same and end - ints["stop"][slot] <= self._kept(slot):
                self._clear(slot, int(ints["stop"][slot]), end)
            else:
                self._begin(slot, session, bank, end, row[SLOT_NANOVOLTS] / 1000.0)
            ints["lane"][slot], ints["stop"][slot] = row[SLOT_LANE], end

    def _clear(self, slot: int, first: int, stop: int) -> None:
        """Write no value to samples of a stream, no more than the ring has."""
        ring = self._ring(slot)
        if ring is not None:
            ring[:, np.arange(first, stop) % ring.shape[1]] = NO_VALUE

    def _ring(self, slot: int) -> I16 | None:
        """Return the ring of a stream, int16 [leads, R]; None if it has none."""
        bank, lane = int(self.ints["bank"][slot]), int(self.ints["lane"][slot])
        return self._rings[bank][lane] if bank >= 0 and 0 <= lane < len(self._rings[bank]) else None

    def _early(self, bank: int) -> int:
        """Return how many samples may come before their turn."""
        return int(self.placing.state.admission.durations[bank, LIMIT_REORDER])

    def _kept(self, slot: int) -> int:
        """Return how many samples of a stream are kept."""
        bank = int(self.ints["bank"][slot])
        return int(self._rings[bank].shape[2]) - self._early(bank)

    def _grown(self, bank: int) -> I16:
        """Return the rings of a bank, with one for every lane if there is memory."""
        for new in self.placing.banks[len(self._rings) :]:
            size = columns_for(RING_S + EARLY_S, new.rate_hz, np.int16)
            self._rings.append(np.empty((0, new.leads, size), np.int16))
        ring, lanes = self._rings[bank], self.placing.state.admission.lanes[bank]
        if lanes > len(ring):
            lane_bytes = 2 * ring.shape[1] * ring.shape[2]
            wanted = max(lanes - len(ring), len(ring) // 4, GROWTH_BYTES // lane_bytes)
            more = min(wanted, (self.most_bytes - self.ring_bytes) // lane_bytes)
            if more > 0:
                ring = np.concatenate([ring, np.full((more, *ring.shape[1:]), NO_VALUE, np.int16)])
                self._rings[bank] = ring
        return ring

    def _name_leads(self, chunks: Chunks) -> None:
        """Read the names of leads of the streams that have begun, where this tick has a chunk of theirs."""
        slot = self.directory.look_up(chunks.payload, chunks.ints)
        for i in np.flatnonzero(np.isin(slot, list(self._unnamed))).tolist():
            session, leads = chunks.ints[i, [CHUNK_SESSION, CHUNK_LEADS]].tolist()
            one = int(slot[i])
            if self.ints["session"][one] == session and self.ints["leads"][one] == leads and one in self._unnamed:
                self.lead_names[one] = [name[:16] for name in lead_names(chunks.payload, chunks.ints[i])]
                self._unnamed.discard(one)
