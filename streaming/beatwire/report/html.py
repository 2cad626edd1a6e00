"""Pieces of HTML: tables, sections, lists of figures. All text is escaped here."""

from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from beatwire.errors import escape

_STYLE = Path(__file__).with_name("page.css")


def program() -> str:
    """Return the name of the program and its version."""
    return f"beatwire {version('beatwire')}"


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


class Column(NamedTuple):
    """A column of a table; text is aligned at the left, figures at the right."""

    head: str
    is_text: bool = False


def cell(value: str) -> str:
    """Return a text escaped, or HTML as it is."""
    return value if isinstance(value, Html) else escape(value)


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]], sums: int = 0) -> str:
    """Return a table; the last ``sums`` rows are set off."""
    kinds = [' class="text"' if c.is_text else "" for c in columns]
    head = "".join(f"<th{kind}>{escape(c.head)}</th>" for c, kind in zip(columns, kinds, strict=True))
    body = [
        f"<tr{' class=sum' if k >= len(rows) - sums else ''}>"
        + "".join(f"<td{kind}>{cell(value)}</td>" for value, kind in zip(row, kinds, strict=True))
        + "</tr>"
        for k, row in enumerate(rows)
    ]
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def facts(figures: Sequence[tuple[str, str, str, str]]) -> str:
    """Return a list of figures: name, value, unit, remark."""
    items = (
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)} <small>{escape(unit)}</small>"
        f"{f'<small>{escape(remark)}</small>' if remark else ''}</dd></div>"
        for name, value, unit, remark in figures
    )
    return f"<dl>{''.join(items)}</dl>"


def note(text: str) -> str:
    """Return a paragraph of explanation."""
    return f'<p class="note">{cell(text)}</p>'


def legend(items: Iterable[tuple[str, str]]) -> str:
    """Return a legend: a square of each colour and its text."""
    spans = (f'<span><i style="background:{colour}"></i>{escape(text)}</span>' for colour, text in items)
    return f'<p class="legend">{" ".join(spans)}</p>'


def section(name: str, title: str, *parts: str) -> str:
    """Return a section with an anchor; empty if it has no content."""
    content = "".join(parts)
    return f'<section id="{name}"><h2>{escape(title)}</h2>{content}</section>' if content else ""


def page(title: str, body: str, head: str = "") -> str:
    """Return a page without external resources."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="generator" content="{escape(program())}">'
        f"<title>{escape(title)}</title><style>{_STYLE.read_text(encoding='utf-8')}</style>{head}</head>"
        f"<body><main>{body}</main></body></html>\n"
    )
