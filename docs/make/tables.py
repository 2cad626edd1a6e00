"""The tables of the pages that follow from the code or from data: ``make docs`` writes them.

In: ``docs/benchmarks.jsonl``; the configuration, the alert rules and the metrics of the package
Out: each table in its page, between ``<!-- made by make docs: NAME -->`` and ``<!-- end of NAME -->``

A test compares the pages with what would be written. The options of the commands and the API are made when the site is
built (`hooks`), since ``--help`` has them too.
"""

import ast
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from beatwire.alerts.rule import Rule
from beatwire.alerts.rules import RULES, SERVICE_RULES
from beatwire.bench import recorded
from beatwire.cli.configured import OPTIONS
from beatwire.configuration.keys import keys
from beatwire.service.observing.metric_table import METRICS

DOCS = Path(__file__).parents[1]


def rows(head: Sequence[str], cells: Iterable[Sequence[str]]) -> str:
    """Return a table of Markdown."""
    escaped, lines = r"\|", [head, ["---"] * len(head), *cells]
    return "\n".join(f"|{'|'.join(cell.replace('|', escaped) for cell in line)}|" for line in lines)


def configuration() -> str:
    """Return a row for each key: default, unit, option, meaning."""
    return rows(
        ["key", "default", "unit", "option", "meaning"],
        (
            [
                f"`{key}`",
                shown(default),
                unit,
                f"`{OPTIONS[key]}`" if key in OPTIONS else "`-X`" if key == "kafka.properties" else "",
                text,
            ]
            for key, default, unit, text in keys()
        ),
    )


def shown(default: Any) -> str:
    """Return a default as a file has it."""
    if default is None or default == {}:
        return "none"
    if default == "":
        return "empty"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"


def alerts() -> str:
    """Return a row for each rule: priority, definition, range of its limit."""
    return rows(["alert", "priority", "definition", "can be set"], map(_alert, (*RULES, *SERVICE_RULES)))


def _alert(rule: Rule) -> list[str]:
    definition, limit = rule.definition_of(rule.default), rule.limit
    if rule.name == "drift":  # its limit is the model's
        definition = definition.replace(f"by more than {rule.default:g}", "by more than the model's limit")
    can_be = f"{limit.least:g}-{limit.most:g} {limit.unit}" if limit is not None and limit.settable else ""
    return [rule.name, rule.priority + (", technical" if rule.technical else ""), definition, can_be]


def sources() -> str:
    """Return where the definitions are from."""
    return "\n".join(f"- {rule.name}: {rule.source}" for rule in (*RULES, *SERVICE_RULES) if rule.source)


def fields(schema: str) -> str:
    """Return a row for each field of an Avro schema: name, type, meaning."""
    docs = {one["name"]: one.get("doc", "") for one in avro_fields("sample_chunk")}
    return rows(
        ["field", "type", "meaning"],
        (
            [f"`{one['name']}`", avro_type(one["type"]), one.get("doc") or docs[one["name"]]]
            for one in avro_fields(schema)
        ),
    )


def avro_fields(schema: str) -> list[dict[str, Any]]:
    """Return the fields of an Avro schema."""
    text = resources.files("beatwire.wire").joinpath(f"schemas/{schema}.avsc").read_text("utf-8")
    return list(json.loads(text)["fields"])


def avro_type(type_: Any) -> str:
    """Return a type of Avro in words.

    >>> avro_type(["null", "float"]), avro_type({"type": "array", "items": "string"})
    ('float or null', 'strings')
    """
    if isinstance(type_, list):
        return f"{type_[1]} or null"
    if isinstance(type_, dict):
        return "strings" if type_["type"] == "array" else "microseconds since 1970"
    return str(type_)


def packages() -> str:
    """Return a row for each package, those that import others first: its name and the first line of its docstring."""
    layers = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0][
        "layers"
    ]
    names = [f"beatwire.{name.strip()}" for layer in layers for name in layer.split("|") if not name.startswith("_")]
    return rows(["package", "purpose"], ([f"`{name}`", purpose(name)] for name in ["beatwire_producers", *names]))


def purpose(name: str) -> str:
    """Return the first line of a module's docstring."""
    spec = find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    doc = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or ""
    return re.sub(r":class:|`(?=`)", "", doc.splitlines()[0])


def metrics() -> str:
    """Return a row for each metric: kind, labels, meaning."""
    return rows(
        ["metric", "kind", "labels", "meaning"],
        (
            [f"`{one.name}`", one.kind, " ".join(f"`{label}`" for label in one.labels), one.text]
            for one in METRICS.values()
        ),
    )


def figures() -> str:
    """Return the newest figure of each benchmark."""
    return recorded.table(recorded.read(DOCS / "benchmarks.jsonl"))


TABLES: dict[str, tuple[str, Callable[[], str]]] = {
    "configuration": ("reference/configuration.md", configuration),
    "alerts": ("reference/alerts.md", alerts),
    "sources of alerts": ("reference/alerts.md", sources),
    "sample chunk": ("reference/topics.md", partial(fields, "sample_chunk")),
    "beat": ("reference/topics.md", partial(fields, "beat")),
    "packages": ("explanation/architecture.md", packages),
    "metrics": ("reference/metrics.md", metrics),
    "figures": ("explanation/performance.md", figures),
}


def written(name: str, page: str) -> str:
    """Return the text of a page with the table NAME as it is now."""
    begin, end = f"<!-- made by make docs: {name} -->", f"<!-- end of {name} -->"
    before, found, rest = page.partition(begin)
    _, ended, after = rest.partition(end)
    assert found, f"expected a line {begin}"
    assert ended, f"expected a line {end}"
    return f"{before}{begin}\n\n{TABLES[name][1]()}\n\n{end}{after}"


def compact(page: str) -> str:
    """Return a page with its tables in one form: no blanks around the bars.

    >>> compact("| a | b |")
    '|a|b|'
    """
    return re.sub(r"^\|.*\|$", lambda row: re.sub(r" *(?<!\\)\| *", "|", row.group()), page, flags=re.MULTILINE)


def main() -> None:
    """Write every table into its page, and give those written by hand the same form."""
    for name, (page, _) in TABLES.items():
        path = DOCS / page
        path.write_text(written(name, path.read_text(encoding="utf-8")), encoding="utf-8")
    for path in (*(DOCS.parent / folder / "README.md" for folder in (".", "compose")), *DOCS.rglob("*.md")):
        path.write_text(compact(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
