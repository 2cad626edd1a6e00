"""Find the bank of each chunk: the rings of its sampling rate and number of leads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from beatwire.jit import cpu
from beatwire.records import F64, I64, Bank, Chunks
from beatwire.records.alignment import AlignChunks
from beatwire.records.columns import CHUNK_LEADS, CHUNK_RATE_HZ


def find_banks(banks: Sequence[Bank], chunks: Chunks | AlignChunks, bank: I64) -> None:
    """Write the bank of every chunk into ``bank``, -1 where there is none yet."""
    table: F64 = np.array([(bank.rate_hz, bank.leads) for bank in banks], np.float64).reshape(-1, 2)
    cpu.kernels.find_bank(len(bank), chunks.ints, chunks.floats, table, bank)


def without_bank(banks: Sequence[Bank], chunks: Chunks) -> I64:
    """Return the rows of the chunks that have no bank; if there are no banks yet, the first chunk counts as one."""
    if not len(chunks.ints):
        return np.zeros(0, np.int64)
    first = Bank(0, float(chunks.floats[0, CHUNK_RATE_HZ]), int(chunks.ints[0, CHUNK_LEADS]))
    bank = np.empty(len(chunks.ints), np.int64)
    find_banks(banks or [first], chunks, bank)
    return np.flatnonzero(bank < 0)
