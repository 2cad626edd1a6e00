"""The part of MQTT 3.1.1 that a subscriber needs (OASIS standard of 29 October 2014).

In:  the bytes of a broker. Out: the messages of one topic, many for one read of the socket; acknowledgements.
State: bytes of a packet that is not whole, acknowledgements that are due, messages of quality 2 that are not released

Invariant: a message is acknowledged after the caller has said so, never before: what was not taken comes again or is
lost where it waits, at the broker.
"""

from __future__ import annotations

import secrets
import socket
import ssl
import struct
import time
from typing import NamedTuple

_CONNECT_S, _SEND_S = 10.0, 10.0
_KEEPALIVE_S = 60  # after one and a half of it without a packet of ours the broker ends the connection
_PING_S, _SILENT_S = 10.0, 25.0  # without a packet of the broker: it is asked; it has gone
_BLOCK = 1 << 18  # bytes of a read
_CONNACK, _PUBLISH, _PUBREL, _SUBACK = 2, 3, 6, 9  # kinds of packets: the upper half of the first byte
_FAILED = 0x80  # of a subscription
_UNAVAILABLE = 3
_REASONS = {
    1: "Unacceptable protocol version",
    2: "Client identifier rejected",
    _UNAVAILABLE: "Server unavailable",
    4: "Bad user name or password",
    5: "Not authorized",
}


class RefusedError(Exception):
    """The broker refuses this client; the text is its reason."""


class Message(NamedTuple):
    """A message: its topic, its content, and whether the broker had kept it from before the subscription."""

    topic: str
    payload: bytes
    retained: bool


class Connection:
    """A connection to a broker, for one thread.

    Parameters
    ----------
    host, port
        Where.
    tls
        How to encrypt; None: not at all.
    user, password
        For the broker; without a user there is no password.

    Raises
    ------
    RefusedError
        The broker refuses this client.
    OSError
        It does not answer, or its certificate is not trusted.
    """

    def __init__(
        self, host: str, port: int, *, tls: ssl.SSLContext | None, user: str | None, password: str | None
    ) -> None:
        self._buffer = bytearray()
        self._due = bytearray()  # acknowledgements
        self._unreleased: set[bytes] = set()  # ids of messages of quality 2
        self._topics: dict[bytes, str] = {}
        self._early: list[Message] = []  # that came before the subscription was confirmed
        self._sent_s = self._came_s = time.monotonic()
        opened = socket.create_connection((host, port), _CONNECT_S)
        self._socket = opened
        try:
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if tls is not None:
                self._socket = tls.wrap_socket(opened, server_hostname=host)
            self._send(_connect(user, password))
            code = self._wait_for(_CONNACK)[-1]
            if code == _UNAVAILABLE:
                raise ConnectionError(_REASONS[code])
            if code:
                raise RefusedError(_REASONS.get(code, f"code {code}"))
        except BaseException:
            self._socket.close()
            raise

    def subscribe(self, topic: str, quality: int) -> None:
        """Subscribe to a topic, with a quality of service.

        Raises
        ------
        RefusedError
            The broker does not allow it.
        OSError
            It does not answer.
        """
        self._send(_packet(0x82, b"\0\1" + _text(topic) + bytes([quality])))
        if self._wait_for(_SUBACK)[-1] == _FAILED:
            raise RefusedError("Not authorized")

    def receive(self, wait_s: float) -> list[Message]:
        """Return what has come; wait for the first of it.

        Raises
        ------
        OSError
            The broker has gone.
        """
        early, self._early = self._early, []
        if early:
            return early
        has_come = self._read(wait_s)
        self._keep_alive()
        return self._messages_of(self._packets()) if has_come else []

    def acknowledge(self) -> None:
        """Acknowledge what was received.

        Raises
        ------
        OSError
            The broker has gone.
        """
        if self._due:
            due, self._due = self._due, bytearray()
            self._send(due)

    def close(self) -> None:
        """Disconnect."""
        try:
            self._send(b"\xe0\0")
        except OSError:
            pass
        finally:
            self._socket.close()

    def _send(self, packet: bytes | bytearray) -> None:
        self._socket.settimeout(_SEND_S)
        self._socket.sendall(packet)
        self._sent_s = time.monotonic()

    def _read(self, wait_s: float) -> bool:
        """Read what has come; return False if nothing has."""
        self._socket.settimeout(wait_s)
        try:
            block = self._socket.recv(_BLOCK)
        except (TimeoutError, ssl.SSLWantReadError):
            return False
        if not block:
            raise ConnectionError("it has closed the connection")
        self._buffer += block
        self._came_s = time.monotonic()
        return True

    def _packets(self) -> list[tuple[int, int, bytes]]:
        """Return kind, flags and body of each packet that is whole."""
        content, at, found = bytes(self._buffer), 0, []
        while (body := _body(content, at)) is not None:
            found.append((content[at] >> 4, content[at] & 15, content[body[0] : body[1]]))
            at = body[1]
        del self._buffer[:at]
        return found

    def _messages_of(self, packets: list[tuple[int, int, bytes]]) -> list[Message]:
        """Return the messages among packets; note what is due for them."""
        found = []
        for kind, flags, body in packets:
            if kind == _PUBLISH:
                try:
                    message = self._message(flags, body)
                except (IndexError, UnicodeDecodeError) as error:
                    raise _none_of_mqtt() from error
                if message is not None:
                    found.append(message)
            elif kind == _PUBREL:
                self._unreleased.discard(body[:2])
                self._due += b"\x70\x02" + body[:2]
        return found

    def _message(self, flags: int, body: bytes) -> Message | None:
        """Return a message; None if it has come before and is not released yet."""
        begin = 2 + (body[0] << 8 | body[1])
        topic = self._topics.get(body[2:begin])
        if topic is None:
            topic = self._topics[body[2:begin]] = body[2:begin].decode()
        quality = flags >> 1 & 3
        if quality:
            number = body[begin : begin + 2]
            begin += 2
            self._due += (b"\x40\x02" if quality == 1 else b"\x50\x02") + number
            if quality > 1:
                if number in self._unreleased:
                    return None
                self._unreleased.add(number)
        return Message(topic, body[begin:], bool(flags & 1))

    def _wait_for(self, wanted: int) -> bytes:
        """Return the body of the next packet of a kind; its code is in the last byte."""
        until_s = time.monotonic() + _CONNECT_S
        while (left_s := until_s - time.monotonic()) > 0:
            if not self._read(left_s):
                continue
            packets = self._packets()
            self._early += self._messages_of(packets)
            for kind, _, body in packets:
                if kind == wanted and body:
                    return body
        raise TimeoutError("no answer")

    def _keep_alive(self) -> None:
        """Ask a broker that is silent whether it is there.

        Raises
        ------
        OSError
            It has not answered.
        """
        now_s = time.monotonic()
        silent_s, quiet_s = now_s - self._came_s, now_s - self._sent_s
        if silent_s > _SILENT_S:
            raise ConnectionError(f"no answer for {silent_s:.0f} s")
        if quiet_s > _KEEPALIVE_S / 2 or min(silent_s, quiet_s) > _PING_S:
            self._send(b"\xc0\0")


def _connect(user: str | None, password: str | None) -> bytes:
    flags, fields = 2, _text(f"beatwire-{secrets.token_hex(6)}")  # 2: the broker keeps nothing for this client
    if user is not None:
        flags |= 0x80
        fields += _text(user)
        if password is not None:
            flags |= 0x40
            fields += _text(password)
    return _packet(0x10, _text("MQTT") + struct.pack(">BBH", 4, flags, _KEEPALIVE_S) + fields)


def _text(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack(">H", len(encoded)) + encoded


def _packet(first: int, body: bytes) -> bytes:
    size, length = len(body), bytearray()
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    length.append(size)
    return bytes([first]) + length + body


def _body(content: bytes, at: int) -> tuple[int, int] | None:
    """Return where the body of a packet begins and ends; None if it is not whole."""
    size = 0
    for k in range(4):
        if at + 1 + k >= len(content):
            return None
        byte = content[at + 1 + k]
        size |= (byte & 127) << 7 * k
        if byte < 128:
            begin = at + 2 + k
            return (begin, begin + size) if begin + size <= len(content) else None
    raise _none_of_mqtt()


def _none_of_mqtt() -> ConnectionError:
    return ConnectionError("expected packets of MQTT 3.1.1; got others")
