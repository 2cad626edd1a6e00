"""Whether a foreign Avro schema can be read safely: no recursion, a bounded size, no lists of nothing.

In: a schema as JSON gives it. Out: nothing, or `BoundsError`. No state.

A reader that recurses in C ends the process where a schema contains itself: a message of 20 kB is 10,000 levels deep. A
record of records of records doubles with each level. And a list may have 2^60 items in ten bytes if an item has none.
"""

from typing import Any, NamedTuple

MOST_NODES = 1_000  # types in a schema, each counted wherever it is used
MOST_DEEP = 64
_LEAST_BYTES = {"null": 0, "boolean": 1, "int": 1, "long": 1, "float": 4, "double": 8, "bytes": 1, "string": 1}


class BoundsError(ValueError):
    """A schema is not read; the text is one line."""


class _Size(NamedTuple):
    nodes: int
    least_bytes: int


def check_bounds(given: Any) -> None:
    """Check a schema.

    >>> check_bounds({"type": "record", "name": "a", "fields": [{"name": "x", "type": ["null", "a"]}]})
    Traceback (most recent call last):
    ...
    beatwire.wire.schema_bounds.BoundsError: expected a schema without recursion; got a type 'a' that contains itself

    Raises
    ------
    BoundsError
        It contains itself, is too large or too deep, or has a list whose items take no bytes.
    """
    _Walk().size(given, "", 0)


class _Walk:
    """Sizes of the named types so far; None while a type is being read."""

    def __init__(self) -> None:
        self._named: dict[str, _Size | None] = {}

    def size(self, given: Any, space: str, deep: int) -> _Size:
        """Return the size of a schema in a namespace."""
        if deep > MOST_DEEP:
            raise BoundsError(f"expected a schema of at most {MOST_DEEP} levels")
        if isinstance(given, str):
            return self._of_name(given, space)
        if isinstance(given, list):
            sizes = [self.size(one, space, deep + 1) for one in given]
            return self._bounded(_Size(1 + sum(one.nodes for one in sizes), 1))
        if not isinstance(given, dict):
            return _Size(1, 0)  # no schema: whoever parses it says so
        kind = given.get("type")
        if kind in ("array", "map"):
            items = self.size(given.get("items" if kind == "array" else "values"), space, deep + 1)
            if kind == "array" and not items.least_bytes:
                raise BoundsError("expected lists whose items take bytes; got a list of nothing")
            return self._bounded(_Size(1 + items.nodes, 1))
        if kind in ("record", "error", "enum", "fixed"):
            return self._of_definition(given, str(kind), space, deep)
        return self.size(kind, space, deep + 1)

    def _of_name(self, name: str, space: str) -> _Size:
        if name in _LEAST_BYTES:
            return _Size(1, _LEAST_BYTES[name])
        full = name if "." in name or not space else f"{space}.{name}"
        found = self._named.get(full, self._named.get(name, _Size(1, 0)))
        if found is None:
            raise BoundsError(f"expected a schema without recursion; got a type {name[:40]!r} that contains itself")
        return found

    def _of_definition(self, given: dict[str, Any], kind: str, space: str, deep: int) -> _Size:
        name, own = str(given.get("name")), str(given.get("namespace") or space)
        full = name if "." in name or not own else f"{own}.{name}"
        inner = full.rpartition(".")[0]
        if kind == "enum":
            self._named[full] = size = _Size(1, 1)
            return size
        if kind == "fixed":
            bytes_each = given.get("size")
            self._named[full] = size = _Size(1, max(0, bytes_each) if isinstance(bytes_each, int) else 0)
            return size
        self._named[full] = None
        fields = given.get("fields")
        found = [
            self.size(one.get("type"), inner, deep + 1)
            for one in (fields if isinstance(fields, list) else [])
            if isinstance(one, dict)
        ]
        size = self._bounded(_Size(1 + sum(one.nodes for one in found), sum(one.least_bytes for one in found)))
        self._named[full] = size
        return size

    def _bounded(self, size: _Size) -> _Size:
        if size.nodes > MOST_NODES:
            raise BoundsError(f"expected a schema of at most {MOST_NODES} types; got more")
        return size
