"""What a rule of alerts has, as people read it; ids of alerts."""

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

PRIORITIES = ("high", "medium", "low")  # in the order in which people read them
STATES = ("off", "on", "latched")  # by number, ``kernels.alerts.alert_state.OFF``, ...
ENDED = {"off": "ended", "latched": "ended, not acknowledged"}  # what the text of an alert that has ended begins with
_VALUE = re.compile(r"{value:(\+?)\.(\d)f}")
_MOST_DECIMALS = 3  # of a value, in the text as in the message


@dataclass(frozen=True, slots=True)
class Limit:
    """The limit of a rule, or another number that rules depend on.

    default, unit
        Where nobody has set it; the unit is for people.
    key
        Its name in the section ``limits`` of the configuration; empty: it is fixed.
    least, most
        The values that it may have.
    meaning
        What the configuration says about it, after the title of the rule.
    settable
        Staff may set it for a stream.
    """

    default: float
    unit: str
    key: str = ""
    least: float = 0.0
    most: float = 0.0
    meaning: str = ""
    settable: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as people read it.

    number
        Its place in the table, by which kernels know it; None: the service decides it, not a kernel.
    name
        Part of the alert's id and of its message.
    priority
        "high", "medium" or "low".
    technical
        About the signal rather than the heart.
    latches
        An alert that has ended stays until it is acknowledged.
    title
        What heads it where it is explained.
    text
        Format string of an alert that is on, with ``value`` (what was found), ``limit`` (of the rule) and ``leads``
        (``value`` as leads).
    definition
        For people who ask what an alert means; ``{limit}`` in it is the limit.
    source
        Where definition and limit are from; empty: they are beatwire's own.
    limit
        None: the rule has none.

    raises, prevents
        It takes the place of the rule of this name when that has lasted: one alert, whose priority rises. What is not
        known while it is on: the "rate", or with "analysis" neither that nor the rhythm; empty: nothing.
    """

    number: int | None
    name: str
    priority: str
    technical: bool
    latches: bool
    title: str
    text: str
    definition: str
    source: str = ""
    limit: Limit | None = None
    raises: bool = False
    prevents: str = ""

    @property
    def key(self) -> str:
        """Return what no other rule has: its name, or of one that raises a priority its name and its priority."""
        return f"{self.name}, {self.priority}" if self.raises else self.name

    @property
    def measures(self) -> bool:
        """Return True if the rule states a value in its text."""
        return "{value" in self.text or "{leads" in self.text

    @property
    def default(self) -> float:
        """Return the limit where nobody has set it; 0: the rule has none."""
        return 0.0 if self.limit is None else self.limit.default

    def text_of(self, state: str, value: float, limit: float, leads: Sequence[str] = ()) -> str:
        """Return the text of a transition to a state of ``STATES``; ``leads``: their names, where they are known.

        >>> rule = Rule(0, "asystole", "high", False, True, "Asystole", "no beat for {limit:g} s", "")
        >>> [rule.text_of(state, 0.0, 4.0) for state in STATES]
        ['ended: asystole', 'asystole: no beat for 4 s', 'ended, not acknowledged: asystole']
        """
        if state != "on":
            return f"{ENDED[state]}: {self.name}"
        text = _VALUE.sub(lambda found: _apart(value, limit, found[1], int(found[2])), self.text)
        return f"{self.name}: {text.format(value=value, limit=limit, leads=lead_list(value, leads))}"

    def definition_of(self, limit: float) -> str:
        """Return the definition with a limit in it.

        >>> Rule(0, "pause", "medium", False, False, "Pause", "", "More than {limit} s.").definition_of(3.0)
        'More than 3 s.'
        """
        return self.definition.format(limit=f"{limit:g}")


def _apart(value: float, limit: float, sign: str, decimals: int) -> str:
    """Return a value with so many decimals, or with those by which it is not the limit; a dash if it is unknown.

    >>> _apart(131.2, 120.0, "", 0), _apart(120.2, 120.0, "", 0), _apart(120.0, 120.0, "", 0)
    ('131', '120.2', '120')
    """
    if math.isnan(value):
        return "-"
    while decimals < _MOST_DECIMALS and value != limit and round(value, decimals) == limit:
        decimals += 1
    return f"{value:{sign}.{decimals}f}"


def lead_list(mask: float, names: Sequence[str] = ()) -> str:
    """Return the leads of a bit mask: their names, or their numbers from 0 in the order of the device's samples.

    Numbers are those of ``--lead`` and of leads without names; people at a bed would count from 1, so it is said.

    >>> [lead_list(mask) for mask in (0, 2, 5)], lead_list(5, ["I", "II", "V1"])
    (['no lead', 'lead 1 (from 0)', 'leads 0 and 2 (from 0)'], 'I and V1')
    """
    bits = [k for k in range(int(mask).bit_length()) if int(mask) >> k & 1] if mask > 0 else []
    named = bool(bits) and bits[-1] < len(names)
    leads = [names[k] if named else str(k) for k in bits]
    listed = " and ".join(filter(None, [", ".join(leads[:-1]), *leads[-1:]]))
    return listed if named else f"lead{'s' if len(leads) > 1 else ''} {listed} (from 0)" if leads else "no lead"


SHORTEST_ID = 6  # digits by which people name an alert: a stream may be called b2, and fewer are often those of others


def alert_id(stream: str, session: int, rule: str, onset: int) -> str:
    """Return the id of an alert, the same in every process: a hash of stream, session, key of the rule and onset."""
    return hashlib.sha256(f"{stream}|{session}|{rule}|{onset}".encode()).hexdigest()[:32]
