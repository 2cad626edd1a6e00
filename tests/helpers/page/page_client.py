"""A browser without a screen: the protocol of the live page, for tests."""

import http.client
import json
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import numpy as np
from beatwire.page.protocol import Block, decode_samples
from moments import LIMIT_S
from websockets.sync.client import connect


def get(url: str, **headers: str) -> tuple[int, dict[str, str], str]:
    """Return status, headers by lower-case name, and text of an answer; ``Host`` may be given."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=LIMIT_S)
    connection.request("GET", parts.path + (f"?{parts.query}" if parts.query else ""), headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, text


class Client:
    """A connection; collects the samples of each stream number as index -> column of values."""

    def __init__(self, url: str, *, sees: bool = True, **changed: Any) -> None:
        parts = urlsplit(url)
        given = {"origin": f"http://{parts.netloc}", "compression": None, "open_timeout": LIMIT_S, "max_size": 1 << 24}
        query = f"?{parts.query}" if parts.query else ""
        self._connect = connect(f"ws://{parts.netloc}/live{query}", **(given | changed))
        self.socket = self._connect.__enter__()
        self.sees = sees
        self.messages: list[dict[str, Any]] = []
        self.blocks: list[Block] = []
        self.numbers: list[int] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connect.__exit__(kind, error, trace)

    def send(self, **message: Any) -> None:
        self.socket.send(json.dumps(message))

    def receive(self, timeout_s: float = LIMIT_S) -> dict[str, Any] | None:
        """Take one message; return it if it is JSON."""
        raw = self.socket.recv(timeout=timeout_s)
        if isinstance(raw, bytes):
            number, blocks = decode_samples(raw)
            self.numbers.append(number)
            self.blocks += blocks
            if self.sees:
                self.send(type="seen", number=number)
            return None
        self.messages.append(json.loads(raw))
        return self.messages[-1]

    def until(self, done: Callable[[], bool], within_s: float = LIMIT_S) -> None:
        deadline = time.monotonic() + within_s
        while not done():
            self.receive(max(0.01, deadline - time.monotonic()))

    def expect(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Return the next message of a type whose fields are as given."""
        deadline = time.monotonic() + LIMIT_S
        while True:
            message = self.receive(max(0.01, deadline - time.monotonic()))
            if message is not None and message["type"] == kind and fields.items() <= message.items():
                return message

    def samples(self, number: int) -> dict[int, tuple[int, ...]]:
        """Return index -> the values of all leads, of what was received of a stream."""
        found: dict[int, tuple[int, ...]] = {}
        for block in self.blocks:
            if block.stream == number:
                columns = map(tuple, np.asarray(block.samples).T.tolist())
                found |= dict(zip(range(block.first, block.first + block.samples.shape[1]), columns, strict=True))
        return found
