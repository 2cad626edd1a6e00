"""What is in force: every key with its value, secrets masked, and where the value came from."""

from pathlib import Path
from typing import Any, NamedTuple

from beatwire.configuration.keys import keys
from beatwire.configuration.load import PROPERTIES, SECRETS, Loaded
from beatwire.kafka.properties import MASKED, masked, without_secrets


class Row(NamedTuple):
    """One key; None as value: it has none."""

    key: str
    value: Any
    unit: str
    origin: str


def rows(loaded: Loaded) -> list[Row]:
    """Return a row for every key and for every property of Kafka, in the order of the file."""
    found = []
    for key, _, unit, _ in keys():
        section, _, name = key.partition(".")
        value = getattr(getattr(loaded.values, section), name)
        if key == PROPERTIES:
            found += [
                Row(f"{key}.{prop}", masked(prop, text), "", loaded.origin(f"{key}.{prop}"))
                for prop, text in value.items()
            ]
        else:
            shown = MASKED if key in SECRETS and value is not None else value
            shown = str(shown) if isinstance(shown, Path) else shown
            found.append(
                Row(key, without_secrets(shown) if isinstance(shown, str) else shown, unit, loaded.origin(key))
            )
    return found
