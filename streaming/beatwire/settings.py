"""Settings that the configuration has too; nothing here takes time to load.

``HORIZON_S`` is the published constant of `beatwire.pipeline.settings`, which has the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from beatwire.errors import UserError

HORIZON_S = 135.0


@dataclass(frozen=True, slots=True)
class Streams:
    """Settings of streams; durations in seconds.

    pass_s       longest stretch of a stream that goes through the rings at once
    reorder_s    how far ahead of its turn a chunk may come
    bridge_s     longest hole that is bridged; a longer one restarts the lane
    silence_s    silence after which a stream starts anew
    evict_s      silence after which a stream is removed: its alerts end, its memory goes to others
    duplicate_s  how far back a chunk is a duplicate and not an error
    most_streams streams at most
    most_banks   kinds of streams at most: combinations of a sampling rate and a number of leads
    admit_s      samples of a new stream with a rate or a number of leads that no stream has, before it is placed
    schema_id    id that Avro messages in Confluent framing must have; None accepts any
    """

    pass_s: float = 1.03
    reorder_s: float = 0.4
    bridge_s: float = 0.25
    silence_s: float = 60.0
    evict_s: float = 86_400.0
    duplicate_s: float = 60.0
    most_streams: int = 1_000_000
    most_banks: int = 128
    admit_s: float = 1.0
    schema_id: int | None = None

    def __post_init__(self) -> None:
        """Check the settings.

        Raises
        ------
        UserError
            They cannot work.
        """
        for name in ("pass_s", "reorder_s", "bridge_s", "silence_s", "duplicate_s"):
            value = getattr(self, name)
            if not 0 < value <= HORIZON_S:
                raise UserError(f"settings: expected 0 < {name} <= {HORIZON_S:g}; got {value:g}")
        if not 2 * HORIZON_S <= self.evict_s < math.inf:
            raise UserError(f"settings: expected evict_s of at least {2 * HORIZON_S:g}; got {self.evict_s:g}")
        if not 0 <= self.admit_s <= self.silence_s:
            raise UserError(f"settings: expected 0 <= admit_s <= silence_s; got {self.admit_s:g}")


def bytes_of(text: str) -> int:
    """Return the number of bytes of a size like ``8GiB`` or ``500MB``.

    >>> bytes_of("8GiB"), bytes_of("500 MB")
    (8589934592, 500000000)

    Raises
    ------
    UserError
        The text is not a size.
    """
    units = {"": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "kb": 10**3, "mb": 10**6, "gb": 10**9}
    number = text.strip().rstrip("BbiIkKmMgG ")
    unit = text.strip()[len(number) :].strip().lower()
    try:
        size = float(number) * units[unit]
    except (KeyError, ValueError):
        size = 0
    if not 1 <= size < float("inf"):
        raise UserError(f"--gpu-memory: expected a size like 8GiB or 500MB; got {text!r}")
    return int(size)
