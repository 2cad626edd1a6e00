"""Boosted trees as stages take them."""

from dataclasses import dataclass

from beatwire.records import F32, F64, I16, I32


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Boosted trees, complete ones (``kernels.peaks.classify.evaluate_trees``), two rows of them.

    Row 0 and 1 of the detector: for one lead, for several. Of the classes: for V, for S.

    feature       int16 [2, nodes, trees]
    threshold     float32 [2, nodes, trees]
    leaf          int32 [2, nodes + 1, trees], in units of ``kernels.peaks.classify.LEAF_UNIT``
    probability   float64 [knots], by logit, see ``kernels.peaks.risk.beat_probability``
    name          version and hash
    """

    feature: I16
    threshold: F32
    leaf: I32
    probability: F64
    name: str
