"""Messages as they stand in a file of a spool: a row of entries.

An entry is the lengths of key, value and headers, a checksum, and the bytes. What is damaged is passed over, as the end
of a file that was torn off.
"""

import json
import struct
import zlib

from beatwire_producers.devices.chunks import Message

_HEAD = struct.Struct("<IIII")  # bytes of key, value, headers; checksum
_LEAST_HEADERS = 2  # bytes: an empty list


def entry_of(message: Message) -> bytes:
    """Return a message as an entry."""
    headers = json.dumps([[name, value.decode()] for name, value in message.headers or ()]).encode()
    body = message.key + message.value + headers
    return _HEAD.pack(len(message.key), len(message.value), len(headers), zlib.crc32(body)) + body


def entries_of(content: bytes) -> tuple[list[tuple[Message, int]], int]:
    """Return the messages of a file, each with the byte after it, and at how many places between them it is damaged."""
    found, begin, at, damages = list[tuple[Message, int]](), 0, 0, 0
    while at + _HEAD.size <= len(content):
        entry = _entry_at(content, at)
        if entry is None:
            at += 1
            continue
        damages += at > begin
        found.append(entry)
        begin = at = entry[1]
    return found, damages


def _entry_at(content: bytes, at: int) -> tuple[Message, int] | None:
    """Return the message that begins at a byte, and the byte after it; None if none does."""
    key, value, headers, checksum = _HEAD.unpack_from(content, at)
    begin, stop = at + _HEAD.size, at + _HEAD.size + key + value + headers
    if headers < _LEAST_HEADERS or stop > len(content) or zlib.crc32(content[begin:stop]) != checksum:
        return None
    body = content[begin:stop]
    fields = [(name, text.encode()) for name, text in json.loads(body[key + value :])]
    return Message(body[:key], body[key : key + value], fields or None), stop
