"""The response of the detection filter on short stretches of a recording: what the detector saw.

In:  samples int16 [strips, leads, n]
Out: responses float64 [strips, n], NaN where a stretch is too short to know them

The stage ``ricker`` computes them, with the stretches as lanes of one bank: no second filter. Hum is taken out before.
"""

from dataclasses import replace

import numpy as np

from beatwire.pipeline.settings import Settings
from beatwire.records import F64, I16, Bank, Fresh, Ringed
from beatwire.stages.detection import ricker
from beatwire.stages.support.hum import take_out_hum

CACHE_LINE = 32  # int16 in a cache line of 64 bytes: rings are whole lines


def responses_of(samples: I16, rate_hz: float, uv_per_unit: float = 0.0) -> F64:
    """Return the response of each stretch, as float64 [strips, n]; NaN before it is known at either end."""
    strips, leads, n = samples.shape
    out = np.full((strips, n), np.nan)
    if strips == 0 or n == 0:
        return out
    columns = -(-n // CACHE_LINE) * CACHE_LINE
    x = np.zeros((strips, leads, columns), np.int16)
    x[:, :, :n] = samples
    take_out_hum(x, n, rate_hz, uv_per_unit)
    number, zero = np.arange(strips, dtype=np.int64), np.zeros(strips, np.int64)
    fresh = Fresh(
        number=0, bank=Bank(0, rate_hz, leads), lane=number, slot=number, start=zero, stop=np.full(strips, n, np.int64),
        base=zero, session=zero, uv_per_unit=np.full(strips, uv_per_unit), quiet=np.zeros((0, 3), np.int64),
    )  # fmt: skip
    settings = replace(Settings().ricker(), ring_s=columns / rate_hz)
    _, response = ricker.step(ricker.State(settings), Ringed(fresh, x))
    known = n - response.delay
    if known > response.delay:
        out[:, response.delay : known] = response.rings.f[:, response.delay : known]
    return out
