"""The live page says which leads hum: the same for every cut, and nothing of what is old, silent or too slow."""

import re
from typing import Any

import numpy as np
import pytest
from beatwire.page import hum as signs
from beatwire.page.dashboard import Dashboard
from beatwire.page.ward import STALE_US, Ward
from beatwire.records import RawTick
from beatwire.stages.support.hum import window_of
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import START_US, Signal, cut
from page_browser import Feed, heart, opened, tile
from page_ward import bed
from playwright.sync_api import Browser, expect

pytest_plugins = ("page_fixtures",)


def humming(signal: Signal, lead: int, hz: float, mv: float, first: int = 0, stop: int | None = None) -> Signal:
    samples, at = signal.samples.astype(np.float64), np.arange(signal.samples.shape[1])[first:stop]
    samples[lead, at] += mv * 1000 / 5.0 * np.sin(2 * np.pi * hz / signal.rate_hz * at)
    signal.samples = samples.round().astype(np.int16)
    return signal


def told(signal: Signal, cuts: list[tuple[int, int]], per_tick: int) -> dict[int, Any]:
    """What the bed says after each window of the stream."""
    ward, said = Ward(), {}
    for k in range(0, len(cuts), per_tick):
        ward.add_samples(RawTick.of([signal.chunk(a, b) for a, b in cuts[k : k + per_tick]], now_us=START_US))
        windows = (signal.first + cuts[k : k + per_tick][-1][1]) // window_of(signal.rate_hz)
        said[windows] = bed(ward, signal.stream)["hum"]
    return said


@settings(max_examples=draws(30), deadline=None)
@given(
    rate_hz=st.sampled_from([125.0, 250.0, 257.0, 1000.0]), leads=st.integers(1, 3), hz=st.floats(49.8, 60.2),
    mv=st.floats(0.02, 1.0), draw=st.integers(0, 10**6),
)  # fmt: skip
def test_no_cut_changes_what_is_said(rate_hz: float, leads: int, hz: float, mv: float, draw: int) -> None:
    rng = np.random.default_rng(draw)
    signal = heart("bed-1", 20.0, leads, rate_hz=rate_hz, first=int(rng.integers(0, 10**9)))
    n = signal.samples.shape[1]
    humming(signal, int(rng.integers(leads)), hz, mv, int(rng.integers(n // 2)), int(rng.integers(n // 2, n)))
    one, other = (
        told(signal, cut(n, rng, round(longest_s * rate_hz)), int(rng.integers(1, 8))) for longest_s in (0.1, 0.6)
    )
    both = one.keys() & other.keys()
    assert len(both) >= 2
    assert [one[k] for k in sorted(both)] == [other[k] for k in sorted(both)]


def test_a_lead_that_hums_is_said_with_frequency_and_amplitude_until_it_is_silent() -> None:
    signal = humming(heart("bed-1", 12.0, 3), 1, 50.0, 0.4)
    ward = Ward()
    for k in range(0, 3000, 50):
        ward.add_samples(RawTick.of([signal.chunk(k, k + 50)], now_us=START_US))
        found = bed(ward, "bed-1")["hum"]
        assert (len(found) == 3) == (k + 50 >= 600)  # a window
    assert found[0] is found[2] is None
    assert found[1] == {"hz": 50.0, "mv": pytest.approx(0.4, abs=0.02)}
    assert ward.part("", 0, 8, START_US)["beds"][0]["hum"] == found
    assert bed(ward, "bed-1", START_US + STALE_US + 1)["hum"] == []
    signal.session = 2
    ward.add_samples(RawTick.of([signal.chunk(0, 50)], now_us=START_US))
    assert bed(ward, "bed-1")["hum"] == []


def test_hum_in_less_than_half_of_the_last_windows_is_not_said() -> None:
    signal = humming(heart("bed-1", 12.0), 0, 60.0, 0.4, 600, 1800)
    said = told(signal, [(k, k + 600) for k in range(0, 3000, 600)], 1)
    assert [bool(said[k]) for k in range(1, 6)] == [False, True, True, True, False]


@pytest.mark.parametrize(
    ("changed", "said"), [({"rate_hz": 100.0}, []), ({"uv_per_unit": 0.0}, [{"hz": 50.0, "mv": None}])]
)
def test_a_slow_stream_says_nothing_and_one_without_calibration_no_amplitude(changed: Any, said: Any) -> None:
    signal, ward = humming(heart("bed-1", 12.0, **changed), 0, 50.0, 0.4), Ward()
    ward.add_samples(RawTick.of([signal.chunk(k, k + 50) for k in range(0, 1000, 50)], now_us=START_US))
    assert bed(ward, "bed-1")["hum"] == said


def test_a_message_measures_few_streams_and_the_next_one_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signs, "MOST_AT_ONCE", 3)
    signals = [humming(heart(f"bed-{k}", 4.0), 0, 50.0, 0.4) for k in range(8)]
    ward = Ward()
    ward.add_samples(RawTick.of([s.chunk(k, k + 100) for s in signals for k in range(0, 1000, 100)], now_us=START_US))
    counts = [sum(bool(one["hum"]) for one in ward.part("", 0, 8, START_US)["beds"]) for _ in range(4)]
    assert counts == [3, 6, 8, 8]


def test_tile_and_bed_show_the_hum_and_say_what_is_drawn(browser: Browser, page: Dashboard) -> None:
    signal = humming(heart("bed-1", 60.0, 2), 1, 50.0, 0.4)
    with Feed(page, [signal]), opened(browser, page.url) as seen:
        expect(tile(seen, "bed-1").locator(".tile-lead")).to_have_text(re.compile(r"^L0, L1 hum 50 Hz 0\.4 mV$"))
        tile(seen, "bed-1").click()
        expect(seen.locator(".lead-hum").nth(1)).to_have_text("hum 50 Hz 0.4 mV")
        expect(seen.locator(".lead-hum").nth(0)).to_have_text("")
        expect(seen.locator(".scale")).to_contain_text("check the electrode contacts")
