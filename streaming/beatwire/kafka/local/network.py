"""A network between clients and a local broker, which can be disturbed as real ones are.

In: connections of clients. Out: the same bytes at the broker and back, late, or never. State: the connections, and the
disturbances that are due. Requests and answers are passed on whole.

A refused write reaches the broker as one to a topic that it does not know: as where a partition changes its leader, the
client tries again. The next request of the connection comes right behind it if there is one.
"""

import contextlib
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_PRODUCE = 0
# Requests that change something: produce, offset commit, offsets and ends of transactions, and their partitions.
_CHANGES = (_PRODUCE, 8, 24, 25, 26, 28)
_FOLLOWS_S = 0.5  # for the request after one that is refused
_UNKNOWN = b"?"  # instead of each letter of a topic


@dataclass(slots=True, eq=False)
class _Connection:
    """A client's connection and the one to the broker; ``topic``: of an answer in which it is to be named again."""

    client: socket.socket
    broker: socket.socket
    topic: bytes = b""
    is_lost: bool = False  # nothing of the broker reaches the client any more

    def close(self) -> None:
        for one in (self.client, self.broker):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


class Network:
    """Passes on what clients and a broker on this machine send each other.

    Parameters
    ----------
    broker_port
        Of the broker, which has to advertise `port`.

    Attributes
    ----------
    port : int
        For clients.
    refused, lost : int
        Writes that were refused, and answers that were lost.
    alter : callable or None
        Takes each answer, with its length before it, and returns what the client receives in its place, as long.
    """

    def __init__(self, broker_port: int) -> None:
        self._broker_port = broker_port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.refused = self.lost = 0
        self.alter: Callable[[bytes], bytes] | None = None
        self._lock = threading.Lock()
        self._connections: set[_Connection] = set()
        self._stalled_until_s = 0.0
        self._refusal: tuple[bytes, bytes] | None = None  # topic and content of the write to be refused
        self._loss = False  # the answer to the next change is to be lost
        threading.Thread(target=self._accept, name="network", daemon=True).start()

    def close(self) -> None:
        """Cut all connections, and take no more."""
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.cut()

    def cut(self) -> None:
        """Cut all connections."""
        with self._lock:
            cut, self._connections = self._connections, set()
        for one in cut:
            one.close()

    def stall(self, seconds: float) -> None:
        """Pass nothing on for so many seconds."""
        self._stalled_until_s = time.monotonic() + seconds

    def refuse(self, topic: str, content: bytes = b"") -> None:
        """Let the broker refuse the next write to a topic once, of which the messages have this content."""
        self._refusal = topic.encode(), content

    def lose_answer(self) -> None:
        """Let the broker make the next change, and cut the connection before it answers."""
        self._loss = True

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                try:
                    broker = socket.create_connection(("127.0.0.1", self._broker_port))
                except OSError:  # it is away
                    client.close()
                    continue
                one = _Connection(client, broker)
                for connected in (client, broker):
                    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with self._lock:
                    self._connections.add(one)
                for target in (self._pass_requests, self._pass_answers):
                    threading.Thread(target=target, args=(one,), name="network", daemon=True).start()

    def _pass_requests(self, one: _Connection) -> None:
        with self._until_closed(one):
            while True:
                request = _frame(one.client)
                self._wait()
                kind = struct.unpack(">h", request[4:6])[0]
                if kind == _PRODUCE and self._is_refused(request):
                    one.topic, request = self._renamed(request)
                    if select.select([one.client], [], [], _FOLLOWS_S)[0]:
                        request += _frame(one.client)
                elif kind in _CHANGES and self._loss:
                    self._loss, one.is_lost = False, True
                    self.lost += 1
                one.broker.sendall(request)

    def _pass_answers(self, one: _Connection) -> None:
        with self._until_closed(one):
            while True:
                answer = _frame(one.broker)
                self._wait()
                if one.is_lost:
                    return
                unknown = _UNKNOWN * len(one.topic)
                if one.topic and unknown in answer:
                    answer, one.topic = answer.replace(unknown, one.topic), b""
                alter = self.alter
                one.client.sendall(answer if alter is None else alter(answer))

    def _is_refused(self, request: bytes) -> bool:
        refusal = self._refusal
        return refusal is not None and all(part in request for part in refusal)

    def _renamed(self, request: bytes) -> tuple[bytes, bytes]:
        """Return the topic of a write, and the write to one that the broker does not know."""
        assert self._refusal is not None
        topic, self._refusal = self._refusal[0], None
        self.refused += 1
        return topic, request.replace(topic, _UNKNOWN * len(topic), 1)

    def _wait(self) -> None:
        while (left_s := self._stalled_until_s - time.monotonic()) > 0:
            time.sleep(left_s)

    @contextlib.contextmanager
    def _until_closed(self, one: _Connection) -> Iterator[None]:
        try:
            yield
        except (OSError, EOFError):
            pass
        finally:
            one.close()
            with self._lock:
                self._connections.discard(one)


def _frame(connection: socket.socket) -> bytes:
    """Return the next request or answer, with its length before it."""
    head = _exactly(connection, 4)
    return head + _exactly(connection, struct.unpack(">i", head)[0])


def _exactly(connection: socket.socket, count: int) -> bytes:
    found = bytearray()
    while len(found) < count:
        part = connection.recv(min(1 << 20, count - len(found)))
        if not part:
            raise EOFError
        found += part
    return bytes(found)
