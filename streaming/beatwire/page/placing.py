"""Where the chunks of the page's streams go: the rules of the monitor, by its own stage of alignment.

In: RawTick. Out: Aligned, and the chunks of the tick. State: that of ``stages.align``, which decides by the same
settings as the monitor's what is a repetition, a wrong place, a jump, a session or a stray rate. Streams keep their
lanes until the page forgets them; a bank that has no stream any more is removed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from beatwire.kernels.intake import clock
from beatwire.pipeline.settings import Settings
from beatwire.records import I64, Aligned, Bank, Chunks, RawTick
from beatwire.records import slot_columns as columns
from beatwire.records.slot_columns import new_slots
from beatwire.stages import align, decode, unbundle
from beatwire.stages.support.streams.directory import Directory
from beatwire.wire.avro import encode_chunk

MOST_STREAMS = 20_000
ADMIT_S = 1.0


def _align_state() -> align.State:
    settings = replace(Settings(), most_streams=MOST_STREAMS, admit_s=ADMIT_S)
    return align.State(settings.align(), Directory(MOST_STREAMS), settings.admission())


@dataclass(slots=True)
class Placing:
    """The state of align, and of decode."""

    state: align.State = field(default_factory=_align_state)
    _decoder: decode.State = field(default_factory=lambda: decode.State(decode.Settings()))

    @property
    def directory(self) -> Directory:
        """Return the streams by slot."""
        return self.state.directory

    @property
    def banks(self) -> Sequence[Bank]:
        """Return the banks by number."""
        return self.state.admission.banks

    def place(self, tick: RawTick) -> tuple[Chunks, Aligned]:
        """Place the messages of a tick."""
        _, tick = unbundle.step(unbundle.State(), tick)
        _, chunks = decode.step(self._decoder, tick)
        # Not caught up: align then takes no lane away from a stream that is silent.
        _, aligned = align.step(self.state, replace(chunks, caught_up=False))
        return chunks, aligned

    def claim(self, streams: Iterable[str]) -> list[int]:
        """Give slots to streams of which no sample has arrived; return those that are new."""
        made_up = [encode_chunk(stream, 0, 0, 0, 250.0, ["-"], [0]) for stream in streams]  # they carry ids, no more
        _, chunks = decode.step(self._decoder, RawTick.of(made_up))
        self.directory.find(chunks)
        return list(self.directory.claimed)

    def time_us(self, slot: int, sample: int, rate_hz: float) -> int:
        """Return the device time of a sample of the present stretch, by the newest anchor at or before it."""
        row = self.state.anchors[slot]
        newest, zero_us = int(row[clock.COUNT]), 0
        for n in range(newest - 1, max(-1, newest - 1 - clock.MAX_ANCHORS), -1):
            at, stretch = clock.place_of(n), int(row[clock.STRETCH])
            if clock.stretch_of(int(row[at]), stretch) == stretch:
                zero_us = int(row[at + 1])
                if clock.first_of(int(row[at])) <= sample:
                    break
        return zero_us + round(sample * 1e6 / rate_hz)

    def forget(self, slots: I64) -> I64:
        """Remove streams and the banks that are left without one.

        Returns
        -------
        int64 [banks]
            The number that each bank has now, -1: it was removed.
        """
        state = self.state
        state.admission.release_left()
        placed = slots[slots < len(state.slots)]
        state.admission.release(state.slots[placed])
        state.slots[placed], state.anchors[placed] = new_slots(1), 0
        self.directory.evict(slots)
        self.directory.give_back(slots)
        number = state.admission.remove_empty()
        state.slots[:, columns.SLOT_BANK] = np.append(number, -1)[state.slots[:, columns.SLOT_BANK]]  # -1: no bank
        return number
