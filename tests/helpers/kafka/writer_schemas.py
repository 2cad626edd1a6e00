"""Writers' schemas for tests: SampleChunk changed in one way, and messages in them."""

import io
import json
from typing import Any

import fastavro
from beatwire.wire.avro import frame, schema_text

Schema = dict[str, Any]


def ours() -> Schema:
    found: Schema = json.loads(schema_text("sample_chunk"))
    return found


def with_field(name: str = "ward", kind: Any = "string", **more: Any) -> Schema:
    """SampleChunk with one more field, first."""
    changed = ours()
    changed["fields"].insert(0, {"name": name, "type": kind, **more})
    return changed


def reversed_fields() -> Schema:
    changed = ours()
    changed["fields"].reverse()
    return changed


def without(name: str) -> Schema:
    changed = ours()
    changed["fields"] = [field for field in changed["fields"] if field["name"] != name]
    return changed


def retyped(name: str, kind: Any) -> Schema:
    """SampleChunk with another type of one field."""
    changed = ours()
    for field in changed["fields"]:
        field["type"] = kind if field["name"] == name else field["type"]
    return changed


def written(writer: Any, schema_id: int, **changed: Any) -> bytes:
    """Return a small valid message of a writer's schema, framed."""
    fields: dict[str, Any] = {
        "stream": "bed-3",
        "session": 1,
        "first": 0,
        "time": 1_000_000,
        "rate_hz": 250.0,
        "leads": ["I"],
        "uv_per_unit": 5.0,
        "lead_off": 0,
        "samples": bytes(range(16)),
        "ward": "7b",
    }
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, fastavro.parse_schema(writer), fields | changed)
    return frame(buffer.getvalue(), schema_id)
