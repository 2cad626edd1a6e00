"""Fixtures of the tests of judging."""

import importlib
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def networks() -> ModuleType:
    """Return the networks of scorers; torch is imported only where a test needs it."""
    pytest.importorskip("torch", reason="needs torch (pip install 'beatwire[train]')")
    return importlib.import_module("scorer_networks")
