"""How the pages are written: short pages, short sentences, no history, none of the patterns that were weeded out.

Tables that are made from code are judged, too: mend the words there, and run make docs.
"""

import re
from pathlib import Path

import pytest
from page_lines import PAGES, ROOT, name, prose

MOST_WORDS = 22_000  # in all pages
MOST_WORDS_OF_A_PAGE = 2_000
MOST_WORDS_OF_A_DECISION = 400
MOST_WORDS_OF_A_SENTENCE = 30
DECISIONS = ROOT / "docs" / "explanation" / "decisions"
JUDGED = [page for page in PAGES if page.name != "CHANGELOG.md"]
# What to write instead of each.
PATTERNS = {
    r"\bcomes? back\b": "returns",
    r"\btells? \w+( \w+)? from\b": "distinguishes",
    r"\bof which\b": "a sentence of its own",
    r"\bas many as\b": "the number",
    r"\bno (beat|beats|pulse|alert) (is|are)\b": "is not a ...",
    r"\b(goes|go|going|went) on\b": "continues",
    r"\bstands? (in|at|for|there)\b": "is",
    r"\b[Tt]he same (of|as that of|for)\b": "what it is",
    r"\bthat [^.;:|]*\bthat [^.;:|]*\bthat\b": "two sentences",
    r"(^|[.;,] )[Ss]o (?!that\b)": "therefore, or two sentences",
    r"\brivals?\b(?!`)(?!=)": "comparison",
    r"\bwhat is entered\b|\bwho is entered\b": "the name",
    r"\b(used to|formerly|previously|until now|as before|up to now)\b": "the present state",
}
HASH = re.compile(r"(?<![\w/.#-])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,10}(?![\w-])")


def text_of(page: Path) -> str:
    """A page without blocks of code, comments, inline code and addresses of links."""
    text = re.sub(r"`[^`\n]+`", "`code`", re.sub("<!--.*?-->", "", prose(page)))
    return re.sub(r"\]\([^)]*\)", "]", text)


def sentences(page: Path) -> list[str]:
    """The sentences of a page: of paragraphs, items of lists and cells of tables."""
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:[-*|#>]|\d+\.) ?)|(?<!\\)\|", text_of(page))
    found = (re.split(r"(?<=[.!?:])\s+(?=\S)", " ".join(block.split())) for block in blocks)
    return [sentence for block in found for sentence in block]


def words(text: str) -> int:
    """The number of words; bars of tables and marks of lists are none."""
    return sum(re.search(r"\w", word) is not None for word in text.split())


def test_all_pages_together_are_short() -> None:
    total = sum(words(page.read_text()) for page in PAGES if "compose" not in page.parts)
    assert total <= MOST_WORDS


@pytest.mark.parametrize("page", JUDGED, ids=name)
def test_a_page_is_short(page: Path) -> None:
    is_decision = page.parent == DECISIONS and page.name != "README.md"
    assert words(page.read_text()) <= (MOST_WORDS_OF_A_DECISION if is_decision else MOST_WORDS_OF_A_PAGE)


@pytest.mark.parametrize("page", JUDGED, ids=name)
def test_sentences_of_a_page_are_short(page: Path) -> None:
    assert [one for one in sentences(page) if words(one) > MOST_WORDS_OF_A_SENTENCE] == []


@pytest.mark.parametrize("page", JUDGED, ids=name)
def test_a_page_names_no_commit(page: Path) -> None:
    assert HASH.findall(text_of(page)) == []


@pytest.mark.parametrize("page", JUDGED, ids=name)
def test_a_page_has_none_of_the_patterns(page: Path) -> None:
    text = " ".join(text_of(page).split())
    assert {match.group(): better for bad, better in PATTERNS.items() for match in re.finditer(bad, text)} == {}
