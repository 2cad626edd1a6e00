"""A planted asystole from the device to the screen: a real Kafka, a real monitor, a real browser."""

import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from beatwire.kafka.local.broker import LocalKafka
from beatwire.kafka.publishing.sender import Sender
from beatwire.page.dashboard import Dashboard
from beatwire.recordings.synthetic.person import synthesise
from beatwire.recordings.synthetic.rhythm import ASYSTOLE, Event
from beatwire.service.warmup import warm_up
from beatwire_producers.feeds import Feed
from beatwire_producers.replay import play
from page_browser import chromium, drawn, opened
from playwright.sync_api import expect

pytestmark = [pytest.mark.kafka, pytest.mark.alone]

DECISION_S = 4.0 + 0.5  # no beat for 4 s, and the budget of the monitor
PAGE_S = 1.0
CHUNK_S = 0.2  # a device sends a sample at most so long after it was taken
SECONDS = 40.0
START_S, STOP_S = 9.0, 18.0


@pytest.fixture
def monitor(kafka: LocalKafka) -> Iterator[None]:
    """Run a monitor as a user starts it, until the end of the test."""
    warm_up(print)
    command = [sys.executable, "-m", "beatwire", "monitor", "--bootstrap-servers", kafka.bootstrap, "--group", "page"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        assert any(line.startswith("monitoring") for line in process.stdout)
        yield
        process.kill()


def test_a_planted_asystole_is_on_the_page_in_time_and_its_acknowledgement_survives_a_reload(
    kafka: LocalKafka, monitor: None, wait: Callable[..., None]
) -> None:
    planted = synthesise(3, seconds=SECONDS, events=[Event(ASYSTOLE, START_S, STOP_S)])
    normal = synthesise(4, seconds=SECONDS)
    feeds = [Feed("bed-1", normal.recording), Feed("bed-2", planted.recording)]
    last_beat_s = planted.beats[planted.beats < START_S * 250].max() / 250
    started: list[float] = []
    done = threading.Event()

    def send() -> None:
        with Sender(kafka.cluster) as sender:

            def now() -> float:
                if not started:
                    started.append(time.time())
                return time.monotonic()

            play(feeds, sender, chunk_ms=1000 * CHUNK_S, clock=now, stop=done.is_set)

    feeding = threading.Thread(target=send)
    with Dashboard(kafka.cluster, port=0) as page, chromium() as browser, opened(browser, page.url) as seen:
        feeding.start()
        try:
            shown = drawn(seen, "bed-1", least=200)
            sent = normal.recording.samples[0, shown["first"] : shown["drawn"]]
            assert np.array_equal(shown["samples"], sent)
            alarm = seen.locator('[data-stream="bed-2"] .alarm.high')
            expect(alarm).to_contain_text("asystole")
            took_s = time.time() - started[0] - last_beat_s
            print(f"from the last beat to the page: {took_s:.2f} s")
            assert took_s < DECISION_S + CHUNK_S + PAGE_S
            seen.keyboard.press("Tab")
            alarm.click()
            expect(seen.get_by_role("button", name="Acknowledge asystole")).to_be_visible()
            seen.keyboard.press("a")
            expect(seen.locator("#who")).to_be_focused()
            seen.keyboard.type("Ada")
            seen.keyboard.press("Enter")
            expect(seen.locator(".alerts .when")).to_contain_text(re.compile(r"acknowledged by Ada at .* UTC"))
            seen.reload()
            expect(seen.locator(".alerts .when")).to_contain_text("acknowledged by Ada at")
        finally:
            done.set()
            feeding.join()
