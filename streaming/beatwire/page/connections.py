"""Connections that have not presented a request that the guard lets in: they are few, and not for long.

In: TCP connections. Out: requests, to the application. State: the connections that wait, in the order in which they
began to.

A connection waits from its beginning to a request that the guard admits, and again after the answer to one; a refused
request changes nothing. It is closed after ``WAIT_S``, after ``HURRY_S`` while more than ``MOST_WAITING`` wait.
So whoever opens connections and sends nothing, or a header byte by byte, or requests without the token, keeps nobody
else from the page. A WebSocket is answered, or refused and closed, with its first request.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import h11
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

WAIT_S = 10.0
HURRY_S = 1.0
MOST_WAITING = 200
ADMITTED = "admitted"  # in the state of a scope: called by the guard when it lets a request in


class Connection(H11Protocol):
    """A connection of HTTP/1.1, until it becomes that of a WebSocket."""

    waiting: ClassVar[dict[Connection, None]]  # of one server

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._behind, self.app = self.app, self._call
        self._timer: asyncio.TimerHandle | None = None
        self._since_s = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._admit()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Leave the connection to a WebSocket."""
        self._admit()
        super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        """Wait again, if the request was admitted."""
        if self not in self.waiting and not self.transport.is_closing():
            self._wait()
        super().on_response_complete()

    async def _call(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"][ADMITTED] = self._admit
        await self._behind(scope, receive, send)

    def _wait(self) -> None:
        self.waiting[self] = None
        self._since_s = self.loop.time()
        self._timer = self.loop.call_later(HURRY_S, self._look)

    def _admit(self) -> None:
        self.waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        """Close the connection if it has waited for too long."""
        left_s = self._since_s + WAIT_S - self.loop.time()
        if left_s <= 0 or len(self.waiting) > MOST_WAITING:
            self._admit()
            self.transport.abort()
        else:
            self._timer = self.loop.call_later(min(left_s, HURRY_S), self._look)


def connection_class() -> type[Connection]:
    """Return the class of the connections of one server."""

    class OfOneServer(Connection):
        waiting: ClassVar[dict[Connection, None]] = {}

    return OfOneServer
