"""``beatwire.example``: a minute of ECG to begin with."""

import numpy as np

from beatwire.recordings.arguments import number, whole
from beatwire.recordings.record import MAX_RATE_HZ, MIN_RATE_HZ
from beatwire.recordings.synthetic.person import UV_PER_UNIT, synthesise
from beatwire.records import F64

MOST_S = 86_400.0
ECTOPY = 0.05  # share of early ventricular beats: the classes have something to show


def example(seconds: float = 60.0, fs: float = 250.0, seed: int = 0) -> tuple[F64, float]:
    """Return one lead of synthetic ECG and its rate.

    A healthy heart with one early ventricular beat in twenty, baseline wander, muscle noise and mains hum. Equal
    arguments give equal samples: those of the source ``synthetic:seconds=60,rate=250,seed=0,ectopy=0.05``.

    Parameters
    ----------
    seconds
        Length, 1-86400 s.
    fs
        Sampling rate in Hz, 50-4000.
    seed
        Another seed is another person.

    Returns
    -------
    ecg, fs
        float64 [seconds * fs], millivolts; the rate.

    Raises
    ------
    UserError
        An argument is out of its range.

    Examples
    --------
    >>> import beatwire
    >>> ecg, fs = beatwire.example()
    >>> ecg.shape, fs
    ((15000,), 250.0)
    """
    seconds = number("seconds", seconds, "a number of seconds, 1-86400", 1.0, MOST_S)
    fs = number("fs", fs, "a rate of 50-4000 Hz", MIN_RATE_HZ, MAX_RATE_HZ)
    seed = whole("seed", seed, "a whole number of at least 0")
    made = synthesise(seed, rate_hz=fs, seconds=seconds, ectopy=ECTOPY).recording.samples[0]
    return made.astype(np.float64) * (UV_PER_UNIT / 1000.0), fs
