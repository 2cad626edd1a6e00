"""A beat as `beatwire.analyze`, `beatwire.Live` and the files of beats have it: the one list of its fields.

A new field is a line of `Beat`, its value in `beatwire.offline.results.collect`, and one in the wire format if it goes
there.
"""

from typing import NamedTuple, get_type_hints

import numpy as np


class Beat(NamedTuple):
    """A heartbeat, decided 0.3 s after its R peak.

    sample            index of R in the stream
    time_s            time of R, in seconds from sample 0
    rr_ms             interval to the beat before it in milliseconds, NaN if there is none
    quality           probability that it is a heartbeat, 0-1, up to 1 % less in a disturbance
    score             2: 1 in 100 normal beats looks as strange; NaN if it is not scored
    rate_bpm          60 s over the median of the last RR intervals, NaN if there is none
    response          of the detection filter
    prematurity       0: on time; 0.3: 30 % early, relative to the stream's own past
    scored_by         what determined the score, or why there is none
    decided           index of the sample with which it was decided
    map_x, map_y      place on the plane of the model's latents
    expected_errors   expected number of false and missed beats in the ten seconds up to it
    beat_class        N normal, S supraventricular, V ventricular, Q: cannot tell
    class_probability of that class
    """

    sample: int
    time_s: float
    rr_ms: float
    quality: float
    score: float
    rate_bpm: float
    response: float
    prematurity: float
    scored_by: str
    decided: int
    map_x: float
    map_y: float
    expected_errors: float
    beat_class: str
    class_probability: float


BEAT_FIELDS = Beat._fields
_WIDE = ("time_s", "rr_ms", "rate_bpm")  # of the numbers that are no integers
# Type of a column of beats, of one without a beat too.
DTYPES = {
    name: np.dtype({int: "i8", str: "U1"}.get(kind, "f8" if name in _WIDE else "f4"))
    for name, kind in get_type_hints(Beat).items()
}
# Decimals of a field in a text file.
DECIMALS = {name: 4 for name, kind in get_type_hints(Beat).items() if kind is float} | {
    "time_s": 6,
    "rr_ms": 3,
    "rate_bpm": 3,
}
