"""Which schema describes the values of which topic: files of ``schemas/``, as a Schema Registry takes them.

In: the logical name of a topic, or ``BUNDLES``: the second record that is sent on ``ecg.samples``. Out: the kind and
the text of its schema, and its subject. Dead letters have none.
"""

from collections.abc import Mapping
from importlib import resources
from typing import NamedTuple

from beatwire.wire.names import ACKS, ALERTS, AUDIT, BEATS, SAMPLES, SETTINGS


class SchemaFile(NamedTuple):
    """A file of ``schemas/``, and its kind in a registry's words: ``AVRO`` or ``JSON``."""

    file: str
    kind: str


BUNDLES = f"{SAMPLES}-beatwire.SampleBundle"  # by TopicRecordNameStrategy: a subject has versions of one record

SCHEMAS: Mapping[str, SchemaFile] = {
    SAMPLES: SchemaFile("sample_chunk.avsc", "AVRO"),
    BUNDLES: SchemaFile("sample_bundle.avsc", "AVRO"),
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


def subject_of(name: str, topic: str | None = None) -> str:
    """Return the subject of a schema; ``topic``: the name at the brokers, None: the same.

    >>> subject_of(SAMPLES, "icu.ecg.samples"), subject_of(BUNDLES)
    ('icu.ecg.samples-value', 'ecg.samples-beatwire.SampleBundle')
    """
    return (topic or name) if name == BUNDLES else f"{topic or name}-value"
