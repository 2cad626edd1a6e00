"""Which values the keys may have: the range of each number, the order of limits, the form of texts.

In: values. Out: ranges for `beatwire.configuration.keys`; `ValueError` with what is expected, in words. No state.
"""

from __future__ import annotations

import re

from beatwire.pipeline.settings import HORIZON_S
from beatwire.pipeline.settings import Settings as GraphSettings
from beatwire.stages import lifecycle
from beatwire.stages.support.limits import ORDER, SETTABLE

UNITS = {"s": "s", "bpm": "/min", "ms": "ms"}  # suffix of a key -> unit
_ADDRESS = r"(\w+://)?([^\s:/@,\[\]]+|\[[0-9A-Fa-f:.%\w]+\]):\d{1,5}"  # as librdkafka has it, and always with a port


def limit_key(rule: str) -> str:
    """Return the key of the limit of a rule that can be set.

    >>> limit_key("extreme tachycardia"), limit_key("no data")
    ('extreme_tachycardia_bpm', 'no_data_s')
    """
    suffix = {unit: suffix for suffix, unit in UNITS.items()}[SETTABLE[rule].unit]
    return f"{rule.replace(' ', '_')}_{suffix}"


# Key of limits, alerts or streams -> its least and most value. missed_s is bounded by the horizon: sixteen beats of at
# most 1.4 s; so are unjudged_s and long_unjudged_s, with what their beats look back.
RANGES: dict[str, dict[str, float]] = {
    **{limit_key(rule): {"ge": least, "le": most} for rule, (least, most, _) in SETTABLE.items()},
    "missed_s": {"ge": 0.35, "le": 0.7},
    "missed_beat_ratio": {"ge": 1.25, "le": 5.0},
    "most_errors": {"ge": 0.1, "le": 20.0},
    "ventricular_most_errors": {"ge": 0.1, "le": 20.0},
    "sure": {"ge": 0.5, "le": 0.99},
    "unjudged_s": {"ge": 5.0, "le": 60.0},
    "long_unjudged_s": {"ge": 5.0, "le": 60.0},
    "drift": {"ge": 0.1, "le": 10.0},
    "shortest_s": {"ge": 0.0, "le": lifecycle.LONGEST_SHORTEST_S},
    "remind_high_s": {"ge": 0.0},
    "remind_medium_s": {"ge": 0.0},
    "remind_low_s": {"ge": 0.0},
    "keep_ended_s": {"ge": 3600.0},
    **{name: {"gt": 0.0, "le": HORIZON_S} for name in ("pass_s", "reorder_s", "bridge_s", "duplicate_s")},
    "silence_s": {"ge": GraphSettings().admit_s, "le": HORIZON_S},
    "evict_s": {"ge": 2 * HORIZON_S},
    "most_streams": {"ge": 1},
    "most_banks": {"ge": 1},
    "schema_id": {"ge": 0, "le": 2**31 - 1},
}
# Of each pair of limits the first is below the second, or equal to it.
ASCENDING = [*((limit_key(low), limit_key(high)) for low, high in ORDER), ("unjudged_s", "long_unjudged_s")]


def matching(value: str, pattern: str, expected: str) -> str:
    """Return a text that matches a pattern; raise ValueError, which says in words what is expected, if it does not."""
    if re.fullmatch(pattern, value) is None:
        raise ValueError(f"expected {expected}")
    return value


def check_addresses(value: str) -> None:
    """Raise ValueError unless a text is the addresses of brokers, each with its port."""
    for address in value.split(","):
        port = matching(address.strip(), _ADDRESS, "HOST:PORT[,HOST:PORT...]").rpartition(":")[2]
        if not 1 <= int(port) <= 65535:
            raise ValueError("expected HOST:PORT with a port of 1 to 65535")
