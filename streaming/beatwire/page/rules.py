"""The alarm rules in plain words, for ``/rules.json``.

They are those of the rules themselves (`beatwire.stages.support.alert_rules`).
"""

from __future__ import annotations

from typing import Any

from beatwire.stages import alert
from beatwire.stages.support.alert_rules import RULES


def rule_list(settings: alert.Settings, drift: float) -> list[dict[str, Any]]:
    """Return the rules as the protocol has them, those of high priority first.

    Parameters
    ----------
    settings
        The limits in force.
    drift
        The limit of the rule ``drift``, which is the model's.
    """
    order = ("high", "medium", "low")
    listed = []
    for rule, value in zip(RULES, settings.limits, strict=True):
        limit = drift if rule.name == "drift" else value
        listed.append(
            {
                "rule": rule.name,
                "priority": rule.priority,
                "technical": rule.technical,
                "title": rule.title,
                "definition": rule.definition_of(limit),
                "default": f"{limit:g} {rule.unit}".strip() if "{limit}" in rule.definition else "",
            }
        )
    return sorted(listed, key=lambda entry: order.index(str(entry["priority"])))
