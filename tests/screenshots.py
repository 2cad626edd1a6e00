"""Pictures of the live page for the documentation: ``python tests/screenshots.py OUT``.

In: a folder. Out: ``ward.png`` and ``bed.png`` in it, at 1400 x 900; with ``--sizes`` also for a phone and a wall.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from page_browser import chromium, opened
from page_scene import eventful_feeds, live_ward

AFTER_S = 37.0  # all events have begun, and the first latched alarm waits
SIZES = {"": (1400, 900), "-phone": (400, 800), "-wall": (2560, 1440)}
VIEWS = {"ward": "#/ward", "bed": "#/bed/bed-4"}
ALARMS_ARE_LIT = "() => ['high-phase', 'medium-phase'].every(name => document.body.classList.contains(name))"
FILLED_S = 7.0  # a sweep, so that the trace is whole


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--sizes", action="store_true", help="also of a phone and of a wall")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    sizes = SIZES if options.sizes else {"": SIZES[""]}
    with live_ward(eventful_feeds()) as page, chromium() as browser:
        time.sleep(AFTER_S)
        for suffix, (width, height) in sizes.items():
            for view, address in VIEWS.items():
                with opened(browser, page.url + address, width, height) as seen:
                    time.sleep(FILLED_S)
                    seen.wait_for_function(ALARMS_ARE_LIT)
                    path = options.out / f"{view}{suffix}.png"
                    seen.screenshot(path=path)
                    print(f"{path}  {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    sys.exit(main())
