"""Messages that are nearly right: of a good one the bytes are changed, or a field of its JSON."""

import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

HOSTILE: list[Any] = [
    None, True, 0, -1, 2**31, 2**53, 2**63, -(2**63) - 1, 10**400, -(10**400), 1e308, -1e308, 0.5, float("nan"),
    float("inf"), "", " ", "x" * 70, "x" * 2000, "\x1b[2J", "\u0000", "\ud800", "\u202e", "high", "on", "off",
    "samples lost", "no data", "asystole", [], [1], {}, {"a": 1}, {"asystole": 10**400}, {"asystole": "5"}, {"?": 1},
    [[[[]]]], [None],
]  # fmt: skip
RAW = [b"", b"null", b"[1]", b"[" * 3000, b'{"a":' * 3000, b"\xff\xfe", b"{", b"1" * 5000, b'"', b"\x00" * 40, b"1e999"]


def mutations(good: Sequence[bytes], count: int, seed: int = 0) -> Iterator[bytes]:
    """Yield messages made from good ones."""
    rng = random.Random(seed)
    objects = [json.loads(one) for one in good if one[:1] == b"{"]
    for _ in range(count):
        kind = rng.random()
        if kind < 0.01:
            yield rng.choice(RAW)
        elif kind < 0.6 and objects:
            yield _fields_changed(rng, rng.choice(objects))
        else:
            yield _bytes_changed(rng, rng.choice(good))


def _fields_changed(rng: random.Random, given: dict[str, Any]) -> bytes:
    changed = dict(given)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        name = rng.choice([*given, "later"])
        if rng.random() < 0.15:
            changed.pop(name, None)
        else:
            changed[name] = rng.choice(HOSTILE)
    text = json.dumps(changed)
    return text.encode() if rng.random() < 0.5 else text.encode("utf-8", "surrogatepass")


def _bytes_changed(rng: random.Random, given: bytes) -> bytes:
    changed = bytearray(given)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(changed) + 1)
        what = rng.random()
        if what < 0.5 and at < len(changed):
            changed[at] = rng.randrange(256)
        elif what < 0.7:
            changed[at:at] = rng.randbytes(rng.choice((1, 2, 9)))
        elif what < 0.9:
            del changed[at : at + rng.choice((1, 2, 9))]
        else:
            del changed[at:]
    return bytes(changed)
