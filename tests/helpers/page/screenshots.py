"""Pictures of the live page and of a report for the documentation: ``python tests/helpers/page/screenshots.py OUT``.

In: a folder; for the report a record. Out: ``ward.png`` and ``bed.png`` in it, at 1400 x 900, with ``--sizes`` also of
a phone and of a wall; ``report.png``, the first page of the report of the record.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import beatwire
from page_browser import chromium, opened
from page_scene import eventful_feeds, live_ward
from playwright.sync_api import Browser, Page

RECORD = Path(__file__).parents[4] / "shared" / "ecg" / "mitdb" / "205"
AFTER_S = 37.0  # all events have begun, and the first latched alarm waits
SIZES = {"": (1400, 900), "-phone": (400, 800), "-wall": (2560, 1440)}
VIEWS = {"ward": "#/ward", "bed": "#/bed/bed-4"}
ALARMS_ARE_LIT = "() => ['high-phase', 'medium-phase'].every(name => document.body.classList.contains(name))"
FILLED_S = 7.0  # a sweep, so that the trace is whole
REPORT_SIZE = (830, 1900)
DRAWN_S = 5.0  # until the figures of a report are drawn


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--sizes", action="store_true", help="also of a phone and of a wall")
    parser.add_argument("--record", type=Path, default=RECORD, help="of the report")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        if options.record.with_suffix(".hea").exists():
            take_report(browser, options.record, options.out / "report.png")
        else:
            print(f"report.png is left as it is: there is no {options.record}")
        take_page(browser, options.out, SIZES if options.sizes else {"": SIZES[""]})


def take_report(browser: Browser, record: Path, out: Path) -> None:
    """Take the first page of the report of a record."""
    with tempfile.TemporaryDirectory() as folder:
        report = beatwire.analyze(record).report(Path(folder) / "report.html")
        with opened(browser, report.as_uri(), *REPORT_SIZE) as seen:
            time.sleep(DRAWN_S)
            take(seen, out)


def take_page(browser: Browser, out: Path, sizes: dict[str, tuple[int, int]]) -> None:
    """Take the ward and a bed while a ward is monitored."""
    with live_ward(eventful_feeds()) as page:
        time.sleep(AFTER_S)
        for suffix, (width, height) in sizes.items():
            for view, address in VIEWS.items():
                with opened(browser, page.url + address, width, height) as seen:
                    time.sleep(FILLED_S)
                    seen.wait_for_function(ALARMS_ARE_LIT)
                    take(seen, out / f"{view}{suffix}.png")


def take(seen: Page, path: Path) -> None:
    """Write what the browser shows, and say how large the picture is."""
    seen.screenshot(path=path)
    print(f"{path}  {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    sys.exit(main())
