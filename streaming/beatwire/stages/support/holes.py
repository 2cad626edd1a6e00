"""The longest hole of a lead that is filled in: it costs no beat."""

import math

LONGEST_S = 0.040


def longest_hole(rate_hz: float, bridge_s: float) -> int:
    """Return the samples of the longest hole that is filled in, at least one; no hole above ``bridge_s`` is.

    >>> longest_hole(250.0, 0.25), longest_hole(360.0, 0.25), longest_hole(10.0, 0.25)
    (10, 14, 1)
    """
    return max(1, min(math.floor(LONGEST_S * rate_hz + 1e-6), round(bridge_s * rate_hz)))
