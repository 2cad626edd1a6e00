"""Settings of the two training runs. With the same settings and records a run gives the same model."""

from __future__ import annotations

import importlib.util
from dataclasses import asdict, dataclass
from typing import Any

from beatwire.errors import UserError

FOLDS = 5  # of the cross-validation

# Names of the fields of TreeSettings in the config of a detector, where these differ. The files are older than the
# names in the code, and a detector's name is a hash of its files.
STORED_AS = {
    "max_leaves": "leaves",
    "max_depth": "depth",
    "min_peaks": "fewest",
    "logit_bias": "lean",
    "logit_bias_several": "lean_several",
    "learning_rate": "rate",
    "feature_fraction": "features",
    "l2": "ridge",
}


@dataclass(frozen=True, slots=True)
class VaeSettings:
    """Settings of the training of the VAE.

    steps, batch   of Adam, with a one-cycle schedule up to ``learning_rate``
    hidden         units of the hidden layers
    variance       of the Gaussian likelihood of a window's points, in units of the usual size squared
    size_jitter    standard deviation of the log of a random gain, so that the network does not depend on the exact size
    """

    seed: int = 0
    steps: int = 3000
    batch: int = 512
    hidden: int = 32
    variance: float = 4.0
    learning_rate: float = 3e-3
    size_jitter: float = 0.1


@dataclass(frozen=True, slots=True)
class TreeSettings:
    """Settings of the training of the detector's trees, LightGBM's terms.

    min_peaks           of a leaf
    logit_bias          added to the logits of the trees for one lead: a missed beat is worse than a false one
    logit_bias_several  the same for the trees for several leads
    feature_fraction    share of the features that each tree uses
    l2                  regularisation of the leaves
    """

    trees: int = 150
    max_leaves: int = 31
    max_depth: int = 6
    min_peaks: int = 50
    logit_bias: float = 1.0
    logit_bias_several: float = 0.75
    learning_rate: float = 0.1
    feature_fraction: float = 0.6
    l2: float = 5.0
    seed: int = 0

    def stored(self) -> dict[str, Any]:
        """Return the settings under the names of the detector's config."""
        return {STORED_AS.get(name, name): value for name, value in asdict(self).items()}


def require(package: str, command: str) -> None:
    """Raise ``UserError`` with the command that installs ``package`` if it is not installed."""
    if importlib.util.find_spec(package) is None:
        raise UserError(f"{command}: expected {package}; it is not installed (pip install 'beatwire[train]')")
