"""Faint beats: those far smaller than the normal beat that have another shape.

In a heart that stands still a wave as small may be a P wave. Behind a change of gain, or under an electrode that dries,
it is a QRS complex: its correlation with the normal one is high, and it is not wider.
"""

import numpy as np

from beatwire.kernels.classes.beat_class import DURATION, MATCH, NORMAL_DURATION, SIZE
from beatwire.records import F32, Bool

FAINT = 0.15  # share of the size of the normal beat
ALIKE = 0.9  # correlation with the normal QRS complex: less in 94 % of P waves
WIDER = 1.3  # times the duration of the normal one: P waves are 1.8 times as wide


def find_faint(measures: F32) -> Bool:
    """Return whether each beat is faint, bool [b].

    Parameters
    ----------
    measures : float32 [b, MEASURED]
        As ``kernels.classes.beat_class`` writes them.
    """
    wide = measures[:, DURATION] >= WIDER * measures[:, NORMAL_DURATION]
    return np.asarray((measures[:, SIZE] < FAINT) & (wide | ~(measures[:, MATCH] > ALIKE)))
