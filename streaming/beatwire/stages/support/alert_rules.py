"""The table of alert rules: names, priorities and texts, by the numbers of ``kernels.alert_state``; ids of alerts."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

STATES = ("off", "on", "latched")  # by number, ``kernels.alert_state.OFF``, ...
ENDED = {"off": "ended", "latched": "ended, not acknowledged"}  # what the text of an alert that has ended begins with


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
        Format string of an alert that is on, with ``value`` (what was found), ``limit`` (of the rule) and ``leads``
        (``value`` as leads).
    title, definition, unit
        For people who ask what an alert means; ``{limit}`` in the definition is the limit, in the unit.
    source
        Where definition and limit are from; empty: they are beatwire's own.
    """

    name: str
    priority: str
    technical: bool
    text: str
    title: str
    definition: str
    unit: str
    source: str = ""

    @property
    def measures(self) -> bool:
        """Return True if the rule states a value in its text."""
        return "{value" in self.text or "{leads" in self.text

    def text_of(self, state: str, value: float, limit: float) -> str:
        """Return the text of a transition to a state of ``STATES``.

        >>> [RULES[0].text_of(state, 0.0, 4.0) for state in STATES]
        ['ended: asystole', 'asystole: no beat for 4 s', 'ended, not acknowledged: asystole']
        """
        if state != "on":
            return f"{ENDED[state]}: {self.name}"
        return f"{self.name}: {self.text.format(value=value, limit=limit, leads=lead_list(value))}"

    def definition_of(self, limit: float) -> str:
        """Return the definition with a limit in it.

        >>> RULES[0].definition_of(5.0)  # doctest: +ELLIPSIS
        'No beat for 5 s while a lead is on; ... Stays until it is acknowledged.'
        """
        return self.definition.format(limit=f"{limit:g}")


_RATE = "The median rate of the last {n} intervals is {beyond} {{limit}}/min, and the signal is good enough to say so."
_RATE_TEXT = "median rate {value:.0f}/min, limit {limit:g}"

RULES = (
    Rule(
        "asystole", "high", False, "no beat for {limit:g} s",
        "Asystole",
        "No beat for {limit} s while a lead is on; after an uncertain beat the signal is at rest as well, and for 6 s "
        "more if no five beats in a row were certain before. Waves below 15 % of the normal beat, as P waves without a "
        "QRS complex, are no beats for 20 s. "
        "Stays until it is acknowledged.",
        "s",
        "PhysioNet/CinC Challenge 2015: no QRS complex for at least 4 s; 3 to 10 s by IEC 60601-2-27.",
    ),
    Rule(
        "extreme tachycardia", "high", False, _RATE_TEXT,
        "Extreme tachycardia", _RATE.format(n=16, beyond="above"), "/min",
        "PhysioNet/CinC Challenge 2015: 17 beats in a row above 140/min.",
    ),
    Rule(
        "tachycardia", "medium", False, _RATE_TEXT,
        "Tachycardia",
        _RATE.format(n=8, beyond="above")
        + " Does not hold while the beats of half a minute are as unlike each other as unrelated signals.",
        "/min",
    ),
    Rule("bradycardia", "medium", False, _RATE_TEXT, "Bradycardia", _RATE.format(n=8, beyond="below"), "/min"),
    Rule(
        "extreme bradycardia", "high", False, _RATE_TEXT,
        "Extreme bradycardia", _RATE.format(n=4, beyond="below"), "/min",
        "PhysioNet/CinC Challenge 2015: five beats in a row below 40/min.",
    ),
    Rule(
        "anomalous beats", "low", False, "{value:.0f} of the last 8 beats are unlike this stream's usual beats",
        "Anomalous beats",
        "At least {limit} of the last eight beats have a score of 3 or more: one normal beat in a thousand has one.",
        "of 8 beats",
    ),
    Rule(
        "lead off", "medium", True, "{leads}",
        "Lead off", "The device reports that an electrode has no contact.", "",
    ),
    Rule(
        "flat line", "medium", True, "no signal for {limit:g} s with the leads on",
        "Flat line", "No signal for {limit} s although the leads are on.", "s",
    ),
    Rule(
        "no data", "high", True, "no usable message for {limit:g} s",
        "No data", "No message that can be used has arrived from the device for {limit} s.", "s",
    ),
    Rule(
        "drift", "low", True,
        "beats of the last minute differ from the training data ({value:.2f}, limit {limit:.2f})",
        "Signal unlike the training data",
        "The beats of the last minute differ from those that the scoring model was trained on by more than {limit}; "
        "its scores may not hold.",
        "",
    ),
    Rule(
        "pause", "medium", False, "{value:.1f} s between two beats, limit {limit:g} s",
        "Pause", "More than {limit} s between two beats.", "s",
    ),
    Rule(
        "irregular rhythm", "medium", False, "atrial fibrillation suspected, rate {value:.0f}/min",
        "Irregular rhythm",
        "The intervals of the last minute are those of atrial fibrillation and its beats have no steady P wave, "
        "as trees judge, in two of the last four decisions; "
        "none counts where an error or more is expected in ten seconds and half of the beats are doubtful. Does not "
        "begin while more than a quarter of the beats of 15 s are ventricular. Ends when none of the last four "
        "decisions, one in 8 s, is for it.",
        "",
    ),
    Rule(
        "ventricular run", "medium", False, "three or more ventricular beats in a row, rate {value:.0f}/min",
        "Ventricular run",
        "The last {limit} beats are ventricular, as trees judge by the shape, the intervals and the quality of eight "
        "beats, and fewer than three errors are expected in ten seconds; not as fast as ventricular tachycardia, or "
        "too short.",
        "beats",
        "ANSI/AAMI EC57: a run is three ventricular beats or more.",
    ),
    Rule(
        "flutter", "high", False, "ventricular fibrillation or flutter suspected",
        "Flutter or fibrillation suspected",
        "The last six seconds are those of ventricular fibrillation or flutter. Ends when for 16 s they can be none, "
        "or a minute after the last that were. Stays until it is acknowledged.",
        "",
        "PhysioNet/CinC Challenge 2015: fibrillation or flutter for at least 4 s.",
    ),
    Rule(
        "refused", "high", True, "not monitored: no room for another stream",
        "Not monitored",
        "The monitor has no memory for another stream, or too many sampling rates; this one is not analysed.",
        "",
    ),
    Rule(
        "noise", "low", True, "{value:.1f} errors expected in 10 s, limit {limit:g}",
        "Noise",
        "The detector expects {limit} or more missed or false beats in ten seconds, at one of the last eight beats; no "
        "alert of rates or rhythm begins.",
        "",
        "The detector's own estimate, calibrated on the noise stress test (docs/accuracy.md).",
    ),
    Rule(
        "saturated", "low", True, "a lead stands at the limits of its converter",
        "Signal at its limits",
        "In one of the last two blocks of 2 s a lead stands for a quarter of a second at one value, 4 mV or more from "
        "zero.",
        "",
        "IEC 60601-2-27: monitors show signals of up to 5 mV; a converter's limits lie beyond.",
    ),
    Rule(
        "cannot analyse", "medium", True, "no beat that can be trusted for {limit:g} s",
        "Cannot analyse",
        "For {limit} s no beat that can be trusted, and neither asystole nor a flat line nor fibrillation. "
        "Rates and rhythm are not watched.",
        "s",
        "IEC 60601-1-8: what an alarm system cannot detect is a technical alarm condition; 10 s is the time to alarm "
        "of IEC 60601-2-27.",
    ),
    Rule(
        "cannot analyse for long", "high", True, "no beat that can be trusted for {limit:g} s",
        "Cannot analyse for long",
        "For {limit} s no beat that can be trusted, and neither asystole nor a flat line nor fibrillation. "
        "Takes the place of the alert of medium priority.",
        "s",
        "IEC 60601-1-8: the priority of a condition that lasts may rise.",
    ),
    Rule(
        "ventricular tachycardia", "high", False, "rate {value:.0f}/min, limit {limit:g}",
        "Ventricular tachycardia",
        "Ventricular beats in a row, five or so, faster than {limit}/min: two of the last three beats end a run, and "
        "fewer than three errors are expected in ten seconds. Stays until it is acknowledged.",
        "/min",
        "AHA/ACC/HRS 2017: three or more beats above 100/min; the challenge of 2015 demands five.",
    ),
    Rule(
        "couplet", "low", False, "two ventricular beats in a row",
        "Couplet", "Two ventricular beats in a row between others.", "",
        "ANSI/AAMI EC57: two ventricular beats are a couplet.",
    ),
    Rule(
        "bigeminy", "low", False, "every other beat is ventricular",
        "Bigeminy", "Three times in a row a ventricular beat after another one.", "",
    ),
    Rule(
        "trigeminy", "low", False, "every third beat is ventricular",
        "Trigeminy", "Three times in a row a ventricular beat after two others.", "",
    ),
    Rule(
        "frequent ventricular beats", "low", False, "{value:.0f} ventricular beats a minute, limit {limit:g}",
        "Frequent ventricular beats", "More than {limit} ventricular beats a minute, counted over 15 s.", "/min",
    ),
    Rule(
        "supraventricular tachycardia", "medium", False, "rate {value:.0f}/min, limit {limit:g}",
        "Supraventricular tachycardia",
        "Five supraventricular beats in a row, faster than {limit}/min.", "/min",
    ),
    Rule(
        "missed beat", "low", False, "{value:.1f} s between two beats",
        "Missed beat",
        "An interval of at most 3 s that is more than {limit} times the median of the last 8, or at above 100/min more "
        "than 1 s, and more than 1.5 times the one before, after three normal beats; no pause, and no atrial "
        "fibrillation.",
        "median intervals",
        "Manuals of bedside monitors: 1.75 times the mean interval, or 1 s if the rate is high.",
    ),
    Rule(
        "conflicting senders", "medium", True, "two or more sessions of this stream take turns",
        "Conflicting senders",
        "Sessions of this stream take turns: each has sent again after another one, within {limit} s, twice: "
        "two devices use one id. Each change of the sender begins the analysis anew: little or nothing is found. Ends "
        "when for {limit} s no session has come back.",
        "s",
    ),
)  # fmt: skip
# Rules of the service, not of the kernels: they have no numbers.
BLIND = Rule(
    "blind", "low", True, "not monitored for {limit:g} s, while another worker takes the streams over",
    "Not monitored for a moment",
    "Another worker takes the streams of this partition over; for {limit} s nothing of them has been published.", "s",
)  # fmt: skip
EXPIRED = Rule(
    "expired", "medium", True, "{value:.0f} messages were deleted before they were read",
    "Samples deleted unread",
    "Kafka's retention deleted messages of this partition before a monitor read them: no beat and no alert was "
    "published for them.",
    "messages",
)  # fmt: skip
SERVICE_RULES = (BLIND, EXPIRED)
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
