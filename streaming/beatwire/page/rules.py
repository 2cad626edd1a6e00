"""The alert rules in plain words, for ``/rules.json``.

They are those of the rules themselves (`beatwire.alerts.rules`).
"""

from typing import Any

from beatwire.alerts.rule import PRIORITIES
from beatwire.alerts.rules import RULES
from beatwire.alerts.settings import Settings


def rule_list(settings: Settings, drift: float) -> list[dict[str, Any]]:
    """Return the rules as the protocol has them, those of high priority first.

    Parameters
    ----------
    settings
        The limits in force.
    drift
        The limit of the rule ``drift``, which is the model's.
    """
    listed = []
    for rule, value in zip(RULES, settings.limits, strict=True):
        if rule.raises:  # a message has its own definition
            continue
        limit = drift if rule.name == "drift" else value
        listed.append(
            {
                "rule": rule.name,
                "priority": rule.priority,
                "technical": rule.technical,
                "title": rule.title,
                "definition": rule.definition_of(limit),
                "default": "" if rule.limit is None else f"{limit:g} {rule.limit.unit}".strip(),
            }
        )
    return sorted(listed, key=lambda entry: PRIORITIES.index(str(entry["priority"])))
