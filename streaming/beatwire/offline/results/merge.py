"""The results of all shards as one stream, in the form in which the gather stage emits a tick.

In:  :class:`ShardResults` and the coverage of the recording
Out: :class:`TickBeats` of one slot: all beats in order, and the events on which the rules depend
"""

import numpy as np

from beatwire.kernels.intake import clock
from beatwire.kernels.intake.ordering import KINDS
from beatwire.offline.batch import ShardResults
from beatwire.offline.results.coverage import Coverage
from beatwire.records import I64, Aligned, Bank, Event, Rejects, Terms, TickBeats
from beatwire.records.columns import (
    EVENT_COLUMNS,
    NO_BLOCK,
    ORDERED_COLUMNS,
    ORDERED_KIND,
    ORDERED_SAMPLE,
    ORDERED_SESSION,
    ORDERED_VALUE,
)
from beatwire.records.samples import SlotColumns

START_US = 1_000_000_000_000_000  # time of sample 0, microseconds since 1970; a recording has no clock of its own


def merge(results: ShardResults, coverage: Coverage, bank: Bank, *, rules: bool = True) -> TickBeats:
    """Return the beats of all shards as one stream; without ``rules``, without events."""
    column = results.in_order()
    sample = column["sample"]
    b = len(sample)
    zero, none = np.zeros(b, np.int64), np.full(b, np.nan, np.float32)
    return TickBeats(
        aligned=_aligned(1, bank, int(coverage.run[-1, 1])), slot=zero, session=zero + 1, arrived_us=zero,
        time_us=START_US + np.floor(sample * 1e6 / bank.rate_hz + 0.5).astype(np.int64),
        rate_hz=np.full(b, bank.rate_hz), restart=np.zeros(b, np.bool_),
        terms=Terms(none, none, none, none, column["prematurity"], column["reconstruction_error"], column["latent"]),
        events=_events(results, coverage, sample) if rules else np.zeros((0, ORDERED_COLUMNS), np.int64), **column,
    )  # fmt: skip


def _aligned(slots: int, bank: Bank, expected: int = 0) -> Aligned:
    """Return what align emits for streams that started at ``START_US``."""
    zeros = np.zeros(slots, np.int64)
    columns = SlotColumns(
        session=zeros + 1,
        bank=zeros + bank.number,
        lane=np.arange(slots),
        expected=zeros + expected,
        arrived_us=zeros,
        used_us=zeros,
        active_us=zeros,
    )
    none = np.zeros((0, EVENT_COLUMNS), np.int64)
    anchors = np.zeros((slots, clock.ANCHOR_COLUMNS), np.int64)
    anchors[:, [clock.COUNT, clock.STRETCH]] = 1
    anchors[:, clock.FIRST_ANCHOR : clock.FIRST_ANCHOR + clock.OF_ANCHOR] = clock.packed(1, 0), START_US
    return Aligned(
        passes=[], events=none, restarts=none, seen=np.arange(slots), used=np.arange(slots), slots=columns,
        anchors=anchors, clocks=none, banks=(bank,),
        refused=np.zeros((0, 3), np.int64), rejects=Rejects(), now_us=0, caught_up=True, overloaded=False,
    )  # fmt: skip


def _events(results: ShardResults, coverage: Coverage, sample: I64) -> I64:
    """Return the events in order of samples, int64 [e, 6] as in ``TickBeats``.

    No event of a segment precedes its restart or follows the restart of the next segment.
    """
    blocks, watermarks = np.concatenate(results.blocks), np.concatenate(results.watermarks)
    decided_until = coverage.segment[:, 0].copy()
    np.maximum.at(decided_until, *watermarks.T)
    parts = (
        coverage.event.T,
        (np.full(len(sample), Event.BEAT), sample, np.arange(len(sample))),
        (np.where(blocks[:, 1] <= NO_BLOCK, Event.DENIED, Event.BLOCK), *blocks.T),
        (np.full(len(decided_until), Event.WATERMARK), decided_until, decided_until),
    )
    kind, position, value = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(KINDS * position + kind, kind="stable")  # at the same sample, in order of kinds
    rows = np.zeros((len(order), ORDERED_COLUMNS), np.int64)
    rows[:, ORDERED_SESSION] = 1
    rows[:, ORDERED_KIND], rows[:, ORDERED_SAMPLE], rows[:, ORDERED_VALUE] = kind[order], position[order], value[order]
    return rows
