"""Arguments of the kernels that classify peaks, grouped. Columns are in ``kernels.peaks.peak_features``."""

from dataclasses import dataclass
from typing import NamedTuple

from beatwire.records.arrays import F32, F64, I16, I32, I64, U16


class FeatureSettings(NamedTuple):
    """How features are measured at the sampling rate of a bank; times in samples.

    spans    int64 [11], ``SPAN_S`` in samples
    taps     int32 [3, n], Ricker wavelets of 8, 22 and 32 ms, from one end to the other
    half     int64 [3], each wavelet has ``2 half + 1`` taps
    box      half the length of the box that smooths the response
    scale    mean magnitude of the wavelet at a response of 1: ``2**shift / (2 box + 1)``
    """

    spans: I64
    taps: I32
    half: I64
    box: int
    scale: float


class PeakMemory(NamedTuple):
    """The past peaks of all lanes of a bank, or of one of them: see ``kernels.peaks.peak_features``."""

    log: I64
    sample: I16
    past: U16


class PeakScratch(NamedTuple):
    """Scratch of a team: int32 [capacity], float64 [PAST_PEAKS], and the features float32 [FEATURES]."""

    stretch: I32
    numbers: F64
    features: F32


class Candidate(NamedTuple):
    """A candidate peak: its sample, its height, and the median, largest and least of the last five block maxima.

    muted  a bit for each lead that its features leave out
    """

    sample: int
    height: int
    level: int
    largest_maximum: int
    least_maximum: int
    muted: int


class Trees(NamedTuple):
    """Complete trees, see ``evaluate_trees``: row 0 for streams with one active lead, row 1 for several.

    feature      int16 [2, nodes, trees]
    threshold    float32 [2, nodes, trees]
    leaf         int32 [2, nodes + 1, trees]  in ``LEAF_UNIT``
    probability  float64 [knots]              of a beat by its logit, see ``beat_probability``
    """

    feature: I16
    threshold: F32
    leaf: I32
    probability: F64


class JudgeTrees(NamedTuple):
    """Complete trees of two judges (``kernels.peaks.classify.evaluate_trees``), those of the first one in row 0.

    feature    int16 [2, nodes, trees]
    threshold  float32 [2, nodes, trees]
    leaf       int32 [2, nodes + 1, trees]  in ``kernels.peaks.classify.LEAF_UNIT``
    """

    feature: I16
    threshold: F32
    leaf: I32


@dataclass(frozen=True, slots=True)
class Judges:
    """Two judges that were trained together: their trees, and ``name``: version and hash."""

    trees: JudgeTrees
    name: str
