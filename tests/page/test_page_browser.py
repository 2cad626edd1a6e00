"""The live page in a real browser: what it draws is what was sent, and it says what it cannot draw."""

import itertools
import re
import time
from datetime import UTC, datetime

import numpy as np
import pytest
from beatwire.kafka.local.mock import MockKafka
from beatwire.kernels.intake.ring import NO_VALUE
from beatwire.page.dashboard import Dashboard
from beatwire.records import RawTick
from moments import wait_until
from page_browser import RATE_HZ, Feed, drawn, heart, ink_of, opened, tile
from page_ward import alert, beat
from playwright.sync_api import Browser, expect

pytest_plugins = ("page_fixtures",)
SWEEP = 1500  # samples: 6 s


def test_traces_move_and_carry_the_samples_that_were_sent(browser: Browser, page: Dashboard) -> None:
    signals = [heart(f"bed-{k}", seed=k) for k in range(3)]
    with Feed(page, signals), opened(browser, page.url) as seen:
        before = drawn(seen, "bed-1", least=400)
        for signal in signals:

            def is_near(stream: str = signal.stream, of: np.ndarray = signal.samples[0]) -> bool:
                shown = drawn(seen, stream, least=400, beyond=before["drawn"] + 250)
                assert shown["samples"] == of[shown["first"] : shown["drawn"]].tolist()
                return bool(shown["newest"] - shown["drawn"] < 0.8 * RATE_HZ)

            wait_until(is_near)
        ink = ink_of(seen, '[data-stream="bed-1"] canvas')
        assert ink.mean() > 0.25


def test_a_gap_is_blank_in_the_trace(browser: Browser, page: Dashboard) -> None:
    with Feed(page, [heart("bed-1")], absent=[(150, 350)]), opened(browser, page.url) as seen:
        shown = drawn(seen, "bed-1", beyond=520)
        samples = np.array(shown["samples"])
        gap = slice(150 - shown["first"], 350 - shown["first"])
        assert (samples[gap] == NO_VALUE).all()
        assert (samples[gap.stop : gap.stop + 100] != NO_VALUE).all()
        ink = ink_of(seen, '[data-stream="bed-1"] canvas')
        step = len(ink) / SWEEP
        assert not ink[int(150 * step) + 2 : int(350 * step) - 2].any()
        assert ink[int(360 * step) : int(500 * step)].all()


def test_a_feed_that_stops_says_since_when_and_has_no_rate(browser: Browser, page: Dashboard) -> None:
    with Feed(page, [heart("bed-1")]) as feed, opened(browser, page.url) as seen:
        drawn(seen, "bed-1", least=100)
        feed.stop()
        state = tile(seen, "bed-1").locator(".tile-state")
        expect(state).to_have_text(re.compile(r"^no data since \d\d:\d\d:\d\d UTC$"))
        expect(tile(seen, "bed-1").locator(".silent canvas")).to_have_css("opacity", "0.2")
        expect(tile(seen, "bed-1").locator(".rate")).to_have_text("--")
        expect(tile(seen, "bed-1").locator("a")).to_have_attribute("aria-label", re.compile("rate -- per minute"))


def test_what_never_sent_says_why_by_its_technical_alert(browser: Browser, page: Dashboard) -> None:
    feed = "no data: no message from any stream for 2 s"
    page.ward.add_records([alert("ecg.samples", "no data", text=feed), alert("ecg.samples", "asystole", "latched")])
    page.ward.add_records([alert("ecg.samples/3", "noise", text="monitoring interrupted: 5 s")])
    page.ward.add_records([alert("bed-1", "asystole", text="asystole: no beat for 4 s")])
    said = {"ecg.samples": "no message from any stream for 2 s", "ecg.samples/3": "5 s", "bed-1": "no data"}
    with opened(browser, page.url) as seen:
        for stream, text in said.items():
            expect(tile(seen, stream).locator(".tile-state")).to_have_text(text)


def test_a_time_of_another_day_has_its_date_and_none_is_too_far(browser: Browser, page: Dashboard) -> None:
    now_us = 1_795_744_800_000_000  # 2026-11-27 02:00
    with opened(browser, page.url) as seen:
        for time_us, shown in (
            (now_us - 7_200_000_000, "00:00:00 UTC"),
            (now_us - 7_201_000_000, "2026-11-26 23:59:59 UTC"),
            (5_000_000, "1970-01-01 00:00:05 UTC"),
            (2**63 - 1, "2540-11-07 23:35:09 UTC"),
        ):
            found = "async ([at, now]) => (await import('/static/text.js')).since(at, now)"
            assert seen.evaluate(found, [time_us, now_us]) == shown


def test_the_page_returns_by_itself_when_the_server_does(browser: Browser, mock: MockKafka) -> None:
    with Dashboard(mock.cluster, port=0) as first, Feed(first, [heart("bed-1")]):
        port = int(re.findall(r":(\d+)/", first.url)[0])
        with opened(browser, first.url) as seen:
            drawn(seen, "bed-1", least=100)
            first.__exit__(None, None, None)
            expect(seen.locator("#banner")).to_have_text(re.compile(r"Disconnected, trying again in 0:0\d"))
            expect(seen.locator("body")).to_have_class(re.compile("disconnected"))
            tile(seen, "bed-1").click()
            again = heart("bed-1", seed=5, session=2)
            with Dashboard(mock.cluster, port=port) as second, Feed(second, [again]):
                expect(seen.locator("#banner")).to_be_hidden()

                def is_new() -> bool:  # until its first samples come, the trace is that of before
                    shown = drawn(seen, "bed-1", least=50)
                    return bool(shown["samples"] == again.samples[0, shown["first"] : shown["drawn"]].tolist())

                wait_until(is_new)
                expect(seen.locator(".plane")).to_have_attribute("aria-label", re.compile("beats in the plane"))


def test_a_page_whose_token_is_no_longer_valid_says_what_to_do(browser: Browser, mock: MockKafka) -> None:
    with Dashboard(mock.cluster, port=0, token="a-token-of-24-characters") as page:
        port = int(re.findall(r":(\d+)/", page.url)[0])
        with opened(browser, page.url) as seen:
            expect(seen.locator("#notice")).to_contain_text("beatwire replay")
            page.__exit__(None, None, None)
            with Dashboard(mock.cluster, port=port, token="another-token-of-24-char"):
                expect(seen.locator("#notice")).to_contain_text("Access denied")


def test_a_browser_that_is_too_slow_says_so_and_goes_on_with_a_gap(
    browser: Browser, page: Dashboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("beatwire.page.traces.RING_S", 0.75)  # a quarter of the time for which the browser stands
    monkeypatch.setattr("beatwire.page.browser.MOST_UNSEEN", 2)
    signal = heart("bed-1")
    with Feed(page, [signal]), opened(browser, page.url) as seen:
        before = drawn(seen, "bed-1", least=100)
        seen.evaluate("() => { const end = performance.now() + 3000; while (performance.now() < end); }")
        expect(seen.locator("#banner")).to_have_text(re.compile(r"This browser is too slow: \d+ samples were left out"))
        shown = drawn(seen, "bed-1", beyond=before["drawn"] + 600)
        samples = np.array(shown["samples"])
        sent = signal.samples[0, shown["first"] : shown["drawn"]]
        left_out = samples == NO_VALUE
        assert left_out.any()
        assert (samples[~left_out] == sent[~left_out]).all()


def test_a_bed_shows_its_beats_and_their_figures(browser: Browser, page: Dashboard) -> None:
    with Feed(page, [heart("bed-1", leads=2)]) as feed, opened(browser, page.url + "#/bed/bed-1") as seen:
        shown = drawn(seen, "bed-1", beyond=950)
        for k in range(1, 5):
            at_s = 0.24 + 0.8 * k
            when = datetime.fromtimestamp(feed.began_us / 1e6 + at_s, UTC)
            score = 5.0 if k == 4 else 0.4
            page.ward.add_records([beat("bed-1", at_s, time=when, score=score, map_x=0.3, map_y=0.1)])
        overlay = seen.locator(".overlay")
        expect(overlay).to_have_attribute("aria-label", re.compile(r"beats over the usual beat .* 1 of them scored 3"))
        expect(seen.locator(".plane")).to_have_attribute("aria-label", re.compile("^Last 4 beats in the plane"))
        expect(seen.locator(".tachogram")).to_have_attribute("aria-label", re.compile("^Rate of 4 beats"))
        for name in ("overlay", "plane", "decoded", "tachogram"):
            expect(seen.locator(f".{name}")).to_be_visible()
            assert ink_of(seen, f".{name}").any()
        assert ink_of(seen, ".marks").sum() > 7
        for lead in range(2):
            assert ink_of(seen, f".lead:nth-of-type({lead + 1}) canvas").mean() > 0.3
        assert shown["gain"] == 10


def test_every_label_of_an_axis_stands_at_its_value(browser: Browser, page: Dashboard) -> None:
    program = """async () => {
      const { drawPlane } = await import("/static/plots.js");
      const canvas = document.createElement("canvas");
      canvas.style = "width: 500px; height: 248px";
      document.body.append(canvas);
      const places = {};
      const context = canvas.getContext("2d");
      context.fillText = (text, x, y) => { if (y > 208) places[text] = x; };
      drawPlane(canvas, {}, { points: [], decoded: { x: [-1.8, 1.8], y: [-1.8, 1.8] } }, []);
      return places;
    }"""
    with opened(browser, page.url) as seen:
        places = seen.evaluate(program)
    assert places["2"] - places["0"] == pytest.approx(places["0"] - places["-2"])
    assert places["2"] - places["0"] == pytest.approx(2 / 5.4 * (500 - 48))


def test_the_playhead_is_even_waits_and_jumps(browser: Browser, page: Dashboard) -> None:
    program = """async () => {
      const { Playhead } = await import("/static/clock.js");
      const playhead = new Playhead(250);
      const behind = [], steps = [], late = [];
      let [newest, last] = [0, null];
      for (let ms = 0; ms < 12000; ms += 33) {
        if (ms < 5000 || ms > 9000) newest = 250 * Math.floor((ms - 40) / 125) / 8;  // eight messages a second
        const position = playhead.advance(ms, newest);
        if (ms > 2000 && ms < 5000) { behind.push((newest - position) / 250); steps.push(position - last); }
        if (ms > 8000 && ms < 9000) late.push(newest - position);
        last = position;
      }
      return { behind, steps, late, jumps: playhead.jumps, end: newest - last };
    }"""
    with opened(browser, page.url) as seen:
        got = seen.evaluate(program)
    assert min(got["behind"]) > 0.1
    assert max(got["behind"]) < 0.6
    assert max(got["steps"]) < 1.15 * min(got["steps"])  # an even trace from uneven messages
    assert set(got["late"]) == {0}  # all that came was drawn, and nothing else
    assert got["jumps"] == 1
    assert got["end"] < 0.6 * 250


@pytest.mark.parametrize("units", [(5.0, 0.0), (0.0, 5.0)])
def test_the_scale_is_that_of_the_present_session(
    browser: Browser, page: Dashboard, units: tuple[float, float]
) -> None:
    with opened(browser, page.url + "#/bed/bed-g") as seen:
        for session, uv_per_unit in enumerate(units, 1):
            with Feed(page, [heart("bed-g", session=session, uv_per_unit=uv_per_unit)]):
                said = "10 mm/mV" if uv_per_unit else "not calibrated"
                expect(seen.locator(".scale")).to_contain_text(said)


def test_an_empty_ward_and_a_search_without_result_say_what_to_do(browser: Browser, page: Dashboard) -> None:
    with opened(browser, page.url) as seen:
        expect(seen.locator("#notice")).to_contain_text("No streams yet")
        with Feed(page, [heart("bed-1"), heart("icu-1")]):
            expect(tile(seen, "icu-1")).to_be_visible()
            seen.keyboard.press("/")
            seen.keyboard.type("icu")
            expect(tile(seen, "bed-1")).to_have_count(0)
            seen.keyboard.type("x")
            expect(seen.locator("#notice")).to_contain_text('No stream has "icux" in its name')
            seen.keyboard.press("Escape")
            expect(tile(seen, "bed-1")).to_be_visible()
        seen.goto(page.url + "#/bed/nobody")
        expect(seen.locator("#notice")).to_contain_text("There is no stream nobody")


def test_a_stream_id_is_text_and_nothing_else(browser: Browser, page: Dashboard) -> None:
    name = "<img src=x onerror=window.hit=1>"
    with Feed(page, [heart(name)]), opened(browser, page.url) as seen:
        expect(seen.locator(".tile-id")).to_have_text(name)
        seen.locator(".tile").click()
        expect(seen.locator("#bed h1")).to_have_text(name)
        drawn(seen, name, least=50)
        assert seen.evaluate("window.hit") is None


def test_of_five_thousand_streams_only_the_visible_ones_are_on_the_page(browser: Browser, page: Dashboard) -> None:
    signals = [heart(f"s{k}", seconds=1.0) for k in range(8)]
    chunks = [signals[k % 8].chunk(0, 25, stream=f"bed-{k}") for k in range(5000)]
    for part in itertools.batched(chunks, 1000) if hasattr(itertools, "batched") else [chunks]:
        page.ward.add_samples(RawTick.of(part, now_us=time.time_ns() // 1000))
    with opened(browser, page.url) as seen:
        expect(seen.locator("#total")).to_have_text("5000 streams")
        expect(tile(seen, "bed-0")).to_be_visible()
        assert seen.locator(".tile").count() <= 64
        seen.evaluate("document.getElementById('list').scrollTop = 1e9")
        expect(tile(seen, "bed-4999")).to_be_visible()
        assert seen.locator(".tile").count() <= 64
        seen.wait_for_function("() => window.beatwire.stats.scriptMsP50 < 6")  # other work delays the first frames
