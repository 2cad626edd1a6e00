"""Times that fall: a clock that was set back, or rows that come twice, late, or in another order.

In:  float64 [n], the time of each row in seconds, NumPy or CuPy
Out: the same without the steps of a clock that was set back; a note that says where times fall
"""

from beatwire.recordings.columns.behaviour import typical_step
from beatwire.records import F64
from beatwire.tables import array_module

_FALL_STEPS, _FALL_JITTER = 2.5, 9.0  # times that fall by more, in steps and in jitters, are said
_AROUND_S, _FEWEST_AROUND = 4.0, 64  # seconds and rows that show whether a clock stays behind
_MOST_SET = 64  # places


def without_falls(name: str, seconds: F64) -> tuple[F64, tuple[str, ...]]:
    """Return times without the steps by which a clock was set back, and a note on where they fall by more than jitter.

    A clock that was set stays behind; rows that are written late, or in another order, do not.

    >>> import numpy as np
    >>> times = np.arange(1000) / 250
    >>> times[500:] -= 0.1
    >>> without_falls("time", times)[1]
    ("the times of column 'time' fall 1 time, first by 0.096 s in row 501: rows are read in the order of the file",)
    """
    xp = array_module(seconds)
    steps = xp.diff(seconds)
    step = typical_step(seconds)
    if step <= 0 or not bool((steps < -_FALL_STEPS * step).any()):
        return seconds, ()
    jitter_s = 1.4826 * float(xp.median(xp.abs(steps - float(xp.median(steps)))))
    falls = xp.flatnonzero(steps < -max(_FALL_STEPS * step, _FALL_JITTER * jitter_s)).tolist()
    if not falls:
        return seconds, ()
    first = -float(steps[falls[0]])
    window = max(_FEWEST_AROUND, round(_AROUND_S / step))
    apart = max(1, min(window, len(seconds) // (8 * len(falls))))  # so that most rows so far apart have no fall between
    index = xp.arange(len(seconds)) * (float(xp.median(seconds[apart:] - seconds[:-apart])) / apart)
    for k in falls[:_MOST_SET]:
        behind, at = seconds - index, k + 1
        stays, by = (
            float(xp.median(behind[at : at + rows])) - float(xp.median(behind[max(0, at - rows) : at]))
            for rows in (window, _FEWEST_AROUND)
        )
        if stays < 0.5 * float(steps[k]):
            seconds = xp.concatenate([seconds[:at], seconds[at:] - by])
    times = f"{len(falls)} time{'s'[: len(falls) > 1]}, first by {first:.3g} s in row {falls[0] + 2}"
    return seconds, (f"the times of column {name!r} fall {times}: rows are read in the order of the file",)
