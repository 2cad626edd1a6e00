"""Messages of an MQTT broker: connects, subscribes, and passes on what comes, by the map of ``mqtt_map``."""

from __future__ import annotations

import queue
import ssl
from collections.abc import Iterator
from typing import Any

import paho.mqtt.client as paho
from beatwire.errors import UserError
from paho.mqtt.enums import CallbackAPIVersion

from beatwire_producers.devices.mqtt_map import PASSWORD, Address, Decoder, UnreadableError, parse_address
from beatwire_producers.devices.packets import DeviceAwayError, Packet, arrival_s
from beatwire_producers.devices.sources import Options

_MOST_WAITING = 100_000  # messages
_NOTES = 20  # about messages that cannot be read


class MqttReader:
    """Reads the messages of a topic, which may have wildcards.

    Parameters
    ----------
    address
        Where, and the map of the messages.
    options
        What the user says.
    """

    def __init__(self, address: Address, options: Options) -> None:
        self._address = address
        self._decoder = Decoder(address, options)
        self._queue: queue.Queue[Packet | Exception] = queue.Queue(_MOST_WAITING)
        self._client: Any = None
        self.unreadable = 0
        self.notes: list[str] = []

    def describe(self) -> None:
        """Connect and subscribe."""
        address = self._address
        client = paho.Client(CallbackAPIVersion.VERSION2, clean_session=True)
        if address.user is not None:
            client.username_pw_set(address.user, address.password)
        if address.tls:
            try:
                client.tls_set(address.map["ca"] or None)
            except OSError as error:
                raise UserError(f"feed mqtt: expected certificates in {address.map['ca']!r}; got {error}") from error
        client.on_connect, client.on_message, client.on_disconnect = self._connected, self._came, self._gone
        client.on_subscribe = self._subscribed
        while not self._queue.empty():
            self._queue.get_nowait()
        try:
            client.connect(address.host, address.port, keepalive=15)
        except ssl.SSLCertVerificationError as error:
            raise UserError(
                f"feed mqtt: expected a certificate that is trusted; got {error.verify_message} (ca=FILE)"
            ) from error
        except OSError as error:
            raise DeviceAwayError(f"{address.host}:{address.port}: {error.strerror or error}") from error
        self._client = client
        client.loop_start()

    def packets(self) -> Iterator[Packet | None]:
        """Yield packets in the order of their messages."""
        while True:
            try:
                came = self._queue.get(timeout=0.05)
            except queue.Empty:
                yield None
                continue
            if isinstance(came, Exception):
                raise came
            yield came

    def close(self) -> None:
        """Disconnect."""
        client, self._client = self._client, None
        if client is not None:
            client.disconnect()
            client.loop_stop()

    def _connected(self, client: Any, _data: Any, _flags: Any, reason: Any, _properties: Any) -> None:
        if reason.is_failure:
            words = (
                f"feed mqtt: expected {self._address.host} to accept the connection; got {reason} (user, {PASSWORD})"
            )
            self._queue.put(UserError(words))
            return
        client.subscribe(self._address.topic, int(self._address.map["qos"]))

    def _subscribed(self, _client: Any, _data: Any, _mid: Any, reasons: Any, _properties: Any) -> None:
        if any(reason.is_failure for reason in reasons):
            self._queue.put(UserError(f"feed mqtt: expected to read {self._address.topic!r}; got {reasons[0]}"))

    def _came(self, _client: Any, _data: Any, message: Any) -> None:
        try:
            self._queue.put(self._decoder.packet(message.topic, message.payload, arrival_s()))
        except UnreadableError as error:
            self.unreadable += 1
            if self.unreadable <= _NOTES:
                self.notes.append(f"{message.topic}: message is ignored: {error}")

    def _gone(self, _client: Any, _data: Any, _flags: Any, reason: Any, _properties: Any) -> None:
        if self._client is not None:
            self._queue.put(DeviceAwayError(f"{self._address.host} has ended the connection: {reason}"))


def open_reader(source: str, options: Options) -> MqttReader:
    """Return the reader of an address."""
    return MqttReader(parse_address(source), options)
