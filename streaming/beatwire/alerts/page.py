"""The table of the rules in the documents; ``python -m beatwire.alerts.page docs/reference/alerts.md`` writes it."""

from __future__ import annotations

import sys
from pathlib import Path

from beatwire.alerts.rule import Rule
from beatwire.alerts.rules import RULES, SERVICE_RULES

BEGIN, END = "<!-- rules: made by make docs from beatwire/alerts/rules.py -->", "<!-- end of rules -->"


def table() -> str:
    """Return the rules as Markdown: a table, and where their definitions are from."""
    rules = (*RULES, *SERVICE_RULES)
    lines = ["| alert | priority | definition | can be set |", "|---|---|---|---|", *map(_row, rules)]
    sources = [f"- {rule.name}: {rule.source}" for rule in rules if rule.source]
    return "\n".join(
        [
            *lines,
            "",
            "Where definitions and limits are from; those that are not named are beatwire's own:",
            "",
            *sources,
        ]
    )


def with_table(page: str) -> str:
    """Return a page with the table between its marks."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{rest.partition(END)[2]}"


def _row(rule: Rule) -> str:
    priority = rule.priority + (", technical" if rule.technical else "")
    definition = rule.definition_of(rule.default)
    if rule.name == "drift":  # its limit is the model's
        definition = definition.replace(f"by more than {rule.default:g}", "by more than the model's limit")
    limit = rule.limit
    can_be = f"{limit.least:g}-{limit.most:g} {limit.unit}" if limit is not None and limit.settable else ""
    return f"| {rule.name} | {priority} | {definition} | {can_be} |"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_text(with_table(Path(name).read_text(encoding="utf-8")), encoding="utf-8")
