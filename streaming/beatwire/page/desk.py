"""What staff do at the page: acknowledge an alert, look at the limits of a bed and change them.

In: the brokers, and the limits that hold where a stream has none of its own. Out: messages that the broker has stored.
State: a producer for acknowledgements. Calls wait for the broker: they belong into threads.
"""

import time
from collections.abc import Mapping
from typing import Any

from beatwire.alerts.limits import SETTABLE, limit_of
from beatwire.alerts.rules import NUMBERS, RULES
from beatwire.alerts.settings import Settings
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.other_groups import judging_otherwise, other_defaults
from beatwire.kafka.publishing.orders import change_limits, read_limits
from beatwire.page.reader import Acknowledger

_TITLES = {rule.name: rule.title for rule in RULES}


class Desk:
    """What a page that is not read-only may publish.

    Parameters
    ----------
    defaults
        Limits of the rules, where a stream has none of its own.
    """

    def __init__(self, cluster: Cluster, defaults: Settings) -> None:
        self._cluster, self._defaults, self._digest = cluster, defaults.limits, defaults.digest
        self._acknowledger = Acknowledger(cluster)

    def acknowledge(self, alert: str, stream: str, by: str) -> dict[str, Any]:
        """Publish an acknowledgement and return it.

        Raises
        ------
        FatalError
            The broker did not store it.
        """
        return self._acknowledger.publish(alert, stream, by, time.time_ns() // 1000)

    def warning(self) -> str | None:
        """Return that the monitors judge by other limits than this page has, or None."""
        groups = judging_otherwise(self._cluster, self._digest)
        return other_defaults(groups) if groups else None

    def limits(self, stream: str) -> list[dict[str, Any]]:
        """Return the limits of a stream, one row for each rule that has one that can be set.

        Raises
        ------
        FatalError
            The broker did not answer.
        """
        return self._rows(read_limits(self._cluster, stream, self._defaults))

    def change(
        self, stream: str, changes: Mapping[str, float | None], by: str
    ) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        """Change limits of a stream; None returns to the default. Other limits stay as they are.

        Returns
        -------
        list, dict or None
            The limits now, as of `limits`; the change of somebody else that this one has replaced.

        Raises
        ------
        UserError
            A rule has no limit that can be set, a value is out of its range, or two limits are in the wrong order.
        FatalError
            The broker did not store it.
        """
        for rule in changes:
            limit_of(stream, rule)  # the default of a rule without a limit is a mistake, too
        before = read_limits(self._cluster, stream, self._defaults)
        after = {rule: value for rule, value in {**before, **changes}.items() if value is not None}
        replaced = change_limits(self._cluster, stream, after, before, by, self._defaults)
        return self._rows(after), replaced

    def _rows(self, own: Mapping[str, float]) -> list[dict[str, Any]]:
        return [
            {
                "rule": rule,
                "title": _TITLES[rule],
                "unit": one.unit,
                "value": own.get(rule, self._defaults[NUMBERS[rule]]),
                "default": self._defaults[NUMBERS[rule]],
                "least": one.least,
                "most": one.most,
            }
            for rule, one in SETTABLE.items()
        ]

    def close(self) -> None:
        """Close the connection."""
        self._acknowledger.close()
