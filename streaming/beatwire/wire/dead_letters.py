"""Dead letters: rejected messages, republished unchanged with the reason and their place in the log.

In: the rejects of a tick, its messages and their `Origin`. Out: what is published on ``ecg.samples.dlq``. No state.

A rejected message is one letter: its key, its value, and the headers ``reason``, ``topic``, ``partition`` and
``offset``, all UTF-8 text. Of a bundle each rejected chunk is one, with the key and the place of the message, and the
header ``chunk``: its number in the bundle; the value is the chunk alone.

In a tick with more than ``MOST_ALONE`` rejects their letters are packed, many into one message
(``wire.packed_letters``): a sender that has gone wrong then costs its neighbours a fifth less. A message whose value or
key is longer than ``LARGEST_PACKED`` bytes, which may have to be truncated, has a letter of its own all the same.

`letters_in` reads both.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from beatwire.errors import shown
from beatwire.kernels.intake.avro import MAX_BYTES
from beatwire.lazy import import_in_background
from beatwire.records import Bool, Outgoing, RawTick, Rejects
from beatwire.records.letters import Addresses, Letter
from beatwire.wire.names import DEAD_LETTERS

if TYPE_CHECKING:
    from types import ModuleType

MOST_ALONE = 100  # rejects of a tick that have a message each
LARGEST_PACKED = MAX_BYTES  # no chunk may be longer
_PLACE = re.compile(r"-?[0-9]{1,19}")
_PACKED = "beatwire.wire.packed_letters"  # imports pyarrow, which takes a second


class Origin(Protocol):
    """Where the messages of a tick came from."""

    def addresses(self, numbers: Sequence[int]) -> Addresses:
        """Return where the messages with these numbers in the tick, from 0, were."""


def dead_letters(rejects: Rejects, tick: RawTick, origin: Origin, held: Mapping[int, Letter]) -> list[Outgoing]:
    """Return the dead letters of a tick.

    Parameters
    ----------
    rejects
        The rejects.
    tick, origin
        The messages of the tick.
    held
        The messages of earlier ticks by their negative numbers; their reasons are not used.
    """
    own = rejects.number >= 0
    addresses = origin.addresses(tick.messages(rejects.number[own]))
    packs = _packs() if len(rejects) > MOST_ALONE else None
    if packs is None:
        return [_alone(rejects, tick, addresses, held)]
    fits = np.diff(tick.start)[rejects.number[own]] <= LARGEST_PACKED
    if max(map(len, filter(None, addresses.keys)), default=0) > LARGEST_PACKED:
        fits &= np.array([len(key or b"") <= LARGEST_PACKED for key in addresses.keys], np.bool_)
    packed = own.copy()
    packed[own] = fits
    if packed.all():
        return [packs.pack(rejects, tick, addresses)]
    out = [packs.pack(_some(rejects, packed), tick, addresses.some(fits))] if fits.any() else []
    return [*out, _alone(_some(rejects, ~packed), tick, addresses.some(~fits), held)]


def letters_of(outgoing: Outgoing) -> Iterator[Letter]:
    """Yield the letters in messages for ``ecg.samples.dlq``."""
    for message in zip(outgoing.keys, outgoing.values, outgoing.headers or [], strict=True):
        yield from letters_in(*message)


def letters_in(
    key: bytes | None, value: bytes | None, headers: Sequence[tuple[str, Any]] | Mapping[str, Any] | None
) -> Iterator[Letter]:
    """Yield the letters in a message of ``ecg.samples.dlq``; none in a tombstone that ends a torn transaction.

    Raises
    ------
    ValueError
        The message is not one that a monitor has published.
    """
    named = {name: _text(text) for name, text in dict(headers or ()).items()}
    if not named and not value:
        return
    if "content-type" in named:
        from beatwire.wire.packed_letters import CONTENT_TYPE, unpack

        if named["content-type"] != CONTENT_TYPE:
            raise ValueError(f"expected content-type {CONTENT_TYPE}; got {shown(named['content-type'])}")
        yield from unpack(value or b"")
        return
    place = [named.get(name, "") for name in ("partition", "offset")]
    if not {"reason", "topic"} <= named.keys() or not all(map(_PLACE.fullmatch, place)):
        raise ValueError(f"expected headers reason, topic, partition and offset; got {shown(named)}")
    chunk = int(named["chunk"]) if _PLACE.fullmatch(named.get("chunk", "")) else None
    yield Letter(named["reason"], named["topic"], int(place[0]), int(place[1]), key, value or b"", chunk)


def _text(header: str | bytes | None) -> str:
    return header.decode(errors="replace") if isinstance(header, bytes) else header or ""


def _packs() -> ModuleType | None:
    """Return the module that packs, or None until it is imported."""
    return None if import_in_background(_PACKED).is_alive() else sys.modules.get(_PACKED)


def _some(rejects: Rejects, rows: Bool) -> Rejects:
    return Rejects(rejects.number[rows], rejects.fault[rows], rejects.faults)


def _alone(rejects: Rejects, tick: RawTick, addresses: Addresses, held: Mapping[int, Letter]) -> Outgoing:
    """Return a message for each reject, in their order; letters share the texts that they have in common.

    The addresses are those of the rejects of this tick.
    """
    numbers = rejects.message
    own = [k for k in numbers if k >= 0]
    begin, end, payload = tick.start[own].tolist(), tick.start[np.array(own, np.int64) + 1].tolist(), tick.payload.data
    partition = tick.partition[own].tolist()
    chunks = tick.chunks(np.array(own, np.int64))
    columns = zip(partition, addresses.offsets, addresses.keys, begin, end, chunks, strict=True)
    rows = iter([(addresses.topic, *place, payload[a:b].tobytes(), chunk) for *place, a, b, chunk in columns])
    letters = [next(rows) if k >= 0 else held[k][1:] for k in numbers]
    reasons = [("reason", fault.reason.encode()) for fault in rejects.faults]
    topics = {topic: ("topic", topic.encode()) for topic in {letter[0] for letter in letters}}
    places = {place: ("partition", b"%d" % place) for place in {letter[1] for letter in letters}}
    return Outgoing(
        DEAD_LETTERS,
        [key for _, _, _, key, _, _ in letters],
        [value for *_, value, _ in letters],
        [
            [reasons[fault], topics[topic], places[partition], ("offset", b"%d" % offset), *_chunk(chunk)]
            for fault, (topic, partition, offset, _, _, chunk) in zip(rejects.fault.tolist(), letters, strict=True)
        ],
    )


def _chunk(number: int | None) -> list[tuple[str, bytes]]:
    return [] if number is None else [("chunk", b"%d" % number)]
