"""What staff enter at the live page while Kafka is slow, or refuses it."""

import threading
import time
from typing import Any

import pytest
from beatwire.errors import FatalError
from beatwire.page import browser as browser_module
from beatwire.page.dashboard import Dashboard
from beatwire.page.desk import Desk
from beatwire.records import RawTick
from laws import Signal
from moments import LIMIT_S
from page_browser import Feed, drawn, heart, opened
from page_client import Client
from page_ward import SAMPLES, alert
from playwright.sync_api import Browser, expect

pytest_plugins = ("page_fixtures",)

ENTERED = [
    {"type": "ack", "by": "Ada"},
    {"type": "limits", "stream": "bed-1"},
    {"type": "set limits", "stream": "bed-1", "limits": {"pause": 2.5}, "by": "Ada"},
]


@pytest.mark.parametrize("entered", ENTERED, ids=lambda one: one["type"])
def test_samples_and_the_ward_come_while_kafka_takes_what_was_entered(
    page: Dashboard, monkeypatch: pytest.MonkeyPatch, entered: dict[str, Any]
) -> None:
    answered = threading.Event()

    def slow(*_: Any) -> Any:
        assert answered.wait(LIMIT_S)
        raise FatalError("kafka: expected an answer; got none")

    for name in ("acknowledge", "limits", "change"):
        monkeypatch.setattr(Desk, name, slow)
    one = alert("bed-1", "asystole")
    page.ward.add_records([one])
    signal = Signal("bed-1", SAMPLES[None].repeat(40, 0).reshape(1, -1))
    with Client(page.url) as client:
        client.send(type="watch", streams=["bed-1"])
        client.expect("ward")
        client.send(
            **entered | ({"alert": (one.key or b"").decode(), "stream": "bed-1"} if "alert" not in entered else {})
        )
        for k in range(2 * browser_module.MOST_UNSEEN):
            page.ward.add_samples(RawTick.of([signal.chunk(50 * k, 50 * k + 50)], now_us=time.time_ns() // 1000))
            client.until(lambda end=50 * k + 50: bool(client.blocks) and _end(client) == end)
        client.send(type="ward", query="nobody", offset=0, limit=1)
        client.expect("ward", total=0)
        assert not [message for message in client.messages if message["type"] == "error"]
        answered.set()
        text = client.expect("error")["text"]
    assert text.startswith(f"{entered['type']}: ")
    assert "kafka: expected an answer" in text


def _end(client: Client) -> int:
    last = client.blocks[-1]
    return last.first + last.samples.shape[1]


def test_what_is_entered_while_too_much_waits_is_refused_and_said(
    page: Dashboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = threading.Event()
    monkeypatch.setattr(Desk, "limits", lambda *_: [] if answered.wait(LIMIT_S) else None)
    with Client(page.url) as client:
        for _ in range(browser_module.MOST_ENTERED + 3):
            client.send(type="limits", stream="bed-1")
        assert "this one is lost" in client.expect("error")["text"]
        answered.set()
        for _ in range(browser_module.MOST_ENTERED):
            client.expect("limits", stream="bed-1")


def test_limits_that_kafka_does_not_take_are_said_in_the_form_and_can_be_saved_again(
    browser: Browser, page: Dashboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, failures = Desk.change, ["kafka: expected an answer; got none"]

    def fails_once(desk: Desk, *given: Any) -> Any:
        if failures:
            raise FatalError(failures.pop())
        return change(desk, *given)

    monkeypatch.setattr(Desk, "change", fails_once)
    with Feed(page, [heart("bed-f")]), opened(browser, page.url + "#/bed/bed-f") as seen:
        drawn(seen, "bed-f", least=50)
        seen.get_by_text("Limits of this bed").click()
        seen.get_by_label("Pause", exact=False).first.fill("2.5")
        seen.locator("#who").fill("Grace Hopper")
        save = seen.get_by_role("button", name="Save limits")
        save.click()
        expect(seen.locator(".said")).to_have_text("set limits: kafka: expected an answer; got none")
        save.click()
        expect(seen.locator(".said")).to_have_text("In force within a second.")
