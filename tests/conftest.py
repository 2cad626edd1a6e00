"""What all tests share: where the recordings are, and a small ward of signals."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beatwire.backends.choose import choose
from beatwire.kafka.local import broker

ECG = Path(__file__).parents[1].parent / "shared" / "ecg"


@pytest.fixture(scope="session")
def ecg_folder() -> Path:
    if not ECG.is_dir():
        pytest.skip("the annotated recordings are not beside this checkout (../shared/ecg)")
    return ECG


@pytest.fixture(scope="session")
def need_kafka() -> None:
    """Skip where no broker can be had, except in CI: there it is a failure."""
    missing = broker.unavailable_reason()
    if missing is not None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"no local Kafka: {missing}")


@pytest.fixture(scope="session")
def device() -> Any:
    """The card, with one pool for all tests: torch takes an allocator once."""
    return choose("gpu")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261121)
