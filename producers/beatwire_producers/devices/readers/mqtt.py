"""Messages of an MQTT broker: connects, subscribes, and passes on what comes, by the map of ``mqtt_map``.

One thread reads the socket and places what came: many messages for one read where many come. What is acknowledged has
been taken.
"""

import ssl
import time
from collections.abc import Iterator

from beatwire.errors import UserError

from beatwire_producers.devices.learnt import Learning
from beatwire_producers.devices.mqtt_json import UnreadableError
from beatwire_producers.devices.mqtt_map import PASSWORD, Address, Decoder, parse_address
from beatwire_producers.devices.packets import DeviceAwayError, Packet, arrival_s
from beatwire_producers.devices.readers.mqtt_connection import Connection, Message, RefusedError
from beatwire_producers.devices.sources import Options

_WAIT_S = 0.05
_FEW, _GATHER_S = 8, 0.01  # after fewer messages others are waited for, so that one read takes several
_HELD_S = 60.0  # a packet is held no longer until others show what its time and its count mean
_NOTES = 20  # about messages that cannot be read, each once; the others are counted, at 10, 100 and so on


class MqttReader:
    """Reads the messages of a topic, which may have wildcards.

    Parameters
    ----------
    address
        Where, and the map of the messages.
    options
        What the user says.

    Attributes
    ----------
    unreadable : int
        Messages that were ignored.
    """

    def __init__(self, address: Address, options: Options) -> None:
        self._address = address
        self._decoder, self._learning = Decoder(address, options), Learning()
        self._connection: Connection | None = None
        self.unreadable = 0
        self.notes = self._decoder.notes
        self._said = list[str]()  # of messages that cannot be read

    def describe(self) -> None:
        """Connect and subscribe."""
        address, tls = self._address, None
        if address.tls:
            try:
                tls = ssl.create_default_context(cafile=address.map["ca"] or None)
            except OSError as error:
                raise UserError(f"feed mqtt: expected certificates in {address.map['ca']!r}; got {error}") from error
        where = f"{address.host}:{address.port}"
        try:
            self._connection = Connection(
                address.host, address.port, tls=tls, user=address.user, password=address.password
            )
        except RefusedError as error:
            raise UserError(
                f"feed mqtt: expected {address.host} to accept the connection; got {error} (user, {PASSWORD})"
            ) from error
        except ssl.SSLCertVerificationError as error:
            raise UserError(
                f"feed mqtt: expected a certificate that is trusted; got {error.verify_message} (ca=FILE)"
            ) from error
        except OSError as error:
            raise DeviceAwayError(f"{where}: {error.strerror or error}") from error
        try:
            self._connection.subscribe(address.topic, int(address.map["qos"]))
        except RefusedError as error:
            raise UserError(f"feed mqtt: expected to read {address.topic!r}; got {error}") from error
        except OSError as error:
            raise DeviceAwayError(f"{where}: {error.strerror or error}") from error

    def packets(self) -> Iterator[list[Packet] | None]:
        """Yield packets in the order of their messages, those together that were read together."""
        connection = self._connection
        while connection is not None:
            try:
                messages = connection.receive(_WAIT_S)
                if not messages:
                    yield self._learning.rest(arrival_s() - _HELD_S) or None
                    continue
                yield self._read(messages)
                connection.acknowledge()
            except OSError as error:
                raise DeviceAwayError(f"{self._address.host} has ended the connection: {error}") from error
            if len(messages) < _FEW:
                time.sleep(_GATHER_S)

    def rest(self) -> list[Packet]:
        """Return packets that others were waited for with."""
        return self._learning.rest()

    def close(self) -> None:
        """Disconnect."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _read(self, messages: list[Message]) -> list[Packet]:
        """Return the packets that messages are; the others are noted."""
        now_s = arrival_s()
        packets: list[Packet] = []
        for topic, payload, is_retained, is_text in messages:
            try:
                if not is_text:
                    raise UnreadableError("expected a topic of UTF-8")
                if is_retained:
                    raise UnreadableError("expected one that is sent now; got one that the broker has kept (retained)")
                packets += self._learning.add(self._decoder.packet(topic, payload, now_s))
            except UnreadableError as error:
                self.unreadable += 1
                note = f"{topic}: message is ignored: {error}"
                if note not in self._said and len(self._said) < _NOTES:
                    self._said.append(note)
                    self.notes.append(note)
                elif str(self.unreadable).rstrip("0") == "1":
                    self.notes.append(f"{self.unreadable:,} messages are ignored so far; the last: {topic}: {error}")
        return packets


def open_reader(source: str, options: Options) -> MqttReader:
    """Return the reader of an address."""
    return MqttReader(parse_address(source), options)
