"""What all tests share: where the recordings are, and a small ward of signals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streaming.backend import choose

ECG = Path(__file__).parents[1].parent / "shared" / "ecg"


@pytest.fixture(scope="session")
def ecg_folder() -> Path:
    if not ECG.is_dir():
        pytest.skip("the annotated recordings are not beside this checkout (../shared/ecg)")
    return ECG


@pytest.fixture(scope="session")
def device() -> Any:
    """The card, with one pool for all tests: torch takes an allocator once."""
    return choose("gpu")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261121)
