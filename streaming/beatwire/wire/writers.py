"""Writers' schemas: how a framed message of another schema of SampleChunk becomes one of ours.

In: the messages of a tick, and what a Schema Registry has answered: schema id -> text of the writer's schema, or a
`Refusal`. Out: for each framed message nothing (the kernel reads it as it is), the same content in our
schema, or the reason why it cannot be read. No state but parsed schemas; nothing here asks a registry.

A schema that is encoded like ours costs nothing. Any other is read by Avro's schema resolution: fields that were added
are dropped, fields that are missing get their defaults, reordered ones are put in order, times in milliseconds become
microseconds. That takes 15-18 us a message (one core of an Intel Xeon at 2.0 GHz).

A schema is foreign text as well. fastavro reads by recursion in C and takes the counts in a message at their word, so
schemas that contain themselves, that are large, or whose lists have items of no bytes are refused: `schema_bounds`.
"""

import copy
import io
import json
from functools import lru_cache
from typing import Any

import fastavro
import numpy as np
from fastavro.read import SchemaResolutionError
from fastavro.schema import to_parsing_canonical_form

from beatwire.records import I64, U8
from beatwire.wire.avro import schema, schema_text, unframe
from beatwire.wire.schema_bounds import BoundsError, check_bounds

MAGIC_BYTES = 5  # of Confluent framing: a zero byte and the id
_LONGEST_REASON = 160  # characters; fastavro prints whole schemas
LONGEST_TEXT = 100_000  # characters of a schema
MOST_WRITERS = 256  # parsed schemas that are kept


class Refusal(str):
    """Why a schema id has no text, in place of the text: the sentence goes on after the id."""

    __slots__ = ()


ABSENT = Refusal("is not in the schema registry")
NOT_ASKED = Refusal("has not been looked up: too many unknown ids, or no answer of the schema registry in time")


def framed_ids(payload: U8, start: I64) -> I64:
    r"""Return the schema id of each message in Confluent framing, -1 of every other, int64 [m].

    Parameters
    ----------
    payload, start
        As in ``RawTick``: message k is ``payload[start[k]:start[k + 1]]``.

    Examples
    --------
    >>> framed_ids(np.frombuffer(b"\0\0\0\1\2xy", np.uint8), np.array([0, 6, 7])).tolist()
    [258, -1]
    """
    ids = np.full(len(start) - 1, -1, np.int64)
    long_enough = np.flatnonzero(np.diff(start) >= MAGIC_BYTES)
    framed = long_enough[payload[start[long_enough]] == 0]
    at = start[framed]
    value = np.zeros(len(framed), np.int64)
    for k in range(1, MAGIC_BYTES):
        value = (value << 8) | payload[at + k]
    ids[framed] = value
    return ids


class Writer:
    """How the messages of one schema id are read.

    Parameters
    ----------
    schema_id
        The id, for reasons.
    text
        The writer's schema, as the registry returned it, or a `Refusal`.

    Attributes
    ----------
    same : bool
        The messages are encoded like ours: only the framing has to be skipped.
    bundles : bool
        The messages are SampleBundles, by the name of the record.
    """

    def __init__(self, schema_id: int, text: str) -> None:
        self._id, self._refusal, self.same, self.bundles = schema_id, "", False, False
        self._schema: Any = None
        if isinstance(text, Refusal) or not text:
            self._refusal = f"schema id {schema_id} {text or ABSENT}"
            return
        try:
            if len(text) > LONGEST_TEXT:
                raise BoundsError(f"expected a schema of at most {LONGEST_TEXT} characters; got {len(text)}")
            given = json.loads(text)
            check_bounds(given)
            self._schema = fastavro.parse_schema(copy.deepcopy(given))
            self.bundles = _is_bundle(given)
            self.same = is_encoded_like_ours(given, self._ours)
        except BoundsError as error:
            self._refusal = self._reason(str(error))
        except Exception as error:  # of fastavro, on any text
            self._refusal = self._reason(f"not an Avro schema that stands alone ({type(error).__name__}: {error})")

    @property
    def _ours(self) -> str:
        return "sample_bundle" if self.bundles else "sample_chunk"

    def translate(self, value: bytes) -> bytes | str:
        """Return a framed message as plain Avro in our schema, or the reason why it cannot be read."""
        if self._refusal:
            return self._refusal
        try:
            chunk = fastavro.schemaless_reader(io.BytesIO(unframe(value)), self._schema, schema(self._ours))
        except SchemaResolutionError as error:
            reason = self._reason(str(error))
            if not _has_unions(self._schema):  # then no other message can be read either
                self._refusal = reason
            return reason
        except Exception as error:  # of fastavro, on any bytes
            return self._reason(f"{type(error).__name__}: {error}")
        buffer = io.BytesIO()
        try:
            fastavro.schemaless_writer(buffer, schema(self._ours), chunk)
        except Exception as error:  # what was read does not fit: fastavro's again
            return self._reason(f"{type(error).__name__}: {error}")
        return buffer.getvalue()

    @property
    def _record(self) -> str:
        return "SampleBundle" if self.bundles else "SampleChunk"

    def _reason(self, text: str) -> str:
        if len(text) > _LONGEST_REASON:  # both schemas in full
            text = f"{_named(self._schema)[:_LONGEST_REASON]} is not {self._record}"
        return f"schema id {self._id} cannot be read as {self._record}: {text}"


def writer(schema_id: int, text: str) -> Writer:
    """Return how messages of a schema are read; a schema is parsed once, as long as few are in use."""
    return Writer(schema_id, text) if isinstance(text, Refusal) else _parsed(schema_id, text)


@lru_cache(MOST_WRITERS)
def _parsed(schema_id: int, text: str) -> Writer:
    return Writer(schema_id, text)


def is_encoded_like_ours(given: Any, name: str = "sample_chunk") -> bool:
    """Return True if a schema's messages have the bytes of ours: documentation and defaults make no difference.

    ``name``: which of ours, as `beatwire.wire.avro.schema` takes it.

    Raises
    ------
    SchemaParseException, UnknownType
        It is not an Avro schema.
    """
    ours = json.loads(schema_text(name))
    if to_parsing_canonical_form(copy.deepcopy(given)) != to_parsing_canonical_form(copy.deepcopy(ours)):
        return False
    units = [(_logical(a), _logical(b)) for a, b in zip(given["fields"], ours["fields"], strict=True)]
    return all(theirs is None or theirs == own for theirs, own in units)


def _is_bundle(given: Any) -> bool:
    """Return True if a schema is that of a record called SampleBundle, in whatever namespace."""
    name = given.get("name") if isinstance(given, dict) and given.get("type") == "record" else None
    return isinstance(name, str) and name.rpartition(".")[2] == "SampleBundle"


def _logical(field: dict[str, Any]) -> str | None:
    """Return the logical type of a field: microseconds and milliseconds are both a long."""
    kind = field["type"]
    found = kind.get("logicalType") if isinstance(kind, dict) else None
    return None if found is None else str(found)


def _has_unions(parsed: Any) -> bool:
    """Return True if a part of a schema is a union: then a message may be readable and another one not."""
    if isinstance(parsed, list):
        return True
    if not isinstance(parsed, dict):
        return False
    inner = [parsed.get("items"), parsed.get("values"), *(field["type"] for field in parsed.get("fields", ()))]
    return any(map(_has_unions, [*inner, parsed["type"] if isinstance(parsed.get("type"), dict | list) else None]))


def _named(parsed: Any) -> str:
    """Return the kind and name of a schema."""
    if not isinstance(parsed, dict):
        return str(parsed) if isinstance(parsed, str) else "a union"
    return " ".join(str(parsed[word]) for word in ("type", "name") if word in parsed)
