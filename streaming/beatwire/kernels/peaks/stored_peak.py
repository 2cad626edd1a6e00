"""How a past peak is stored: its sizes, its widths and its risk in 16 bits each.

In:    a number of a peak
Out:   the integer that stands for it
State: none

A size is that of a response, an integer: of its bits the highest eleven are stored, rounded, and how many follow.
"""

import math

SIZE_BITS = 11
SIZES = (1 << SIZE_BITS) - 1
STRIDE = 4  # bits, while many follow
NO_SIZE = (1 << 16) - 1  # of a lead that has no value at the peak; larger than any that is stored
WIDTH_PARTS = 4096  # widths are stored in 1/4096, so of at most 16: those of QRS complexes are about 1
RISK_PARTS = (1 << 16) - 1


def stored_size(size: int) -> int:
    """Return what stands for a size of less than ``1 << 40``."""
    shift = 0
    while size >> shift >= SIZES << STRIDE:
        shift += STRIDE
    while size >> shift >= SIZES:  # rounding may add one, which still fits
        shift += 1
    return shift << SIZE_BITS | (size + ((1 << shift) >> 1)) >> shift


def size_of(stored: int) -> float:
    """Return a size that is stored."""
    return float((int(stored) & SIZES) << (int(stored) >> SIZE_BITS))


def stored_width(width: float) -> int:
    """Return what stands for a width; one that is too large is the largest that can be stored."""
    return int(math.floor(min(65535.0, WIDTH_PARTS * float(width)) + 0.5))


def width_of(stored: int) -> float:
    """Return a width that is stored."""
    return int(stored) / WIDTH_PARTS


def stored_risk(risk: float) -> int:
    """Return what stands for a risk, at most 1."""
    return int(math.floor(RISK_PARTS * risk + 0.5))
