"""The table of alert rules: names, priorities and texts, by the numbers of ``kernels.rules``; ids of alerts."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

STATES = ("off", "on", "latched")  # by number, ``kernels.rules.OFF``, ...


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as people read it.

    name
        Part of the alert's id and of its message.
    priority
        "high", "medium" or "low".
    technical
        About the signal rather than the heart.
    text
        Format string with ``value`` (what was found), ``limit`` (of the rule) and ``leads`` (``value`` as leads).
    """

    name: str
    priority: str
    technical: bool
    text: str

    def text_of(self, value: float, limit: float) -> str:
        """Return the text of a transition."""
        return f"{self.name}: {self.text.format(value=value, limit=limit, leads=lead_list(value))}"


RULES = (
    Rule("asystole", "high", False, "no beat for {limit:g} s"),
    Rule("extreme tachycardia", "high", False, "median rate {value:.0f}/min, limit {limit:g}"),
    Rule("tachycardia", "medium", False, "median rate {value:.0f}/min, limit {limit:g}"),
    Rule("bradycardia", "medium", False, "median rate {value:.0f}/min, limit {limit:g}"),
    Rule("extreme bradycardia", "high", False, "median rate {value:.0f}/min, limit {limit:g}"),
    Rule("anomalous beats", "low", False, "{value:.0f} of the last 8 beats are unlike this stream's usual beats"),
    Rule("lead off", "medium", True, "{leads}"),
    Rule("flat line", "medium", True, "no signal for {limit:g} s with the leads on"),
    Rule("no data", "high", True, "no message for {limit:g} s"),
    Rule(
        "drift", "low", True, "beats of the last minute differ from the training data ({value:.2f}, limit {limit:.2f})"
    ),
    Rule("pause", "medium", False, "{value:.1f} s between two beats, limit {limit:g} s"),
    Rule("irregular rhythm", "medium", False, "{value:.0f} of the last 32 intervals differ from the one before"),
    Rule("ventricular run", "medium", False, "{value:.0f} anomalous early beats in a row"),
    Rule("flutter", "high", False, "waves without beats for {limit:g} s, flutter or fibrillation suspected"),
    Rule("refused", "high", True, "not monitored: no memory for another stream"),
)
NUMBERS = {rule.name: number for number, rule in enumerate(RULES)}


def lead_list(mask: float) -> str:
    """Return the leads of a bit mask, counted from 1 in the order of the device's samples.

    >>> [lead_list(mask) for mask in (0, 2, 5)]
    ['no lead', 'lead 2', 'leads 1 and 3']
    """
    leads = [str(k + 1) for k in range(int(mask).bit_length()) if int(mask) >> k & 1] if mask > 0 else []
    if len(leads) < 2:
        return f"lead {leads[0]}" if leads else "no lead"
    return f"leads {', '.join(leads[:-1])} and {leads[-1]}"


def alert_id(stream: str, session: int, rule: str, onset: int) -> str:
    """Return the id of an alert, the same in every process: a hash of stream, session, rule and onset sample."""
    return hashlib.sha256(f"{stream}|{session}|{rule}|{onset}".encode()).hexdigest()[:32]
