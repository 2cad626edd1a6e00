"""What staff meet beside the usual alarm: a second one, a pause that is over, wrong clocks, small screens."""

import itertools
import re
import time

from beatwire.page.dashboard import Dashboard
from laws import START_US
from page_browser import Feed, drawn, heart, opened, tile
from page_ward import alert, beat
from playwright.sync_api import Browser, expect

pytest_plugins = ("page_fixtures",)

TONES = """() => {
  window.tones = [];
  const start = OscillatorNode.prototype.start;
  OscillatorNode.prototype.start = function (at) {
    window.tones.push([at, this.frequency.value]);
    return start.call(this, at);
  };
}"""


def test_an_acknowledged_alarm_hides_none_that_nobody_has_acknowledged_nor_its_own_name(
    browser: Browser, page: Dashboard
) -> None:
    with Feed(page, [heart("bed-1"), heart("bed-2")]), opened(browser, page.url, 700, 500) as seen:
        drawn(seen, "bed-1")
        by = {"ack_by": "Maria-Magdalena Oberhuber-Schwarzenegger", "ack_us": START_US}
        page.ward.add_records([alert("bed-1", "ventricular fibrillation", "ack", **by)])
        lines = tile(seen, "bed-1").locator(".alarm")
        expect(lines).to_have_text(re.compile(r"^\*\*\*ventricular fibrillationack Maria"))
        name = lines.locator(".what")
        assert name.evaluate("e => e.scrollWidth <= e.clientWidth"), "the long name gives way"
        page.ward.add_records([alert("bed-1", "tachycardia"), alert("bed-1", "couplet")])
        expect(lines).to_have_count(2)
        expect(lines.nth(1)).to_have_text("**tachycardia+1")
        expect(lines.nth(1)).not_to_have_class(re.compile("steady"))
        expect(lines.nth(1).locator(".more")).to_be_in_viewport(ratio=1)


def test_a_pause_ends_with_a_new_alarm_that_is_higher_than_what_is_left_of_those_it_was_for(
    browser: Browser, page: Dashboard
) -> None:
    with Feed(page, [heart("bed-1"), heart("bed-2")]), opened(browser, page.url) as seen:
        pause, counts = seen.locator("#pause"), seen.locator("#counts")
        page.ward.add_records([alert("bed-1", "asystole"), alert("bed-2", "tachycardia")])
        expect(counts).to_contain_text("1 high")
        seen.keyboard.press("m")
        seen.keyboard.press("p")
        page.ward.add_records([alert("bed-2", "asystole", text="another one")])
        expect(counts).to_contain_text("2 high")
        expect(pause).to_contain_text("paused")
        page.ward.add_records([alert("bed-1", "asystole", "off"), alert("bed-2", "asystole", "ack")])
        expect(seen).to_have_title(re.compile("bed-2 tachycardia"))
        expect(pause).to_contain_text("paused")
        page.ward.add_records([alert("bed-1", "extreme tachycardia")])
        expect(pause).to_have_text("Pause sound 2 min")


def test_alarms_that_begin_together_are_one_burst(browser: Browser, page: Dashboard) -> None:
    with opened(browser, page.url) as seen:
        expect(seen.locator("#notice")).to_contain_text("No streams yet")
        seen.evaluate(TONES)
        seen.keyboard.press("m")
        expect(seen.locator("#sound")).to_have_text("Sound on")
        for number in range(12):
            page.ward.add_records([alert(f"bed-{number}", "asystole")])
            seen.wait_for_timeout(50)
        expect(seen.locator("#counts")).to_have_text("***12 high")
        seen.wait_for_function("() => window.tones.length >= 10")
        starts = [at_s for at_s, _ in seen.evaluate("window.tones")][:10]
        assert starts == sorted(starts)
        assert min(b - a for a, b in itertools.pairwise(starts)) > 0.14


def test_a_browser_that_stops_the_sound_is_said_and_asked_again(browser: Browser, page: Dashboard) -> None:
    with opened(browser, page.url) as seen:
        seen.evaluate(
            """() => {
              window.asked = 0;
              Object.defineProperty(AudioContext.prototype, "state", { get: () => "interrupted" });
              AudioContext.prototype.resume = async () => { window.asked += 1; };
            }"""
        )
        page.ward.add_records([alert("bed-1", "asystole")])
        seen.keyboard.press("m")
        expect(seen.locator("#sound")).to_have_text("Sound stopped by the browser")
        seen.wait_for_function("() => window.asked > 0")


def test_a_date_is_that_of_the_server_whatever_day_the_browser_has_and_an_address_may_be_typed(
    browser: Browser, page: Dashboard
) -> None:
    now_us = time.time_ns() // 1000
    with Feed(page, [heart("50%")]), opened(browser, "about:blank") as seen:
        seen.add_init_script("const true_ms = Date.now; Date.now = () => true_ms() - 86400e3;")
        seen.goto(page.url + "#/bed/50%")
        drawn(seen, "50%")
        page.ward.add_records([alert("50%", "asystole", onset_us=now_us - 86_400_000_000)])
        expect(seen.locator(".alerts .when").first).to_have_text(re.compile(r"^Since \d{4}-\d\d-\d\d "))


def test_beats_are_shown_when_a_devices_clock_was_set_back(browser: Browser, page: Dashboard) -> None:
    with Feed(page, [heart("bed-1")]) as feed, opened(browser, page.url + "#/bed/bed-1") as seen:
        newest = drawn(seen, "bed-1", least=300)["newest"]
        ahead_s = (feed.began_us - START_US) / 1e6 + 3600.0
        page.ward.add_records([beat("bed-1", ahead_s + k, sample=newest - 500) for k in range(5)])
        tachogram = seen.locator(".tachogram")
        expect(tachogram).to_have_attribute("aria-label", re.compile("Rate of 5 beats"))
        now = [beat("bed-1", ahead_s - 3600.0 + at / 250.0, sample=at) for at in range(newest - 250, newest - 100, 50)]
        page.ward.add_records(now)
        expect(tachogram).to_have_attribute("aria-label", re.compile("Rate of 3 beats"))
        expect(seen.locator(".overlay")).to_have_attribute("aria-label", re.compile("Last 3 beats"))
        seen.reload()
        expect(tachogram).to_have_attribute("aria-label", re.compile("Rate of 3 beats"))


def test_alarms_keep_their_colours_where_the_reader_has_chosen_others(browser: Browser, page: Dashboard) -> None:
    with opened(browser, page.url, forced_colors="active") as seen:
        page.ward.add_records([alert("bed-1", "asystole", "ack"), alert("bed-2", "tachycardia", "ack")])
        colours = [
            seen.locator(f".tile .alarm.{priority}").evaluate("e => getComputedStyle(e).backgroundColor")
            for priority in ("high", "medium")
        ]
        assert colours == ["rgb(196, 18, 43)", "rgb(255, 214, 10)"]
        seen.keyboard.press("o")
        only, compact = (
            seen.locator(name).evaluate("e => getComputedStyle(e).backgroundColor") for name in ("#only", "#compact")
        )
        assert only != compact


def test_a_page_without_a_monitor_says_so_until_there_is_one(browser: Browser, page: Dashboard) -> None:
    with Feed(page, [heart("bed-1"), heart("bed-2")]) as feed, opened(browser, page.url) as seen:
        newest = drawn(seen, "bed-1")["newest"]
        page.ward.unanalysed.patience_us = 0
        expect(seen.locator("#banner")).to_have_text(re.compile("^2 of 2 not analysed. Neither beats nor alerts"))
        expect(seen.locator("#announce")).to_contain_text("Medium alarm. Neither beats")
        expect(seen).to_have_title("Not analysed - beatwire")
        expect(tile(seen, "bed-2").locator(".tile-state")).to_have_text("not analysed: no beats, no alerts")
        page.ward.add_records([alert("bed-1", "asystole")])
        expect(seen).to_have_title("*** bed-1 asystole - beatwire")
        expect(seen.locator("#banner")).to_contain_text("1 of 2")
        feed.page.ward.unanalysed.patience_us = 1 << 60
        page.ward.add_records([beat("bed-2", newest / 250.0)])
        expect(seen.locator("#banner")).to_be_hidden()
        expect(tile(seen, "bed-2").locator(".tile-state")).to_be_hidden()


def test_a_key_that_is_held_acknowledges_one_alarm(browser: Browser, page: Dashboard) -> None:
    with Feed(page, [heart("bed-1")]), opened(browser, page.url + "#/bed/bed-1") as seen:
        drawn(seen, "bed-1")
        page.ward.add_records([alert("bed-1", "asystole"), alert("bed-1", "lead off")])
        buttons = seen.locator(".alerts button")
        expect(buttons).to_have_count(2)
        seen.locator("#who").fill("Ada")
        seen.locator("#who").blur()
        seen.keyboard.down("a")
        expect(buttons).to_have_count(1)
        seen.evaluate(
            """() => {
              window.sent = [];
              const send = WebSocket.prototype.send;
              WebSocket.prototype.send = function (text) {
                window.sent.push(JSON.parse(text).type);
                return send.call(this, text);
              };
            }"""
        )
        for _ in range(5):
            seen.keyboard.down("a")
        drawn(seen, "bed-1", beyond=drawn(seen, "bed-1")["drawn"])
        assert "ack" not in seen.evaluate("window.sent")
        expect(buttons).to_have_count(1)
        seen.keyboard.up("a")
        seen.keyboard.press("a")
        expect(buttons).to_have_count(0)
