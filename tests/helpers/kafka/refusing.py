"""A proxy before a broker that has one message refused at first, as while a partition changes its leader."""

import contextlib
import select
import socket
import struct
import threading
from typing import Self

_PRODUCE = 0
_WAIT_S = 0.5


class Refusing:
    """Passes on what clients send to a broker; for the first request with `message` its topic is unknown there.

    The request names another topic of equal length, and the answer the right one again. It waits until a second request
    follows on the connection, or for half a second: then both are under way when the first is refused.

    Parameters
    ----------
    port
        For clients; the broker has to advertise it.
    broker_port
        Of the broker.
    topic, message
        Of the request.

    Attributes
    ----------
    held : threading.Event
        The request has come.
    """

    def __init__(self, port: int, broker_port: int, topic: str, message: bytes) -> None:
        self.held = threading.Event()
        self._broker_port, self._message = broker_port, message
        self._topic, self._unknown = topic.encode(), b"?" * len(topic)
        self._listening = socket.create_server(("127.0.0.1", port))
        self._open: list[socket.socket] = []

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for one in (self._listening, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                broker = socket.create_connection(("127.0.0.1", self._broker_port))
                self._open += client, broker
                threading.Thread(target=self._pass_requests, args=(client, broker), daemon=True).start()
                threading.Thread(target=self._pass_answers, args=(broker, client), daemon=True).start()

    def _pass_requests(self, client: socket.socket, broker: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError):
            while True:
                request = _frame(client)
                is_produced = struct.unpack(">h", request[4:6])[0] == _PRODUCE
                if is_produced and self._message in request and not self.held.is_set():
                    request = request.replace(self._topic, self._unknown)
                    self.held.set()
                    if select.select([client], [], [], _WAIT_S)[0]:
                        request += _frame(client)
                broker.sendall(request)

    def _pass_answers(self, broker: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError):
            while True:
                client.sendall(_frame(broker).replace(self._unknown, self._topic))


def _frame(connection: socket.socket) -> bytes:
    head = _exactly(connection, 4)
    return head + _exactly(connection, struct.unpack(">i", head)[0])


def _exactly(connection: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        part = connection.recv(count - len(found))
        if not part:
            raise EOFError
        found += part
    return found
