"""A minute of two leads for tests of `import beatwire`, its analysis, and the comparison of tables of beats."""

import beatwire
import numpy as np
import pandas as pd
import pytest
from beatwire.recordings import NO_VALUE
from beatwire.recordings.synthetic.person import synthesise

FS = 250.0


def two_leads() -> np.ndarray:
    """Synthesise two leads of 60 s with a missing second and an asystole, int16, 5 uV a unit."""
    made = synthesise(3, rate_hz=FS, seconds=60, leads=2).recording.samples.copy()
    made[:, 5000:5250] = NO_VALUE
    made[:, 8000:9500] = made[:, 8000:8001]
    return made


@pytest.fixture(scope="module", name="samples")
def two_leads_fixture() -> np.ndarray:
    return two_leads()


@pytest.fixture(scope="module", name="whole")
def whole_fixture(samples: np.ndarray) -> beatwire.Result:
    return beatwire.analyze(samples, FS, leads=["II", "V1"], gain=200)


def assert_same(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    assert found["sample"].tolist() == expected["sample"].tolist()
    assert found["scored_by"].tolist() == expected["scored_by"].tolist()
    np.testing.assert_allclose(found["score"], expected["score"], atol=1e-4)
