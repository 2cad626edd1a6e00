"""Find the bank of each chunk: the rings of its sampling rate and number of leads; and which may be opened."""

from collections.abc import Mapping, Sequence

import numpy as np

from beatwire.jit import cpu
from beatwire.records import F64, I64, Bank, Chunks
from beatwire.records.alignment import AlignChunks
from beatwire.records.columns import CHUNK_LEADS, CHUNK_RATE_HZ
from beatwire.records.samples import BankKind


def find_banks(banks: Sequence[Bank], chunks: Chunks | AlignChunks, bank: I64) -> None:
    """Write the bank of every chunk into ``bank``, -1 where there is none yet."""
    table: F64 = np.array([(bank.rate_hz, bank.leads) for bank in banks], np.float64).reshape(-1, 2)
    cpu.kernels.find_bank(len(bank), chunks.ints, chunks.floats, table, bank)


def without_bank(banks: Sequence[Bank], chunks: Chunks, bank: I64) -> I64:
    """Return the rows of the chunks that have no bank; if there are no banks yet, the first chunk counts as one.

    In a replay a chunk has one if that was open at the commit of its partition.

    Parameters
    ----------
    bank : int64 [n]
        Bank of each chunk, see ``find_banks``.
    """
    if not len(chunks.ints):
        return np.zeros(0, np.int64)
    if chunks.open_banks is not None:
        return _not_open(chunks, chunks.open_banks)
    if not banks:
        first = Bank(0, float(chunks.floats[0, CHUNK_RATE_HZ]), int(chunks.ints[0, CHUNK_LEADS]))
        bank = np.empty(len(chunks.ints), np.int64)
        find_banks([first], chunks, bank)
    return np.flatnonzero(bank < 0)


def _not_open(chunks: Chunks, open_banks: Mapping[int, frozenset[BankKind]]) -> I64:
    """Return the rows of the chunks whose bank was not open at the commit of their partition.

    Every bank counts as open in a partition that ``open_banks`` does not have.
    """
    closed = np.isin(chunks.partition, list(open_banks))
    rates_hz, leads = chunks.floats[:, CHUNK_RATE_HZ], chunks.ints[:, CHUNK_LEADS]
    for kinds in set(open_banks.values()):
        own = np.isin(chunks.partition, [p for p, of_partition in open_banks.items() if of_partition == kinds])
        for rate_hz, number in kinds:
            closed &= ~(own & (rates_hz == rate_hz) & (leads == number))
    return np.flatnonzero(closed)


def kinds_of(banks: Sequence[Bank]) -> frozenset[BankKind]:
    """Return the sampling rates and numbers of leads of banks."""
    return frozenset((bank.rate_hz, bank.leads) for bank in banks)


def allowed_banks(banks: Sequence[Bank], chunks: Chunks) -> frozenset[BankKind]:
    """Return the banks that are open; in a replay those that may be."""
    if chunks.open_banks is None:
        return kinds_of(banks)
    if set(np.unique(chunks.partition).tolist()) <= chunks.open_banks.keys():
        return frozenset().union(*chunks.open_banks.values())
    kinds = np.unique(np.column_stack([chunks.floats[:, CHUNK_RATE_HZ], chunks.ints[:, CHUNK_LEADS]]), axis=0)
    return frozenset((rate_hz, int(leads)) for rate_hz, leads in kinds.tolist())
