"""Compare what was published with what an undisturbed run publishes.

In: the values of beats, transitions of alerts and dead letters, of both. Out: how many are lost, twice or different.

Alerts of the rule ``no data`` are left out, and reminders by the clock: they depend on the clock and not on what
arrives. So is ``arrived`` of a beat: it names the message that completed the tick, and a backlog is read in larger
ticks.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from beatwire.records.letters import Letter
from beatwire.stages.support.alerts.open_alerts import BY_CLOCK
from beatwire.wire import names
from beatwire.wire.avro import decode_beat

SCORE_TOLERANCE = 1e-4  # law 1: float32 sums of a batch depend on its size
_APPROXIMATE = {"score", "map_x", "map_y"}
_IGNORED = {"arrived"}
_NOT_COMPARED = ("no data", "monitoring interrupted")
_EXAMPLES = 5

Output = dict[str, list[Any]]  # topic -> values; of dead letters the letters themselves
Record = tuple[tuple[object, ...], dict[str, Any]]  # identity, and the fields that must agree


@dataclass
class Comparison:
    """One kind of output.

    expected   records of the undisturbed run
    published  records published
    lost       expected and not published
    twice      published more often than expected
    unexpected  published and not expected at all
    different  records with the same identity of which a field differs
    fields     field -> records in which it differs
    examples   of records that are not as expected, one line each
    """

    expected: int = 0
    published: int = 0
    lost: int = 0
    twice: int = 0
    unexpected: int = 0
    different: int = 0
    fields: dict[str, int] = field(default_factory=dict)
    examples: list[str] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        """Return True if both are the same."""
        return not (self.lost or self.twice or self.unexpected or self.different)

    def as_dict(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints."""
        return asdict(self)


def compare_outputs(expected: Output, published: Output) -> dict[str, Comparison]:
    """Compare outputs.

    Returns
    -------
    dict
        ``beats``, ``alerts`` (transitions) and ``dead letters``.
    """
    kinds: dict[str, tuple[str, Callable[[Iterable[Any]], list[Record]]]] = {
        "beats": (names.BEATS, beat_records),
        "alerts": (names.ALERTS, alert_records),
        "dead letters": (names.DEAD_LETTERS, letter_records),
    }
    return {
        kind: compare_records(records(expected[topic]), records(published[topic]))
        for kind, (topic, records) in kinds.items()
    }


def beat_records(values: Iterable[bytes]) -> list[Record]:
    """Return beats by stream, session and sample."""
    beats = [decode_beat(value) for value in values if value]
    return [((beat["stream"], beat["session"], beat["sample"]), beat) for beat in beats]


def alert_records(values: Iterable[bytes]) -> list[Record]:
    """Return transitions of alerts by rule, stream, id and state, without those that depend on the clock."""
    alerts = [json.loads(value) for value in values if value]
    return [
        ((alert["rule"], alert["stream"], alert["id"], alert["state"]), alert)
        for alert in alerts
        if alert["rule"] not in _NOT_COMPARED and not (alert["rule"] in BY_CLOCK and alert.get("reminders"))
    ]


def letter_records(letters: Iterable[Letter]) -> list[Record]:
    """Return rejected messages by their place in the log; reason, key and value must agree."""
    return [((one.topic, one.partition, one.offset, one.chunk), one._asdict()) for one in letters]


def compare_records(expected: list[Record], published: list[Record]) -> Comparison:
    """Count what differs."""
    wanted, got = Counter(key for key, _ in expected), Counter(key for key, _ in published)
    missing, surplus = wanted - got, got - wanted
    result = Comparison(
        expected=len(expected),
        published=len(published),
        lost=missing.total(),
        twice=sum(count for key, count in surplus.items() if key in wanted),
        unexpected=sum(count for key, count in surplus.items() if key not in wanted),
    )
    notes = [f"lost: {_name(key)}" for key in missing] + [f"surplus: {_name(key)}" for key in surplus]
    last = dict(published)
    fields: Counter[str] = Counter()
    for key, record in dict(expected).items():
        other = last.get(key)
        names_of = [] if other is None else [name for name in record if not _agree(name, record, other)]
        if other is not None and names_of:
            result.different += 1
            fields.update(names_of)
            notes += [f"{_name(key)}: {name} {other.get(name)!r} for {record[name]!r}" for name in names_of]
    result.fields, result.examples = dict(fields), notes[:_EXAMPLES]
    return result


def _agree(name: str, expected: dict[str, Any], published: dict[str, Any]) -> bool:
    wanted, got = expected[name], published.get(name)
    if name in _IGNORED:
        return True
    if name in _APPROXIMATE and isinstance(wanted, float) and isinstance(got, float):
        return abs(wanted - got) <= SCORE_TOLERANCE
    return bool(wanted == got)


def _name(key: tuple[object, ...]) -> str:
    return " ".join(part[:20].hex() if isinstance(part, bytes) else str(part) for part in key)
