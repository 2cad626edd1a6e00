"""Find the peaks that a disturbance would hide: those on its skirt.

The response of a disturbance is larger than that of any beat, and falls to that of the ECG within the reach of the
filter. So a peak beside it is smaller than what is near, and non-maximum suppression passes over it. It counts if what
is larger is the skirt alone: from the valley beside the peak the response rises, without falling again, until it is
larger than that of any beat.
"""

from beatwire.records import I32

VALLEY = 2  # a peak is so many times as high as the valley towards the disturbance, at least


def overlooks(f: I32, at: int, step: int, stop: int, end: int, ceiling: int) -> int:
    """Return 1 if ``f[at]`` is a peak towards one side, 2 if but for a disturbance there, 0 if it is none.

    Parameters
    ----------
    step
        1: to the right, where a peak is at least as large as what follows; -1: to the left, where it is larger.
    stop, end
        The first indices on that side that hide no peak, and that are not known.
    ceiling
        The largest response that beats may have.
    """
    height, valley, j = int(f[at]), int(f[at]), at + step
    least = height + 1 if step > 0 else height  # from here on a response is larger
    while j != stop and int(f[j]) < least:
        valley = min(valley, int(f[j]))
        j += step
    if j == stop:
        return 1
    if VALLEY * valley > height:
        return 0
    before = int(f[j])
    while j != end and int(f[j]) >= before and before <= ceiling:
        before = int(f[j])
        j += step
    return 2 if before > ceiling else 0
