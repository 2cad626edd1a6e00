"""Cost of the live page for 8 and 64 beds: ``python tests/helpers/page/bench_page.py``.

Prints, for headless Chromium: frames a second, the page's own script time a frame (drawing, and the messages since the
frame before), bytes and messages a second. The ward, the monitor, the server and the browser share this machine.
"""

import os
import sys
import time

from page_browser import chromium, drawn, opened
from page_scene import feeds, live_ward

BEDS = (8, 64)
BAR_MS, BAR_BYTES = 6.0, 0.3e6
WARM_S, MEASURED_S = 8.0, 25.0
WALL = (2560, 1440)


def main() -> None:
    """Measure and print."""
    print(f"{os.cpu_count()} processors; script below {BAR_MS:g} ms a frame and {BAR_BYTES / 1e6:g} MB/s are the bars")
    print(
        f"{'beds':>4}  {'tiles':>5}  {'frames/s':>8}  {'script p50':>10}  {'p95':>8}  {'kB/s':>6}  {'messages/s':>10}"
    )
    with chromium() as browser:
        for beds in BEDS:
            with live_ward(feeds(beds)) as page, opened(browser, page.url, *WALL) as seen:
                drawn(seen, f"bed-{beds}", least=500)
                time.sleep(WARM_S)
                before = seen.evaluate("() => window.beatwire.stats")
                time.sleep(MEASURED_S)
                after = seen.evaluate("() => window.beatwire.stats")
                tiles = seen.evaluate("() => window.beatwire.state.drawn.length")
            elapsed_s = (after["nowMs"] - before["nowMs"]) / 1000
            rates = {name: (after[name] - before[name]) / elapsed_s for name in ("frames", "bytes", "messages")}
            script = f"{after['scriptMsP50']:7.2f} ms  {after['scriptMsP95']:5.2f} ms"
            traffic = f"{rates['bytes'] / 1000:6.1f}  {rates['messages']:10.1f}"
            print(f"{beds:4}  {tiles:5}  {rates['frames']:8.1f}  {script}  {traffic}")


if __name__ == "__main__":
    sys.exit(main())
