"""A real browser and a live feed for tests of the page: Chromium by Playwright, samples sent as time passes."""

import re
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

import numpy as np
from beatwire.page.dashboard import Dashboard
from beatwire.records import RawTick
from laws import Signal
from moments import LIMIT_S
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright
from skips import skip_unless_ci

WITHIN_MS = 1000 * LIMIT_S
CHUNK = 25  # samples: 100 ms
RATE_HZ = 250.0


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield Debian's Chromium; without it the test is skipped by name."""
    path = shutil.which("chromium")
    if path is None:
        skip_unless_ci("expected the command chromium (apt-get install chromium)")
    expect.set_options(WITHIN_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"], timeout=WITHIN_MS)
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, url: str, width: int = 1400, height: int = 900, **context: Any) -> Iterator[Page]:
    """Yield a page of its own; fail if it wrote an error, apart from connections that the test ended."""
    made = browser.new_context(viewport={"width": width, "height": height}, **context)
    page = made.new_page()
    page.set_default_timeout(WITHIN_MS)
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(url)
    yield page
    made.close()
    ended = re.compile("WebSocket connection|Failed to load resource")
    assert [error for error in errors if not ended.search(error)] == []


def heart(stream: str, seconds: float = 120.0, leads: int = 1, seed: int = 0, **changed: Any) -> Signal:
    """Return a stream of narrow beats, 75 a minute, with noise that makes every sample its own."""
    n = round(seconds * RATE_HZ)
    rng = np.random.default_rng(seed)
    phase = np.arange(n) % 200
    beats = 240 * np.exp(-(((phase - 60) / 3.0) ** 2)) + 50 * np.exp(-(((phase - 120) / 12.0) ** 2))
    samples = np.stack([beats / (1 + lead) for lead in range(leads)]) + rng.normal(0, 4, (leads, n))
    return Signal(stream, np.rint(samples).astype(np.int16), **changed)


class Feed:
    """Sends chunks of signals to the ward of a page, in real time, until it is stopped.

    ``absent`` are ranges of samples that are not sent.
    """

    def __init__(self, page: Dashboard, signals: Sequence[Signal], absent: Sequence[tuple[int, int]] = ()) -> None:
        self.page, self.signals, self.absent = page, signals, absent
        page.ward.unanalysed.patience_us = 1 << 60  # no monitor analyses these samples
        self.begin, self.began_us = 0, time.time_ns() // 1000
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="feed")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        began_s = time.monotonic()
        while not self._end.wait(max(0.0, began_s + self.begin / RATE_HZ - time.monotonic())):
            span = self.begin, self.begin + CHUNK
            if not any(start <= span[0] < stop for start, stop in self.absent):
                time_us = self.began_us + round(span[0] * 1e6 / RATE_HZ)
                chunks = [signal.chunk(*span, time_us=time_us) for signal in self.signals]
                self.page.ward.add_samples(RawTick.of(chunks, now_us=time.time_ns() // 1000))
            self.begin += CHUNK


def drawn(page: Page, stream: str, least: int = 1, beyond: int = 0) -> dict[str, Any]:
    """Wait until the trace of a stream shows so many samples, the last one after ``beyond``; return what it shows."""
    seen = page.wait_for_function(  # in one evaluation: a state may be gone a frame later, when the view changes
        "([id, least, beyond]) => {"
        " const s = window.beatwire?.state.of(id);"
        " return s && s.samples.length >= least && s.drawn > beyond ? s : null }",
        arg=[stream, least, beyond],
    )
    shown: dict[str, Any] = seen.json_value()
    return shown


def ink_of(page: Page, canvas: str) -> np.ndarray:
    """Return which columns of a canvas have pixels of the trace, bool [width]."""
    columns = page.eval_on_selector(
        canvas,
        """canvas => {
          const { width, height } = canvas;
          const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
          const ink = new Array(width).fill(false);
          for (let k = 0; k < width * height; k += 1) if (data[4 * k + 1] > 110) ink[k % width] = true;
          return ink;
        }""",
    )
    return np.array(columns)


def tile(page: Page, stream: str) -> Locator:
    """Return the tile of a stream in the ward."""
    return page.locator(f'[data-stream="{stream}"]')
