"""Messages that are refused, and a graph that takes a tick of them each half second."""

import json
from typing import Any

from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import RawTick
from beatwire.records.letters import Addresses
from beatwire.wire.avro import encode_chunk
from hostile_senders import heart
from laws import START_US, Run, collect

SECOND_US = 1_000_000


class Keys:
    """The origin of messages that have a key each."""

    def __init__(self, keys: list[bytes | None]) -> None:
        self.keys = keys

    def addresses(self, numbers: list[int]) -> Addresses:
        """Return where messages are."""
        return Addresses("ecg.samples", list(numbers), [self.keys[k] for k in numbers])


def chunk(name: str, first: int = 0, **changed: Any) -> bytes:
    given_: dict[str, Any] = {
        "stream": name, "session": 1, "first": first, "time_us": first * 4000, "rate_hz": 250.0, "leads": ["I"],
        "samples": heart(1, first, 125), "lead_off": 0, "uv_per_unit": 5.0,
    }  # fmt: skip
    return encode_chunk(**(given_ | changed))


def as_json(name: str, first: int, **changed: Any) -> bytes:
    fields = {"stream": name, "session": 1, "first": first, "time": 0, "rate_hz": 9.0, "leads": ["I"], "samples": [[1]]}
    return json.dumps(fields | changed).encode()


def transitions(run: Run, *names: str) -> list[tuple[str, str, str]]:
    own = [a for a in run.alerts if a["stream"] in names and (a["state"] != "on" or not a["reminders"])]
    return [(a["stream"], a["rule"], a["state"]) for a in own]


class Half:
    """A graph that takes a tick each half second."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.pipeline, self.run, self.now_us = Pipeline(settings or Settings()), Run(), START_US
        collect(self.pipeline, self.run, published=True)

    def tick(self, *values: bytes, keys: list[bytes | None] | None = None) -> None:
        """Take messages."""
        self.now_us += SECOND_US // 2
        self.pipeline.emit(RawTick.of(values, now_us=self.now_us), Keys(keys) if keys else None)
