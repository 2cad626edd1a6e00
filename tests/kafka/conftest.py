"""A Schema Registry, and clients of it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from beatwire.kafka.schemas.registry import Registry
from registry_server import RegistryServer


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with RegistryServer() as running:
        yield running


@pytest.fixture
def opened() -> Iterator[Callable[..., Registry]]:
    """Return a function that makes a client of a registry; close them after the test."""
    with ExitStack() as stack:
        yield lambda url, properties=None: stack.enter_context(Registry(url, properties))
