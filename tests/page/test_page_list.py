"""The ward as a list without traces, and with the beds alone that have an alarm."""

import time

from beatwire.page.dashboard import Dashboard
from beatwire.records import RawTick
from page_browser import Feed, heart, opened, tile
from page_client import Client
from page_ward import alert
from playwright.sync_api import Browser, expect

pytest_plugins = ("page_fixtures",)


def fill(page: Dashboard, beds: int) -> None:
    """Let so many beds send, two of them with an alarm."""
    one = heart("one", seconds=1.0)
    chunks = [one.chunk(0, 25, stream=f"bed-{k}") for k in range(beds)]
    page.ward.add_samples(RawTick.of(chunks, now_us=time.time_ns() // 1000))
    page.ward.add_records([alert("bed-7", "asystole"), alert("bed-9", "tachycardia")])


def test_a_client_can_ask_for_the_streams_with_an_alarm_alone(page: Dashboard) -> None:
    fill(page, 20)
    with Client(page.url) as client:
        client.send(type="ward", query="", offset=0, limit=10, alarms_only=True)
        got = client.expect("ward", total=2)
        assert [bed["stream"] for bed in got["beds"]] == ["bed-7", "bed-9"]
        assert got["streams"] == 20
        client.send(type="ward", query="9", offset=0, limit=10, alarms_only=True)
        assert client.expect("ward", total=1)["beds"][0]["stream"] == "bed-9"
        client.send(type="ward", query="", offset=0, limit=10, alarms_only="yes")
        assert client.expect("error")["text"] == "ward: expected alarms_only true or false"


def test_two_hundred_beds_are_lines_that_fit_the_screen_or_those_with_an_alarm(
    browser: Browser, page: Dashboard
) -> None:
    fill(page, 200)
    with opened(browser, page.url) as seen:
        seen.set_viewport_size({"width": 2560, "height": 1440})
        expect(tile(seen, "bed-7")).to_be_visible()
        seen.get_by_role("button", name="List").click()
        expect(seen.locator("[data-stream]")).to_have_count(200)
        heights = seen.eval_on_selector_all(
            "[data-stream]", "all => all.map(one => one.getBoundingClientRect().bottom)"
        )
        assert max(heights) <= 1440, "all are on the screen"
        expect(tile(seen, "bed-7").locator(".what")).to_be_visible()
        first = seen.eval_on_selector_all("[data-stream]", "all => all.slice(0, 2).map(one => one.dataset.stream)")
        assert first == ["bed-7", "bed-9"]
        seen.keyboard.press("o")
        expect(seen.locator("[data-stream]")).to_have_count(2)
        expect(seen.get_by_role("button", name="Alarms only")).to_have_attribute("aria-pressed", "true")
        seen.keyboard.press("o")
        seen.keyboard.press("l")
        expect(seen.get_by_role("button", name="List")).to_have_attribute("aria-pressed", "false")


def test_a_ward_without_alarms_says_so_instead_of_showing_nothing(browser: Browser, page: Dashboard) -> None:
    with Feed(page, [heart("bed-1")]), opened(browser, page.url) as seen:
        expect(tile(seen, "bed-1")).to_be_visible()
        seen.keyboard.press("o")
        expect(seen.locator("#notice")).to_contain_text("No bed has an alarm")
        seen.keyboard.press("o")
        expect(tile(seen, "bed-1")).to_be_visible()
