"""Settings of the rules, and of what becomes of alerts; `KEYS` is the section ``limits`` of the configuration."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from beatwire.alerts.rule import Limit
from beatwire.alerts.rules import NUMBERS, RULES
from beatwire.errors import UserError

LONGEST_SHORTEST_S = 60.0  # a successor replays 120 s: it finds every alert that is held
# Numbers that several rules depend on. missed_s is bounded by the horizon: sixteen beats of at most 1.4 s; so are
# unjudged_s and long_unjudged_s, with what their beats look back.
SHARED = (
    Limit(
        0.7, "s", "missed_s", 0.35, 0.7,
        "Where rules count beats, an interval counts as one beat for each time of this length in it.",
    ),
    Limit(
        3.0, "", "ventricular_most_errors", 0.1, 20.0,
        "With so many errors expected in 10 s the last beats are no ventricular run.",
    ),
    Limit(
        0.9, "", "sure", 0.5, 0.99,
        "Probability of a beat that is certain: silence after it is asystole, whatever the signal.",
    ),
)  # fmt: skip
# Key of the configuration -> its default, range and meaning.
KEYS: dict[str, tuple[Limit, str]] = {
    **{r.limit.key: (r.limit, f"{r.title}: {r.limit.meaning}") for r in RULES if r.limit is not None and r.limit.key},
    **{one.key: (one, one.meaning) for one in SHARED},
}
_RULE_OF = {rule.limit.key: rule.key for rule in RULES if rule.limit is not None and rule.limit.key}


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits of the rules where a stream has none of its own; rates in beats per minute, times in seconds.

    limits      by number of the rule, as messages have them; 0: the rule has none. That of drift is the model's
    missed_s    where rules count beats, an interval counts as one for each of these: so eight beats are at most 11.2 s
    ventricular_most_errors  expected in ten seconds: with so many the last beats are no ventricular run
    sure        probability of a beat that is certain
    """

    limits: tuple[float, ...] = tuple(rule.default for rule in RULES)
    missed_s: float = KEYS["missed_s"][0].default
    ventricular_most_errors: float = KEYS["ventricular_most_errors"][0].default
    sure: float = KEYS["sure"][0].default

    @classmethod
    def of(cls, **values: float) -> Settings:
        """Return the settings with some numbers of `KEYS`.

        >>> Settings.of(pause_s=2.5, sure=0.8).limit("pause")
        2.5
        """
        given = {rule: values.pop(key) for key, rule in _RULE_OF.items() if key in values}
        return cls(**values).with_limits(given)  # type: ignore[arg-type]

    def with_limits(self, limits: Mapping[str, float]) -> Settings:
        """Return the settings with other limits of some rules."""
        numbers = {NUMBERS[rule]: value for rule, value in limits.items()}
        return replace(self, limits=tuple(numbers.get(k, old) for k, old in enumerate(self.limits)))

    @property
    def digest(self) -> str:
        """Return six hexadecimal digits that differ where settings do: monitors state them with their commits."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:6]

    def limit(self, rule: str) -> float:
        """Return the limit of a rule."""
        return self.limits[NUMBERS[rule]]


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """What becomes of alerts; durations in seconds.

    shortest_s                        an alert lasts for so long at least
    remind_high_s, remind_medium_s, remind_low_s  after which an unacknowledged alert is published again; 0: never
    keep_ended_s                      after which an alert that is off is removed from the log, by the service
    """

    shortest_s: float = 5.0
    remind_high_s: float = 60.0
    remind_medium_s: float = 180.0
    remind_low_s: float = 0.0
    keep_ended_s: float = 7 * 86_400.0

    def __post_init__(self) -> None:
        """Check the settings.

        Raises
        ------
        UserError
            They cannot work.
        """
        if not 0 <= self.shortest_s <= LONGEST_SHORTEST_S:
            raise UserError(f"alerts: expected shortest_s of 0 to {LONGEST_SHORTEST_S:g} s; got {self.shortest_s:g}")
        for name in ("remind_high_s", "remind_medium_s", "remind_low_s"):
            if not 0 <= getattr(self, name) < math.inf or 0 < getattr(self, name) < 1:
                raise UserError(f"alerts: expected {name} of 0 or at least 1 s; got {getattr(self, name):g}")

    def remind_s(self, priority: str) -> float:
        """Return the interval after which an alert of a priority is published again, 0: never."""
        return {"high": self.remind_high_s, "medium": self.remind_medium_s, "low": self.remind_low_s}[priority]
