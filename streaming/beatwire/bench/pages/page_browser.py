"""What a browser without a screen does: it connects to the page, watches beds, and confirms samples."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from beatwire.page.protocol import Block, decode_samples

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection


@contextmanager
def watching(url: str, beds: int) -> Iterator[ClientConnection]:
    """Connect to a page and watch the first lead of its first beds."""
    from websockets.sync.client import connect
    from websockets.typing import Origin

    parts = urlsplit(url)
    streams = [f"bed-{k + 1}" for k in range(beds)]
    with connect(f"ws://{parts.netloc}/live", origin=Origin(f"http://{parts.netloc}"), compression=None) as socket:
        socket.send(json.dumps({"type": "ward", "query": "", "offset": 0, "limit": beds}))
        socket.send(json.dumps({"type": "watch", "streams": streams, "leads": "first"}))
        yield socket


def handle(socket: ClientConnection, raw: bytes) -> list[Block]:
    """Confirm a message of samples, as the page does, and return its blocks."""
    number, blocks = decode_samples(raw)
    socket.send(json.dumps({"type": "seen", "number": number}))
    return blocks
