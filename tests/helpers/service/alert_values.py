"""Alerts as a monitor publishes them, for tests that write the topic of alerts themselves."""

import json
from typing import Any


def alert(name: str = "ab", state: str = "on", **changed: Any) -> dict[str, Any]:
    """Return an alert that every reader takes."""
    return {
        "id": name, "stream": "bed-1", "session": 1, "rule": "asystole", "priority": "high", "technical": False,
        "state": state, "onset": 1000, "onset_us": 4_000_000, "decided": 2000, "decided_us": 8_000_000, "value": None,
        "limit": 4.0, "definition": "No beat for 4 s.", "text": "asystole: no beat for 4 s", "ack_by": None,
        "ack_us": None, "reminders": 0, "partition": 0, "model": "m",
    } | changed  # fmt: skip


def value(name: str = "ab", state: str = "on", **changed: Any) -> bytes:
    """Return the value of its message; its key is the name."""
    return json.dumps(alert(name, state, **changed)).encode()
