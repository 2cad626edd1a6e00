"""Which limits staff can set for a stream, which values they may have, and in which order they are."""

from collections.abc import Mapping, Sequence

from beatwire.alerts.rule import Limit
from beatwire.alerts.rules import NUMBERS, RULES
from beatwire.errors import UserError, shown

# Those of asystole are the ones of IEC 60601-2-27 for bedside monitors.
SETTABLE: dict[str, Limit] = {r.name: r.limit for r in RULES if r.limit is not None and r.limit.settable}
# Of each pair of rules the first limit is below the second, or equal to it.
ORDER = (
    ("extreme bradycardia", "bradycardia"),
    ("bradycardia", "tachycardia"),
    ("tachycardia", "extreme tachycardia"),
    ("pause", "asystole"),
    ("cannot analyse", "cannot analyse, high"),
)
MOST_CHANGES = 256  # of a stream that are kept: older ones are not part of any replay


def limit_of(stream: str, rule: str) -> Limit:
    """Return the limit of a rule that can be set for a stream.

    Raises
    ------
    UserError
        The rule has none.
    """
    if rule not in SETTABLE:
        raise UserError(f"limits of {stream!r}: expected one of {', '.join(SETTABLE)}; got {shown(rule)}")
    return SETTABLE[rule]


def check_ranges(stream: str, limits: Mapping[str, float]) -> None:
    """Check each limit of a stream by itself.

    Raises
    ------
    UserError
        A rule has no limit that can be set, or a value is out of its range.
    """
    for rule, value in limits.items():
        one = limit_of(stream, rule)
        if not one.least <= value <= one.most:
            raise UserError(
                f"limits of {stream!r}: expected {rule} of {one.least:g} to {one.most:g} {one.unit}; got {shown(value)}"
            )


def check_limits(stream: str, limits: Mapping[str, float], defaults: Sequence[float]) -> None:
    """Check the limits of a stream; ``defaults`` by number of the rule hold where ``limits`` has none.

    Raises
    ------
    UserError
        As of `check_ranges`, or two limits are in the wrong order.
    """
    check_ranges(stream, limits)
    for low, high in ORDER:
        below, above = (limits.get(rule, defaults[NUMBERS[rule]]) for rule in (low, high))
        if below > above:
            raise UserError(
                f"limits of {stream!r}: expected {low} of at most {high}; got {low} {below:g} and {high} {above:g}"
            )
