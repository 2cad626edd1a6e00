"""Columns of integer tables by name: ``ints[i, CHUNK_FIRST]``.

Constants and not an enumeration, because kernels read them: Numba compiles a global integer as a constant.
"""

from __future__ import annotations

# ``PeakTable.peaks``: sample, response f, median of the last five block maxima, 80 % quantile of the last ten, and the
# sum of the least f within ``right`` samples on both sides.
PEAK_SAMPLE, PEAK_RESPONSE, PEAK_MEDIAN, PEAK_QUANTILE, PEAK_VALLEYS = range(5)
PEAK_COLUMNS = 5

# ``PeakTable.bounds``: largest and least of the last five block maxima (-1: no block is complete), and the number of
# leads that have a level.
BOUND_MOST, BOUND_LEAST, BOUND_LEADS = range(3)
BOUND_COLUMNS = 3

# ``PeakTable.blocks``: the sample after a block, and its largest f.
BLOCK_END, BLOCK_MAXIMUM = range(2)
BLOCK_COLUMNS = 2
