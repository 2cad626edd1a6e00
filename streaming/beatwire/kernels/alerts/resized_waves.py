"""Body that takes a wave of another size than the beats: a silence begins with it, if it may be a beat.

In:    the waves that have the shape of beats and are too large or too small (``kernels.detection.beats``), in order
Out:   ``RESIZED_BY`` of ``kernels.alerts.unjudged``

A gain may have changed: then such waves are the beats, and soon the detector has the new level
(``kernels.peaks``: ``large_waves``, ``small_waves``). If they are artefacts behind a heart that stops, the silence
counts from the last.
"""

from beatwire.kernels.alerts.unjudged import RESIZED_BY
from beatwire.records import I64
from beatwire.records.columns import BLOCK_SAMPLES

RESIZED_BLOCKS = 2  # 4 s: two waves of a slow heart; behind it they are beats


def add_resized(own: I64, sample: int, last_beat: int, lengths: I64) -> None:
    """Take such a wave: it may be a beat if it is at most ``RESIZED_BLOCKS`` after the last beat."""
    if sample - last_beat <= RESIZED_BLOCKS * int(lengths[BLOCK_SAMPLES]):
        own[RESIZED_BY] = max(int(own[RESIZED_BY]), sample)
