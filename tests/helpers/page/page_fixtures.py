"""What the browser tests of the live page share: one browser a module, one server a test."""

from collections.abc import Iterator

import pytest
from beatwire.kafka.local.mock import MockKafka
from beatwire.page.dashboard import Dashboard
from page_browser import chromium
from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as made:
        yield made


@pytest.fixture
def page(mock: MockKafka) -> Iterator[Dashboard]:
    with Dashboard(mock.cluster, port=0) as made:
        yield made
