"""What a browser shows while its server cannot be reached, or takes no more browsers; it returns by itself."""

import re

import pytest
from beatwire.kafka.local.mock import MockKafka
from beatwire.page import app
from beatwire.page.dashboard import Dashboard
from page_browser import Feed, drawn, heart, opened
from page_network import Network
from playwright.sync_api import Browser, Page, Route, expect

pytest_plugins = ("page_fixtures",)


def hasten(seen: Page) -> None:
    """Let a page wait for messages of its server a tenth as long."""

    def shorter(route: Route) -> None:
        text = route.fetch().text()
        found = text.replace("SILENCE_MS = 5000;", "SILENCE_MS = 500;").replace("1000)", "100)")
        assert len(found) == len(text) - 2
        route.fulfill(body=found, content_type="text/javascript")

    seen.route("**/static/connection.js", shorter)


def test_a_network_that_drops_packets_is_said_and_the_page_returns_by_itself(browser: Browser, mock: MockKafka) -> None:
    page = Dashboard(mock.cluster, port=0)
    with Network(page._port) as network:
        page._port = network.port  # the address of the page is that of the network
        with page, Feed(page, [heart("bed-1")]), opened(browser, "about:blank") as seen:
            hasten(seen)
            seen.goto(page.url)
            before = drawn(seen, "bed-1", least=100)
            network.drops = True
            for said in ("in 0:01", "now", "in 0:02"):  # no answer is waited for before it tries again
                seen.wait_for_function(
                    "said => document.getElementById('unsaid').textContent === said",
                    arg=f"Disconnected, trying again {said}",
                )
            expect(seen.locator("body")).to_have_class(re.compile("disconnected"))
            network.drops = False
            expect(seen.locator("#banner")).to_be_hidden()
            drawn(seen, "bed-1", beyond=before["drawn"] + 250)


def test_a_browser_beyond_the_most_says_why_and_follows_when_another_leaves(
    browser: Browser, page: Dashboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "MOST_BROWSERS", 1)
    with opened(browser, "about:blank") as late:
        hasten(late)
        with opened(browser, page.url) as first:
            expect(first.locator("#notice")).to_contain_text("No streams yet")
            late.goto(page.url)
            expect(late.locator("#notice")).to_have_text("The server takes no more than 1 browsers")
            expect(late.locator("#banner")).to_have_text(re.compile("no more than 1 browsers, trying again in 0:0"))
        expect(late.locator("#notice")).to_contain_text("No streams yet")
        expect(late.locator("#banner")).to_be_hidden()
