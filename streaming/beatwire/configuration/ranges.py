"""Which values the keys may have: the range of each number, the order of limits, the form of texts.

In: values. Out: ranges for `beatwire.configuration.keys`; `ValueError` with what is expected, in words. No state.
"""

import re

from beatwire.alerts.limits import ORDER
from beatwire.alerts.rules import NUMBERS, RULES
from beatwire.alerts.settings import LONGEST_SHORTEST_S
from beatwire.settings import HORIZON_S, Streams

UNITS = {"s": "s", "bpm": "/min", "ms": "ms"}  # suffix of a key -> unit
_ADDRESS = r"(\w+://)?([^\s:/@,\[\]]+|\[[0-9A-Fa-f:.%\w]+\]):\d{1,5}"  # as librdkafka has it, and always with a port


def limit_key(rule: str) -> str:
    """Return the key of the limit of a rule.

    >>> limit_key("extreme tachycardia"), limit_key("no data")
    ('extreme_tachycardia_bpm', 'no_data_s')
    """
    limit = RULES[NUMBERS[rule]].limit
    return "" if limit is None else limit.key


LONGEST_S = 1e9  # of any duration, 31 years: in microseconds it is a number of 64 bits
# Key of alerts or streams -> its least and most value.
RANGES: dict[str, dict[str, float]] = {
    "shortest_s": {"ge": 0.0, "le": LONGEST_SHORTEST_S},
    "remind_high_s": {"ge": 0.0, "le": LONGEST_S},
    "remind_medium_s": {"ge": 0.0, "le": LONGEST_S},
    "remind_low_s": {"ge": 0.0, "le": LONGEST_S},
    "keep_ended_s": {"ge": 3600.0, "le": LONGEST_S},
    **{name: {"gt": 0.0, "le": HORIZON_S} for name in ("pass_s", "reorder_s", "bridge_s", "duplicate_s")},
    "silence_s": {"ge": Streams().admit_s, "le": HORIZON_S},
    "evict_s": {"ge": 2 * HORIZON_S, "le": LONGEST_S},
    "most_streams": {"ge": 1},
    "most_banks": {"ge": 1},
    "schema_id": {"ge": 0, "le": 2**31 - 1},
}
# Of each pair of limits the first is below the second, or equal to it.
ASCENDING = [(limit_key(low), limit_key(high)) for low, high in ORDER]


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
