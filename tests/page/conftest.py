"""One mock cluster for each module of tests of the live page."""

from collections.abc import Iterator

import pytest
from beatwire.kafka.local.mock import MockKafka


@pytest.fixture(scope="module")
def mock() -> Iterator[MockKafka]:
    with MockKafka() as kafka:
        yield kafka
