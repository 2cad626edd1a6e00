"""Where the hum of the mains is measured at a sampling rate (``kernels.intake.hum``)."""

from functools import lru_cache

import numpy as np

from beatwire.kernels.intake.one_sine import SPANS
from beatwire.kernels.intake.sines import FINE, LAG, TABLE_BITS
from beatwire.records.columns import HUM_COLUMNS
from beatwire.records.hum import HumFilter
from beatwire.stages.support.filters import half_up

MAINS_HZ = (50.0, 60.0)
SPAN_S = 0.4  # 20 and 24 periods
LEAST_SPAN_S, MOST_SPAN_S = 0.35, 0.55
RESOLVED = 0.48  # of the sampling rate: a higher frequency cannot be distinguished from a lower one


def mains_hz(rate_hz: float) -> list[float]:
    """Return the frequencies of the mains that are resolved at a sampling rate: of two rows of the filter each."""
    return [hz for hz in MAINS_HZ if hz <= RESOLVED * rate_hz]


@lru_cache(256)
def hum_filter_for(rate_hz: float, hole: int = 0) -> HumFilter:
    """Return the filter of a bank; ``hole``: the longest one that is filled in.

    If no mains is resolved at its rate, there is one frequency, of zeros: it is found in no span.

    A span has about whole periods of both frequencies: other waves, and an offset, leave least in it then.

    >>> [hum_filter_for(rate_hz, 10).tables.shape for rate_hz in (110.0, 128.0, 250.0, 1000.0)]
    [(2, 44), (4, 64), (4, 100), (4, 400)]
    >>> bool(hum_filter_for(100.0, 10).tables.any())
    False
    """
    resolved_hz = mains_hz(rate_hz)
    lengths = range(half_up(LEAST_SPAN_S * rate_hz), half_up(MOST_SPAN_S * rate_hz) + 1)
    span = min(lengths, key=lambda n: (_away(n, rate_hz), abs(n - SPAN_S * rate_hz)))
    angles = 2.0 * np.pi * np.array(resolved_hz or [0.0]) / rate_hz
    waves = np.exp(-1j * angles[:, None] * np.arange(span))
    tables = np.stack([waves.real, waves.imag], axis=1).reshape(-1, span)
    tables = np.floor(tables * (1 << TABLE_BITS) * bool(resolved_hz) + 0.5).astype(np.int16)
    turns = np.stack([np.cos(angles * span), np.sin(angles * span)], axis=1).ravel()
    offsets = np.arange(1 - span, span, 2).astype(np.int16)
    scale = 2.0 * FINE / (span << TABLE_BITS)
    return HumFilter(tables, tables.sum(1, dtype=np.int64), turns, offsets, scale, hole)


def shapes_of_hum(lanes: int, leads: int, hum_filter: HumFilter) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of the arrays of ``records.hum.Hum``: the kernel does not check them."""
    rows, span = hum_filter.tables.shape
    held = span + hum_filter.hole + 8  # samples whose bits are needed at once, and the rest of a byte
    filled = 1 << (held // 8).bit_length()
    return (lanes, leads, rows, SPANS), (lanes, leads, LAG, HUM_COLUMNS), (lanes, leads, filled)


def _away(span: int, rate_hz: float) -> float:
    """Return by how many periods a span is away from whole ones."""
    periods = np.array(MAINS_HZ) * span / rate_hz
    return round(float(np.abs(periods - np.round(periods)).max()), 6)
