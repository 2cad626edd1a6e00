"""The files of the page: contrast of their colours, nothing from outside, nothing that the content policy forbids."""

import re

import pytest
from beatwire.page.app import STATIC

ENOUGH = 4.5  # WCAG 2.2 AA, text of any size
# Text colour and the ground it lies on, as style.css uses them.
PAIRS = (
    ("text", "paper"), ("text", "surface"), ("label", "paper"), ("label", "surface"), ("trace", "surface"),
    ("trace", "paper"), ("trace", "grid-strong"), ("text", "grid-strong"), ("paper", "text"),
    ("class-s", "paper"), ("class-s", "surface"), ("class-v", "paper"), ("class-v", "surface"),
    ("high", "paper"), ("high", "surface"), ("high-text", "high-ground"),
    ("medium", "paper"), ("medium", "surface"), ("medium-text", "medium-ground"), ("low-text", "low-ground"),
)  # fmt: skip
SILENT = 0.2  # opacity of a trace under its message


def colours() -> dict[str, tuple[int, int, int]]:
    style = (STATIC / "style.css").read_text("utf-8")
    found = re.findall(r"--([a-z-]+): #([0-9a-f]{6});", style)
    return {name: (int(rgb[:2], 16), int(rgb[2:4], 16), int(rgb[4:], 16)) for name, rgb in found}


def luminance(rgb: tuple[float, ...]) -> float:
    linear = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_that_of_the_guideline() -> None:
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21)
    assert contrast((119, 119, 119), (255, 255, 255)) == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize(("ink", "ground"), PAIRS)
def test_every_text_can_be_read_on_its_ground(ink: str, ground: str) -> None:
    named = colours()
    assert contrast(named[ink], named[ground]) >= ENOUGH


def test_a_message_can_be_read_on_a_dimmed_trace() -> None:
    named = colours()
    mixed = tuple(SILENT * a + (1 - SILENT) * b for a, b in zip(named["trace"], named["surface"], strict=True))
    assert contrast(named["text"], mixed) >= ENOUGH
    assert f"opacity: {SILENT}" in (STATIC / "style.css").read_text("utf-8")


@pytest.mark.parametrize("path", sorted(STATIC.iterdir()), ids=lambda path: path.name)
def test_the_page_loads_nothing_from_outside_and_has_no_inline_script_or_style(path) -> None:
    text = path.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://|//cdn|@import|eval\(|innerHTML|insertAdjacentHTML|document\.write", text)
    if path.suffix == ".html":
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)", text)


@pytest.mark.parametrize("path", sorted(STATIC.glob("*.js")), ids=lambda path: path.name)
def test_every_module_begins_with_its_contract_and_imports_files_that_exist(path) -> None:
    text = path.read_text("utf-8")
    assert text.startswith("/**\n * ")
    assert len(text.splitlines()) <= 300
    for name in re.findall(r'from "\./([^"]+)"', text):
        assert (STATIC / name).is_file()
