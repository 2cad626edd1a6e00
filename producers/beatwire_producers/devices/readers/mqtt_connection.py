"""A connection to an MQTT broker by the package ``paho-mqtt``, without a thread of its own.

In:  the bytes of a broker. Out: the messages of one topic, as many as have come; acknowledgements.
State: messages that have come and were not taken, and those that are not acknowledged

Invariant: a message is acknowledged after the caller has said so, never before: what was not taken comes again or is
lost where it waits, at the broker.
"""

import selectors
import ssl
import struct
import time
from typing import Any, NamedTuple

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

_CONNECT_S = 10.0
_KEEPALIVE_S = 20  # without a packet for so long the other side is asked; without an answer for as long it has gone
_MISC_S = 1.0  # between two looks at that
_MOST = 4096  # messages that are taken at a time
_UNAVAILABLE = "Server unavailable"


class RefusedError(Exception):
    """The broker refuses this client; the text is its reason."""


class Message(NamedTuple):
    """A message.

    topic     its topic
    payload   its content
    retained  the broker had kept it from before the subscription
    is_text   the topic was UTF-8; otherwise it has escapes for what was not
    """

    topic: str
    payload: bytes
    retained: bool
    is_text: bool = True


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
        self._messages: list[Message] = []
        self._due: list[tuple[int, int]] = []  # number and quality of messages that are not acknowledged
        self._answer: list[Any] = []  # of the broker to what was asked last
        self._gone: Any = None
        self._looked_s = time.monotonic()
        client = paho.Client(CallbackAPIVersion.VERSION2, clean_session=True, manual_ack=True)
        client.connect_timeout = _CONNECT_S
        if tls is not None:
            client.tls_set_context(tls)
        if user is not None:
            client.username_pw_set(user, password)
        client.on_message, client.on_disconnect = self._came, self._ended
        client.on_connect = lambda _client, _data, _flags, reason, _properties: self._answer.append(reason)
        client.on_subscribe = lambda _client, _data, _mid, reasons, _properties: self._answer.append(reasons[0])
        self._client = client
        try:
            client.connect(host, port, keepalive=_KEEPALIVE_S)
            reason = self._answered()
        except ssl.SSLError:
            raise
        except ValueError as error:  # of paho, or of a name that no host has
            raise ConnectionError(str(error)) from error
        if reason.is_failure:
            self.close()
            raise (ConnectionError if reason == _UNAVAILABLE else RefusedError)(str(reason))

    def subscribe(self, topic: str, quality: int) -> None:
        """Subscribe to a topic, with a quality of service.

        Raises
        ------
        RefusedError
            The broker does not allow it.
        OSError
            It does not answer.
        """
        self._client.subscribe(topic, quality)
        reason = self._answered()
        if reason.is_failure:
            raise RefusedError("Not authorized")

    def receive(self, wait_s: float) -> list[Message]:
        """Return what has come; wait for the first of it.

        Raises
        ------
        OSError
            The broker has gone.
        """
        if not self._messages:
            self._read(wait_s)
        messages, self._messages = self._messages, []
        if not messages and self._gone is not None:
            raise ConnectionError(str(self._gone))
        return messages

    def acknowledge(self) -> None:
        """Acknowledge what was received."""
        due, self._due = self._due, []
        for number, quality in due:
            self._client.ack(number, quality)

    def close(self) -> None:
        """Disconnect."""
        self._gone = "closed"
        self._client.disconnect()
        self._client.loop_write()

    def _answered(self) -> Any:
        """Return the answer to what was asked last."""
        until_s = time.monotonic() + _CONNECT_S
        while not self._answer:
            left_s = until_s - time.monotonic()
            if self._gone is not None or left_s <= 0:
                raise ConnectionError(str(self._gone or "no answer"))
            self._read(left_s)
        return self._answer.pop()

    def _read(self, wait_s: float) -> None:
        """Wait until something has come, and read it."""
        client, connected = self._client, self._client.socket()
        if connected is None:
            self._gone = self._gone or "it has closed the connection"
            return
        readable, writable = _ready(connected, min(wait_s, _MISC_S), writes=client.want_write())
        if writable:
            client.loop_write()
        known = -1 if readable else len(self._messages)
        while (known < len(self._messages) or _holds(connected)) and len(self._messages) < _MOST:
            known = len(self._messages)
            try:
                client.loop_read()  # one packet
            except (ValueError, IndexError, struct.error) as error:
                raise ConnectionError("expected packets of MQTT 3.1.1; got others") from error
        now_s = time.monotonic()
        if now_s - self._looked_s > _MISC_S:
            self._looked_s = now_s
            client.loop_misc()

    def _came(self, _client: Any, _data: Any, message: paho.MQTTMessage) -> None:
        try:
            topic, is_text = message.topic, True
        except UnicodeDecodeError as error:
            topic, is_text = error.object.decode(errors="backslashreplace"), False
        self._messages.append(Message(topic, bytes(message.payload), message.retain, is_text))
        if message.qos:
            self._due.append((message.mid, message.qos))

    def _ended(self, _client: Any, _data: Any, _flags: Any, reason: Any, _properties: Any) -> None:
        self._gone = self._gone or reason


def _ready(connected: Any, wait_s: float, *, writes: bool) -> tuple[bool, bool]:
    """Wait for a socket; return whether there is something to read, and room to write."""
    events = selectors.EVENT_READ | (selectors.EVENT_WRITE if writes else 0)
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(connected, events)
            ready = selector.select(wait_s)
    except (ValueError, KeyError) as error:  # another thread has closed the socket
        raise ConnectionError("the connection is closed") from error
    found = ready[0][1] if ready else 0
    return bool(found & selectors.EVENT_READ), bool(found & selectors.EVENT_WRITE)


def _holds(connected: Any) -> bool:
    """Return True if a socket has decrypted bytes that nobody has read."""
    return isinstance(connected, ssl.SSLSocket) and connected.pending() > 0
