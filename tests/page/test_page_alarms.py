"""The alarms of the live page in a real browser: what stands first, how it flashes, sounds, and is acknowledged."""

import re

from beatwire.page.dashboard import Dashboard
from laws import START_US
from page_browser import Feed, drawn, heart, opened, tile
from page_ward import alert
from playwright.sync_api import Browser, Page, expect

pytest_plugins = ("page_fixtures",)


def test_keyboard_alone_suffices(browser: Browser, page: Dashboard) -> None:
    with Feed(page, [heart("bed-1"), heart("bed-2", leads=3)]), opened(browser, page.url) as seen:
        expect(tile(seen, "bed-2")).to_be_visible()
        page.ward.add_records([alert("bed-2", "asystole")])
        expect(tile(seen, "bed-2").locator(".alarm.high")).to_contain_text("***")
        expect(seen.locator(".tile-id").first).to_have_text("bed-2")
        while not seen.evaluate("document.activeElement.classList.contains('tile')"):
            seen.keyboard.press("Tab")
        assert "asystole" in seen.evaluate("document.activeElement.getAttribute('aria-label')")
        seen.keyboard.press("Enter")
        expect(seen.locator(".alerts .definition")).to_contain_text("No heartbeat for 4 s")
        shown = drawn(seen, "bed-2", least=100)
        assert len(shown["samples"]) == shown["drawn"] - shown["first"]
        assert seen.locator(".lead canvas").count() == 3
        seen.keyboard.press("a")
        seen.keyboard.type("Ada Lovelace")
        seen.keyboard.press("Enter")
        expect(seen.locator(".alerts .alarm")).to_have_class(re.compile("steady"))
        expect(seen.locator(".alerts .when")).to_contain_text("acknowledged by Ada Lovelace")
        seen.reload()
        expect(seen.locator(".alerts .when")).to_contain_text("acknowledged by Ada Lovelace")
        seen.keyboard.press("Escape")
        expect(tile(seen, "bed-2").locator(".alarm.high.steady")).to_contain_text("ack Ada Lovelace")


def test_an_alarm_that_has_ended_does_not_hide_one_that_goes_on(browser: Browser, page: Dashboard) -> None:
    with Feed(page, [heart("bed-1")]), opened(browser, page.url) as seen:
        drawn(seen, "bed-1")
        page.ward.add_records([alert("bed-1", "extreme tachycardia")])
        ended = {"text": "ended, not acknowledged: asystole", "decided_us": START_US + 9}
        page.ward.add_records([alert("bed-1", "asystole", "latched", **ended)])
        expect(tile(seen, "bed-1").locator(".alarm")).to_have_text("***extreme tachycardia+1")
        page.ward.add_records([alert("bed-1", "extreme tachycardia", "off")])
        expect(tile(seen, "bed-1").locator(".alarm")).to_have_text("***asystolelatched")
        tile(seen, "bed-1").click()
        expect(seen.locator(".alerts .alarm")).to_have_text("***asystolelatched")
        expect(seen.get_by_role("button", name="Acknowledge asystole", exact=True)).to_be_visible()


def edges(seen: Page, within_ms: int) -> tuple[int, int]:
    """Count how often the phases of high and medium alarms are switched on."""
    high, medium = seen.evaluate(
        """ms => new Promise(done => {
          const names = ["high-phase", "medium-phase"], counts = [0, 0];
          const state = () => names.map(name => document.body.classList.contains(name));
          let before = state();
          const watch = new MutationObserver(() => {
            const now = state();
            names.forEach((_, k) => { if (now[k] && !before[k]) counts[k] += 1; });
            before = now;
          });
          watch.observe(document.body, { attributes: true });
          setTimeout(() => done(counts), ms);
        })""",
        within_ms,
    )
    return high, medium


def test_alarms_flash_at_most_three_times_a_second_and_not_with_reduced_motion(
    browser: Browser, page: Dashboard
) -> None:
    with opened(browser, page.url) as seen:
        high, medium = edges(seen, 2000)
        assert 3 <= high <= 5
        assert medium in (1, 2)
        seen.emulate_media(reduced_motion="reduce")
        seen.wait_for_function("() => matchMedia('(prefers-reduced-motion: reduce)').matches")
        for phase in ("high-phase", "medium-phase"):  # if one was off, it is switched on for good
            expect(seen.locator("body")).to_have_class(re.compile(phase))
        assert edges(seen, 700) == (0, 0)


def test_sound_is_off_until_asked_for_and_a_higher_alarm_ends_its_pause(browser: Browser, page: Dashboard) -> None:
    with Feed(page, [heart("bed-1")]), opened(browser, page.url) as seen:
        sound, pause = seen.locator("#sound"), seen.locator("#pause")
        expect(sound).to_have_text("Sound off")
        expect(pause).to_be_hidden()
        page.ward.add_records([alert("bed-1", "tachycardia")])
        expect(seen.locator("#counts")).to_have_text("**1 medium")
        seen.keyboard.press("m")
        expect(sound).to_have_text("Sound on")
        seen.keyboard.press("p")
        expect(pause).to_have_text(re.compile(r"Sound paused (2:00|1:5\d)"))
        page.ward.add_records([alert("bed-1", "bradycardia")])
        expect(seen.locator("#counts")).to_contain_text("2 medium")
        expect(pause).to_contain_text("paused")
        page.ward.add_records([alert("bed-1", "asystole")])
        expect(pause).to_have_text("Pause sound 2 min")
        expect(seen.locator("#announce")).to_contain_text("high alarm, bed-1: asystole")


def test_an_alarm_of_another_bed_is_named_on_the_page_of_a_bed_and_in_the_title(
    browser: Browser, page: Dashboard
) -> None:
    with Feed(page, [heart("bed-2"), heart("bed-3")]), opened(browser, page.url + "#/bed/bed-2") as seen:
        drawn(seen, "bed-2")
        expect(seen).to_have_title("bed-2 - beatwire")
        page.ward.add_records([alert("bed-2", "tachycardia")])
        page.ward.add_records([alert("bed-3", "asystole", text="asystole: no beat for 4 s (signal doubtful)")])
        other = seen.locator("#elsewhere")
        expect(other).to_have_text("***bed-3: asystole")
        expect(seen).to_have_title("*** bed-3 asystole - bed-2 - beatwire")
        other.click()
        expect(seen.locator("#bed h1")).to_have_text("bed-3")
        expect(other).to_have_text("**bed-2: tachycardia")
        page.ward.add_records([alert("bed-2", "tachycardia", "ack")])
        expect(other).to_be_hidden()
        seen.keyboard.press("Escape")
        expect(seen).to_have_title("*** bed-3 asystole - beatwire")
        page.ward.add_records([alert("bed-3", "asystole", "off")])
        expect(seen).to_have_title("beatwire")


def test_a_lost_server_is_announced_once_and_sounds_instead_of_the_alarms_that_are_old(
    browser: Browser, page: Dashboard
) -> None:
    count = """() => {
      window.tones = []; window.spoken = [];
      const start = OscillatorNode.prototype.start;
      OscillatorNode.prototype.start = function (at) {
        window.tones.push(this.frequency.value);
        return start.call(this, at);
      };
      for (const region of document.querySelectorAll("[role=alert], [role=status]")) {
        new MutationObserver(() => window.spoken.push(region.textContent)).observe(region, { childList: true });
      }
    }"""
    with Feed(page, [heart("bed-1")]), opened(browser, page.url) as seen:
        drawn(seen, "bed-1")
        page.ward.add_records([alert("bed-1", "asystole")])
        expect(seen).to_have_title("*** bed-1 asystole - beatwire")
        seen.keyboard.press("m")
        seen.evaluate(count)
        page.__exit__(None, None, None)
        expect(seen.locator("#banner")).to_contain_text("trying again in 0:02")
        expect(seen).to_have_title("Disconnected - beatwire")
        seen.wait_for_timeout(3000)  # the alarms of before would sound and the countdown would be spoken in this time
        assert seen.evaluate("window.spoken") == ["Medium alarm. The server is lost: what is shown is old."]
        tones = seen.evaluate("window.tones")
        assert tones[-3:] == [660, 660, 660]
        assert tones.count(880) <= 4, "at most the burst that was due before"
        list_, banner = (seen.locator(part).bounding_box() for part in ("#list", "#banner"))
        assert list_ is not None
        assert banner is not None
        assert banner["y"] + banner["height"] <= list_["y"]


def test_an_acknowledgement_that_waits_for_a_name_is_forgotten_with_its_bed_its_alert_and_its_field(
    browser: Browser, page: Dashboard
) -> None:
    with Feed(page, [heart("bed-8"), heart("bed-9")]), opened(browser, page.url + "#/bed/bed-8") as seen:
        who, open_alarms = seen.locator("#who"), seen.locator(".alerts .alarm:not(.steady)")
        page.ward.add_records([alert("bed-8", "asystole"), alert("bed-8", "tachycardia"), alert("bed-9", "asystole")])
        drawn(seen, "bed-8")  # until then there may be "no such stream"
        expect(open_alarms).to_have_count(2)

        def leave() -> None:
            seen.keyboard.press("Escape")

        def change_bed() -> None:
            seen.evaluate("location.hash = '#/bed/bed-9'")
            drawn(seen, "bed-9")
            expect(open_alarms).to_have_count(1)
            seen.evaluate("location.hash = '#/bed/bed-8'")
            drawn(seen, "bed-8")
            expect(open_alarms).to_have_count(2)

        def end_alert() -> None:
            page.ward.add_records([alert("bed-8", "asystole", "off")])
            expect(open_alarms).to_have_count(1)

        for forget in (leave, change_bed, end_alert):
            seen.keyboard.press("a")
            expect(who).to_have_attribute("placeholder", "A name, then Enter")
            forget()
            expect(who).to_have_attribute("placeholder", "")
            who.fill("Kim")
            who.press("Enter")
            expect(who).not_to_be_focused()
            seen.wait_for_timeout(300)
            assert "acknowledged by" not in seen.locator(".alerts").inner_text()
            expect(seen.locator("#banner")).to_be_hidden()
            who.fill("")
            who.blur()
        page.__exit__(None, None, None)
        expect(seen.get_by_role("button", name="Acknowledge tachycardia")).to_be_disabled()
        expect(seen.locator(".alerts button")).to_have_text("Disconnected: cannot acknowledge")
