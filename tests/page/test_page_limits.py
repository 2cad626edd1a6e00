"""Limits of a bed at the live page: read, changed with a name, refused where they cannot be meant."""

import json
import re
from typing import Any

import pytest
from beatwire.alerts.limits import SETTABLE
from beatwire.alerts.settings import Settings
from beatwire.kafka.local.mock import MockKafka
from beatwire.kafka.reading.readers import read_to_end
from beatwire.page import desk
from beatwire.page.dashboard import Dashboard
from beatwire.wire import names
from beatwire.wire.staff import decode_limits
from page_browser import Feed, drawn, heart, opened
from page_client import Client
from playwright.sync_api import Browser, expect

pytest_plugins = ("page_fixtures",)


def value_of(message: dict[str, Any], rule: str) -> float:
    (row,) = (row for row in message["limits"] if row["rule"] == rule)
    return float(row["value"])


def entered(page: Dashboard, stream: str) -> list[dict[str, Any]]:
    """Return the changes of a stream's limits on the topic."""
    found = read_to_end(page._cluster, names.SETTINGS)
    return [decode_limits(value, key) for key, value in found if key == stream.encode() and value is not None]


def test_limits_are_asked_for_changed_one_by_one_and_returned_to_the_default(page: Dashboard) -> None:
    with Client(page.url) as client:
        client.send(type="limits", stream="bed-a")
        first = client.expect("limits", stream="bed-a")
        assert [row["rule"] for row in first["limits"]] == list(SETTABLE)
        assert all(row["value"] == row["default"] for row in first["limits"])
        for limits in ({"tachycardia": 140, "pause": 2.5}, {"pause": None}):
            client.messages.clear()
            client.send(type="set limits", stream="bed-a", limits=limits, by="Ada Lovelace")
            done = client.expect("limits", stream="bed-a")
            assert (done["saved"], done["replaced"]) == (True, None)
        assert value_of(done, "tachycardia") == 140
        assert value_of(done, "pause") == value_of(first, "pause")
    changes = entered(page, "bed-a")
    assert [one["limits"] for one in changes] == [{"tachycardia": 140, "pause": 2.5}, {"tachycardia": 140}]
    assert {one["by"] for one in changes} == {"Ada Lovelace"}
    audited = [json.loads(value) for key, value in read_to_end(page._cluster, names.AUDIT) if key == b"bed-a" and value]
    assert len(audited) == 2


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"type": "limits", "stream": ""}, "limits: expected stream"),
        ({"type": "limits"}, "limits: expected stream"),
        ({"type": "set limits", "stream": "bed-b", "by": "Ada"}, "set limits: expected limits"),
        ({"type": "set limits", "stream": "bed-b", "limits": {}, "by": "Ada"}, "set limits: expected limits"),
        ({"type": "set limits", "stream": "bed-b", "limits": {"pause": "3"}, "by": "Ada"}, "a number or null"),
        ({"type": "set limits", "stream": "bed-b", "limits": {"pause": True}, "by": "Ada"}, "a number or null"),
        ({"type": "set limits", "stream": "bed-b", "limits": {"pause": 2.0}, "by": " "}, "expected by of"),
        ({"type": "set limits", "stream": "bed-b", "limits": {"nothing": 2}, "by": "Ada"}, "expected one of"),
        ({"type": "set limits", "stream": "bed-b", "limits": {"pause": 99}, "by": "Ada"}, "expected pause of"),
        (
            {"type": "set limits", "stream": "bed-b", "limits": {"bradycardia": 90, "tachycardia": 80}, "by": "Ada"},
            "expected bradycardia of at most tachycardia",
        ),
    ],
)  # fmt: skip
def test_limits_that_cannot_be_meant_are_one_line_and_publish_nothing(
    page: Dashboard, message: dict[str, Any], text: str
) -> None:
    with Client(page.url) as client:
        client.send(**message)
        assert text in client.expect("error")["text"]
    assert entered(page, "bed-b") == []


@pytest.mark.parametrize("groups", [[], ["ward"]])
def test_monitors_with_other_default_limits_are_said_beside_those_of_the_page(
    page: Dashboard, browser: Browser, monkeypatch: pytest.MonkeyPatch, groups: list[str]
) -> None:
    monkeypatch.setattr(desk, "judging_otherwise", lambda _, digest: groups if digest == Settings().digest else ["?"])
    with Client(page.url) as client:
        client.send(type="limits", stream="bed-w")
        warning = client.expect("limits", stream="bed-w")["warning"]
    assert (warning is None) == (not groups)
    assert not groups or "group 'ward' has others" in warning
    with Feed(page, [heart("bed-w")]), opened(browser, page.url + "#/bed/bed-w") as seen:
        drawn(seen, "bed-w", least=50)
        seen.get_by_text("Limits of this bed").click()
        expect(seen.locator(".said")).to_have_text(warning or "")
        expect(seen.get_by_label(re.compile("^Tachycardia"))).to_have_attribute("placeholder", "120")


def test_a_page_that_is_read_only_has_no_limits_to_change(page: Dashboard) -> None:
    with Dashboard(page._cluster, port=0, writable=False) as only, Client(only.url) as client:
        for kind in ("limits", "set limits"):
            client.send(type=kind, stream="bed-c", limits={"pause": 2.5}, by="Ada")
            assert client.expect("error")["text"] == "limits: this page is read-only"
            client.messages.clear()


def test_a_nurse_opens_the_limits_of_a_bed_changes_one_and_is_told_when_it_holds(
    browser: Browser, page: Dashboard
) -> None:
    with Feed(page, [heart("bed-d")]), opened(browser, page.url + "#/bed/bed-d") as seen:
        drawn(seen, "bed-d", least=50)
        seen.get_by_text("Limits of this bed").click()
        field = seen.get_by_label(re.compile("^Tachycardia"))
        expect(field).to_have_attribute("placeholder", "120")
        field.fill("135")
        save = seen.get_by_role("button", name="Save limits")
        save.click()
        expect(seen.locator(".said")).to_have_text("A name is needed, above.")
        seen.locator("#who").fill("Grace Hopper")
        save.click()
        expect(seen.locator(".said")).to_have_text("In force within a second.")
        expect(field).to_have_value("135")
        field.fill("")
        save.click()
        expect(seen.locator(".said")).to_have_text("In force within a second.")
        expect(field).to_have_value("")
        seen.get_by_label(re.compile("^Bradycardia")).fill("100")
        seen.get_by_label(re.compile("^Tachycardia")).fill("90")
        save.click()
        expect(seen.locator(".said")).to_contain_text("expected bradycardia of at most tachycardia")
    assert [one["limits"] for one in entered(page, "bed-d")] == [{"tachycardia": 135}, {}]


def test_limits_that_are_entered_and_not_saved_stay_when_the_page_connects_again(
    browser: Browser, mock: MockKafka
) -> None:
    with (
        Dashboard(mock.cluster, port=0) as first,
        Feed(first, [heart("bed-e")]),
        opened(browser, first.url + "#/bed/bed-e") as seen,
    ):
        drawn(seen, "bed-e", least=50)
        seen.get_by_text("Limits of this bed").click()
        field = seen.get_by_label(re.compile("^Tachycardia"))
        field.fill("135")
        first.__exit__(None, None, None)
        expect(seen.locator("#banner")).to_contain_text("Disconnected")
        port, again = int(re.findall(r":(\d+)/", first.url)[0]), heart("bed-e", session=2)
        with Dashboard(mock.cluster, port=port) as second, Feed(second, [again]):
            expect(seen.locator(".said")).to_have_text("What is entered is not saved yet.")
            expect(field).to_have_value("135")
            seen.locator("#who").fill("Grace Hopper")
            seen.get_by_role("button", name="Save limits").click()
            expect(seen.locator(".said")).to_have_text("In force within a second.")
            assert [one["limits"] for one in entered(second, "bed-e")] == [{"tachycardia": 135}]
