"""The report in Chromium, without network: it opens, can be zoomed into, and prints at the scale of paper."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beatwire.recordings import NO_VALUE
from page_browser import chromium
from report_page import Example, example_fixture, written  # noqa: F401  a fixture


@pytest.fixture(scope="module")
def report(analyzed: Example, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(analyzed, tmp_path_factory).path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Return the Chromium of the system."""
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def opened(browser: Any, report: Path) -> Any:
    """Return the report in a browser without network, and what went wrong in it."""
    context = browser.new_context(offline=True, viewport={"width": 1000, "height": 800})
    page = context.new_page()
    trouble: list[str] = []
    page.on("console", lambda m: trouble.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("request", lambda r: trouble.append(r.url) if re.match(r"(http|ws)s?:", r.url) else None)
    page.goto(report.as_uri())
    page.wait_for_selector("#overview-scale[data-ready]", state="attached", timeout=30_000)
    return page, trouble


def test_the_report_opens_without_network_and_without_errors(opened: Any) -> None:
    page, trouble = opened
    page.wait_for_function("document.querySelectorAll('.plot > *').length >= 8")
    assert trouble == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_zooming_switches_from_minima_and_maxima_to_every_sample(opened: Any, analyzed: Any) -> None:
    page, trouble = opened
    recording = analyzed[0]
    assert int(page.get_attribute("#overview-scale", "data-factor")) > 1
    page.evaluate("() => Bokeh.documents[0].get_model_by_name('overview').setv({start: 9.0, end: 11.0})")
    page.wait_for_selector("#overview-scale[data-factor='1']", state="attached")
    drawn = page.evaluate(
        "() => { const {x, y} = Bokeh.documents[0].get_model_by_name('lead 0').data;"
        " return [...x].map((t, k) => [t, Number.isNaN(y[k]) ? null : y[k]]); }"
    )
    index = np.array([round(t * recording.rate_hz) for t, _ in drawn])
    assert index[0] <= 2250
    assert index[-1] >= 2750
    expected = recording.samples[0, index] * (recording.uv_per_unit / 1000)
    missing = recording.samples[0, index] == NO_VALUE
    assert missing.sum() == 100
    assert [y is None for _, y in drawn] == missing.tolist()
    np.testing.assert_allclose([y for _, y in drawn if y is not None], expected[~missing], rtol=1e-6)
    assert trouble == []


def test_a_time_stands_at_one_place_in_the_figures_of_leads_and_of_alerts(opened: Any) -> None:
    page, _ = opened
    left = page.evaluate(
        "() => Bokeh.index.roots.filter((view) => view.model.x_range?.name === 'overview')"
        ".map((view) => Math.round(view.bbox.x + view.frame_view.bbox.left))"
    )
    assert len(left) >= 2
    assert len(set(left)) == 1


def width_of(page: Any, selector: str, *, media: str, width: int) -> float:
    """Return the width of an element, in pixels, on a medium of a width that the report does not exceed."""
    page.emulate_media(media=media)
    page.set_viewport_size({"width": width, "height": 1000})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    return float(page.evaluate(f"document.querySelector('{selector}').getBoundingClientRect().width"))


def test_the_report_prints_at_the_scale_of_paper(opened: Any) -> None:
    """Chromium shrinks a page that is too wide: nothing may be wider than the 190 mm between the margins."""
    width = width_of(opened[0], "#strips svg.paper", media="print", width=719)
    assert width == pytest.approx(187.5 * 96 / 25.4, abs=0.5)


def test_the_text_of_an_alert_has_the_width_of_a_telephone(opened: Any) -> None:
    assert width_of(opened[0], "#alerts tbody td:nth-child(4)", media="screen", width=390) > 300
