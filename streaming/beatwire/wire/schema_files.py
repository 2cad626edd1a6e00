"""Which schema describes the values of which topic: files of ``schemas/``, as a Schema Registry takes them.

In: the logical name of a topic. Out: the kind and the text of its schema. Dead letters have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import NamedTuple

from beatwire.wire.names import ACKS, ALERTS, AUDIT, BEATS, SAMPLES, SETTINGS


class SchemaFile(NamedTuple):
    """A file of ``schemas/``, and its kind in a registry's words: ``AVRO`` or ``JSON``."""

    file: str
    kind: str


SCHEMAS: Mapping[str, SchemaFile] = {
    SAMPLES: SchemaFile("sample_chunk.avsc", "AVRO"),
    BEATS: SchemaFile("beat.avsc", "AVRO"),
    ALERTS: SchemaFile("alert.schema.json", "JSON"),
    ACKS: SchemaFile("ack.schema.json", "JSON"),
    SETTINGS: SchemaFile("settings.schema.json", "JSON"),
    AUDIT: SchemaFile("audit.schema.json", "JSON"),
}


def registered_text(name: str) -> str:
    """Return the text of the schema of a topic.

    >>> "SampleChunk" in registered_text(SAMPLES)
    True
    """
    return resources.files("beatwire.wire").joinpath(f"schemas/{SCHEMAS[name].file}").read_text("utf-8")
