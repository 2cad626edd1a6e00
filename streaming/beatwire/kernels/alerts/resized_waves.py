"""Body that takes a wave larger than those of any heart: a silence begins with it, if it may be a beat.

In:    the waves that the trees call beats and that are too large (``kernels.detection.beats``), in order of samples
Out:   ``RESIZED_BY`` of ``kernels.alerts.unjudged``

A gain may have changed: then such waves are the beats, and from a row of them the detector has the new level
(``kernels.peaks.large_waves``). If they are artefacts behind a heart that stops, the silence counts from the last.
"""

from beatwire.kernels.alerts.unjudged import RESIZED_BY
from beatwire.records import I64
from beatwire.records.columns import BLOCK_SAMPLES

RESIZED_BLOCKS = 2  # 4 s: two waves of a slow heart; from the fourth on they are beats


def add_resized(own: I64, sample: int, last_beat: int, lengths: I64) -> None:
    """Take such a wave: it may be a beat if it is at most ``RESIZED_BLOCKS`` after the last beat."""
    if sample - last_beat <= RESIZED_BLOCKS * int(lengths[BLOCK_SAMPLES]):
        own[RESIZED_BY] = max(int(own[RESIZED_BY]), sample)
