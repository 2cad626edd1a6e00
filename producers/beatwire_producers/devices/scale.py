"""The scale of a device's numbers, by their type and their unit.

In:  what is described of a stream, and the type of its first numbers
Out: a scale of chunks, int16 [leads, n], -32768 where there is no value

Integers of 16 bits keep their values. All else becomes what ``beatwire.Live`` makes of it: offsets of electrodes are
followed, and numbers without a unit are judged once they change.
"""

from collections.abc import Callable

import numpy as np
from beatwire.errors import shown
from beatwire.recordings.columns.kinds import uv_per_unit_of
from beatwire.recordings.columns.names import is_unscaled, unit_of
from beatwire.recordings.judged_scale import HELD_S, JudgedScale
from numpy.typing import DTypeLike

__all__ = ["HELD_S", "scale_of", "stated_uv"]

_STEP_UV = 1.0  # of numbers that are not those of a converter
_HINT = "--gain gives a unit, in numbers per millivolt"


def scale_of(
    rate_hz: float, leads: tuple[str, ...], uv: float | None, dtype: DTypeLike, note: Callable[[str], None]
) -> JudgedScale:
    """Return the scale of a stream.

    Parameters
    ----------
    rate_hz, leads
        Of the stream.
    uv
        Microvolts per number; 0: not calibrated; None: unknown.
    dtype
        Of the first numbers.
    note
        Called with a sentence where something is assumed.
    """
    is_whole = np.dtype(dtype).kind in "iub"
    is_short = is_whole and np.dtype(dtype).itemsize <= 2
    step_uv = uv if uv and is_short else _STEP_UV
    scale = JudgedScale(rate_hz, leads, uv, is_whole and not is_short, step_uv, note, hint=_HINT)
    if is_short and not uv:
        scale.take_as_converter()
    return scale


def stated_uv(unit: str, name: str = "") -> float | None:
    """Return the microvolts of the unit that a device states; 0: it is none of voltage; None: it states none.

    Without a unit a name may have one, or say that numbers are those of a converter.

    Raises
    ------
    ValueError
        It is that of another quantity.

    >>> stated_uv("mV"), stated_uv("counts"), stated_uv("0.1 mV"), stated_uv(" "), stated_uv("", "ecg")
    (1000.0, 0.0, 0.0, None, None)
    >>> stated_uv("", "ecg_uV"), stated_uv("", "ecg_raw"), stated_uv("mV", "ecg_raw")
    (1.0, 0.0, 1000.0)
    """
    unit = unit.strip() or unit_of(name)
    if not unit:
        return 0.0 if is_unscaled("", name) else None
    uv = uv_per_unit_of(unit)
    if uv is None:
        raise ValueError(f"expected a unit of voltage; got {shown(unit)}")
    return uv
