"""The settings of a monitor as a short text: monitors of one group compare it, as each commits it with its positions.

In: settings. Out: ``section:digest`` with commas between them, one for each section that output depends on. No state.
Files count by what they hold: their places may differ from one machine to another.
"""

import hashlib
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path

from beatwire.pipeline.settings import Settings
from beatwire.settings import Streams

_LIMITS, _ALERTS = "alert", ("lifecycle", "cloud_events")


def fingerprint(settings: Settings, *, delivery: str, score_within_s: float) -> str:
    """Return the digests of a monitor's settings, by section of the configuration.

    Parameters
    ----------
    settings
        Of the graph.
    delivery, score_within_s
        As of `beatwire.service.run.run_monitor`.
    """
    streams = tuple(field.name for field in fields(Streams))
    others = (*streams, _LIMITS, *_ALERTS)
    sections: dict[str, list[object]] = {
        "models": [_of(settings, field.name) for field in fields(Settings) if field.name not in others],
        "streams": [_of(settings, name) for name in streams],
        "alerts": [_of(settings, name) for name in _ALERTS],
        "monitor": [delivery, score_within_s],
        "version": [version("beatwire")],
    }
    digests = {"limits": settings.alert.digest}
    digests |= {name: _digest(repr(values).encode())[:6] for name, values in sections.items()}
    return ",".join(f"{name}:{digest}" for name, digest in digests.items())


def _of(settings: Settings, name: str) -> object:
    """Return a value; of a file the digest of what it holds."""
    value = getattr(settings, name)
    return name, _digest(value.read_bytes()) if isinstance(value, Path) and value.is_file() else value


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
