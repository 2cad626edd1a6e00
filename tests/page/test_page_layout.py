"""The layout of the live page in a real browser: on every screen all has its place, and nothing is cut off."""

import pytest
from beatwire.page.dashboard import Dashboard
from page_browser import Feed, drawn, heart, opened, tile
from page_ward import alert, beat
from playwright.sync_api import Browser, expect

pytest_plugins = ("page_fixtures",)


def test_two_beds_whose_ids_differ_at_the_end_look_different_whatever_the_layout(
    browser: Browser, page: Dashboard
) -> None:
    ids = [f"ward-3-north-wing-of-the-old-house-bed-{k}" for k in (1, 2)]
    rightward = "\u0633\u0631\u064a\u0631-12 \u0633\u0631\u064a\u0631"
    page.ward.add_records([beat(name, 0.0) for name in (*ids, rightward)])
    with opened(browser, page.url) as seen:
        for compact in (False, True):
            for name in ids:
                shown = tile(seen, name).locator(".tile-id")
                expect(shown).to_have_text(name)
                assert (
                    shown.evaluate(
                        "at => { const end = document.createRange(); end.selectNodeContents(at.lastChild);"
                        " const right = (part) => part.getBoundingClientRect().right;"
                        " return end.toString().slice(-5) + (right(end) <= right(at) + 0.5) }"
                    )
                    == f"bed-{name[-1]}true"
                )
            whole = tile(seen, rightward).locator(".tile-id .begin")
            expect(whole).to_have_text(rightward)
            if not compact:
                seen.keyboard.press("l")


@pytest.mark.parametrize("address", ["#/ward", "#/bed/bed-1"])
def test_three_priorities_and_the_sound_fit_into_the_line_at_the_top(
    browser: Browser, page: Dashboard, address: str
) -> None:
    with Feed(page, [heart("bed-1")]), opened(browser, page.url + address) as seen:
        drawn(seen, "bed-1")
        page.ward.add_records([alert("bed-1", rule) for rule in ("asystole", "tachycardia", "anomalous beats")])
        page.ward.add_records([alert(f"bed-{k}", rule) for k in range(2, 14) for rule in ("asystole", "tachycardia")])
        seen.keyboard.press("m")
        expect(seen.locator("#pause")).to_be_visible()
        expect(seen.locator("#counts")).to_contain_text("1 low")
        for width, height in ((1440, 900), (1024, 768), (820, 1180), (768, 1024), (844, 390), (400, 800)):
            seen.set_viewport_size({"width": width, "height": height})
            for part in ("#counts", "#sound", "#pause", "#clock"):
                expect(seen.locator(part)).to_be_in_viewport(ratio=1)
            assert seen.evaluate("document.documentElement.scrollWidth") <= width


def test_a_trace_and_an_alarm_are_seen_at_once_on_every_screen(browser: Browser, page: Dashboard) -> None:
    beds = [heart("bed-1"), heart("bed-12", leads=12)]
    with Feed(page, beds), opened(browser, page.url, 320, 480) as seen:
        drawn(seen, "bed-1")
        for bed in ("bed-1", "bed-12"):
            page.ward.add_records([alert(bed, rule) for rule in ("asystole", "tachycardia", "anomalous beats")])
            seen.goto(page.url + f"#/bed/{bed}")
            expect(seen.locator(".alerts .alarm")).to_have_count(3)
            for width, height in ((390, 844), (1024, 768), (1440, 900), (360, 640), (700, 450)):
                seen.set_viewport_size({"width": width, "height": height})
                expect(seen.locator(".lead canvas").first).to_be_in_viewport(ratio=1)
                expect(seen.locator(".alerts .alarm").first).to_be_in_viewport(ratio=1)


def test_one_lead_and_two_use_the_height_of_three(browser: Browser, page: Dashboard) -> None:
    beds = {leads: heart(f"bed-{leads}", leads=leads) for leads in (1, 2, 3)}
    heights = {}
    with Feed(page, list(beds.values())), opened(browser, page.url + "#/ward", 1400, 900) as seen:
        for leads in beds:
            seen.goto(page.url + f"#/bed/bed-{leads}")
            seen.wait_for_function(f"() => document.querySelectorAll('#bed .lead').length === {leads}")
            heights[leads] = seen.evaluate("() => document.querySelector('#bed .lead').clientHeight")
    assert heights[1] == pytest.approx(2 * heights[3], abs=1)
    assert heights[2] == pytest.approx(1.5 * heights[3], abs=1)


@pytest.mark.parametrize("address", ["#/ward", "#/bed/bed-1"])
def test_a_narrow_screen_needs_no_horizontal_scrolling(browser: Browser, page: Dashboard, address: str) -> None:
    with Feed(page, [heart("bed-1", leads=12)]), opened(browser, page.url + address, 400, 800) as seen:
        page.ward.add_records([alert("bed-1", "asystole", text="asystole: " + "a long text " * 9)])
        drawn(seen, "bed-1", least=50)
        expect(seen.locator(".alarm").first).to_be_visible()
        assert seen.evaluate("document.documentElement.scrollWidth") <= 400
        wide = seen.eval_on_selector("#list, #bed:not([hidden])", "e => e.scrollWidth - e.clientWidth")
        assert wide <= 0


def test_the_search_field_of_a_phone_shows_what_it_is(browser: Browser, page: Dashboard) -> None:
    with opened(browser, page.url, 390, 844) as seen:
        for rules in ((), ("asystole",)):  # the number of alarms takes a line
            page.ward.add_records([alert("bed-1", rule) for rule in rules])
            expect(seen.locator("#counts .alarm")).to_have_count(len(rules))
            for width in (390, 360, 320):
                seen.set_viewport_size({"width": width, "height": 844})
                assert seen.evaluate("document.querySelector('#query').clientWidth") >= 90
                assert seen.evaluate("document.documentElement.scrollWidth") <= width
