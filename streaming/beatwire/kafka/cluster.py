"""A Kafka cluster as all clients of this package reach it: address, properties, names of the topics.

In: an address, librdkafka properties, a prefix. Out: clients of librdkafka, and the names that the topics have there.
No state. Outside `beatwire.kafka` a topic has its logical name (`beatwire.wire.names`); the prefix is added and removed
where messages pass librdkafka.
"""

import contextlib
import logging
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ClusterMetadata  # type: ignore[attr-defined]

from beatwire.errors import UserError
from beatwire.kafka.admin import new_admin
from beatwire.kafka.certificates import distrust
from beatwire.kafka.properties import masked
from beatwire.kafka.publishing.producer import Producer

_LOGGER = logging.getLogger("librdkafka")
_LOGGER.addHandler(logging.NullHandler())
_SLICE_S = 0.25  # of a request for metadata: a refusal is found between two of them
DENIED = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED, KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}  # fmt: skip
# Of a broker whose address another one has given: those of `bootstrap` have no number.
_NAMED = re.compile(r" (?:\w+://)?([^\s/]+:\d+)/\d+: (Failed to resolve .*?|Connect to .*?)(?: \(after .*)?$")
_NO_MECHANISM = "No provider for SASL mechanism GSSAPI"
_UNVERIFIED = "certificate verify failed"
_TLS_ALERT = "SSL alert"  # what a broker says before it ends a connection
_OF_CLIENT = ("ssl.certificate.", "ssl.keystore.")  # properties that name the client's certificate
# What librdkafka reports where a connection fails; the last two may also pass.
UNREACHABLE = {
    KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT, KafkaError._AUTHENTICATION, KafkaError._SSL,  # noqa: SLF001
}  # fmt: skip


class UnansweredError(Exception):
    """No broker answered; the text is a hint at the cause, or empty.

    Attributes
    ----------
    unreachable : str
        Why a broker that others have named cannot be reached, or empty.
    """

    def __init__(self, hint: str, unreachable: str = "") -> None:
        super().__init__(hint)
        self.unreachable = unreachable


class _Lines:
    """The log of one client, written on to librdkafka's logger, with a hint at why nobody answers.

    Attributes
    ----------
    hint : str
        What the last failure of a connection suggests, or empty.
    unreachable : str
        Why a broker that others have named cannot be reached, or empty.
    """

    def __init__(self) -> None:
        self.hint = self.unreachable = ""

    def log(self, level: int, form: str, *arguments: object) -> None:
        """Take a line, as a logger does."""
        text = form % arguments
        if "closed by peer" in text or "reset by peer" in text or "SSL_HANDSHAKE" in text:
            self.hint = "it closes every connection: does security.protocol agree with the listener?"
        if "Invalid response size" in text:
            self.hint = "what answers there is no Kafka broker, or security.protocol does not agree with it"
        if (named := _NAMED.search(text)) is not None:
            self.unreachable = f"{named[1]}: {named[2]}"
        if _LOGGER.level == logging.DEBUG:
            _LOGGER.log(level, form, *arguments)


@dataclass(frozen=True, repr=False)
class Cluster:
    """A Kafka cluster.

    Parameters
    ----------
    bootstrap
        ``host:port[,host:port...]``.
    properties
        librdkafka properties of every client, by librdkafka's names.
    prefix
        Before the logical name of every topic.
    """

    bootstrap: str
    properties: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""

    def topic(self, name: str) -> str:
        """Return the name that a topic has at the brokers.

        >>> Cluster("localhost:9092", prefix="icu.").topic("ecg.beats")
        'icu.ecg.beats'
        """
        return self.prefix + name

    def name(self, topic: str) -> str:
        """Return the logical name of a topic of the brokers.

        >>> Cluster("localhost:9092", prefix="icu.").name("icu.ecg.beats")
        'ecg.beats'
        """
        return topic.removeprefix(self.prefix)

    def settings(self, own: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the librdkafka settings of a client: those common to all clients, `own`, and the properties.

        librdkafka writes nothing to standard error: what matters is raised as an error. Only if its logger is set to
        DEBUG does it log what happens to connections.
        """
        return {
            "bootstrap.servers": self.bootstrap,
            "log_level": 6 if _LOGGER.level == logging.DEBUG else 0,
            "logger": _LOGGER,
            "topic.metadata.refresh.interval.ms": 30_000,
            # By default a client discards its list of brokers when all are unreachable. Calls that still refer to one
            # of them never return, above all send_offsets_to_transaction (librdkafka issue 5511, seen with 2.16.0).
            "metadata.recovery.strategy": "none",
            "reconnect.backoff.max.ms": 1_000,
            **dict(own or {}),
            **self.properties,
        }

    def consumer(self, own: Mapping[str, Any]) -> Consumer:
        """Return a new consumer; raise UserError for a property that librdkafka does not accept."""
        with _properties_checked():
            return Consumer(self.settings(own))

    def producer(self, own: Mapping[str, Any]) -> Producer:
        """Return a new producer; raise UserError for a property that librdkafka does not accept."""
        with _properties_checked():
            return Producer(self.settings(own))

    def admin(self, own: Mapping[str, Any] | None = None) -> AdminClient:
        """Return a new admin client; raise UserError for a property that librdkafka does not accept."""
        with _properties_checked():
            return new_admin(self.settings({"socket.timeout.ms": 10_000, **(own or {})}))

    def metadata(self, timeout_s: float) -> ClusterMetadata:
        """Return brokers and topics, requested over a fresh connection.

        Raises
        ------
        UserError
            The brokers refuse the connection: by TLS, or by a wrong user or password.
        UnansweredError
            No broker answers within `timeout_s` seconds.
        """
        errors: list[KafkaError] = []
        lines = _Lines()
        admin = self.admin({"error_cb": errors.append, "log_level": 6, "logger": lines})
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                return admin.list_topics(timeout=max(0.01, min(_SLICE_S, deadline - time.monotonic())))
            except KafkaException:
                admin.poll(0)  # calls error_cb
                for error in errors:
                    if is_refusal(error):
                        got = self._explained(_plain(error.str()))
                        raise UserError(
                            f"kafka: expected a connection to {self} {self._manner()}; got: {got}"
                        ) from None
                if time.monotonic() > deadline:
                    raise UnansweredError(lines.hint, lines.unreachable) from None

    def denied(self, action: str, error: KafkaError) -> UserError:
        """Return the error for an action that the brokers do not allow."""
        return UserError(
            f"kafka: expected {self._user()} to be allowed to {action} at {self}; got: {error.str()} "
            "(the ACLs of each command: docs/how-to/security.md)"
        )

    def has_address(self, address: str) -> bool:
        """Return True if an address is one of those that are asked first.

        >>> Cluster("kafka-1:9092, kafka-2:9092").has_address("kafka-2:9092")
        True
        """
        return address in [one.strip() for one in self.bootstrap.split(",")]

    def misnamed(self, got: str) -> UserError:
        """Return the error for brokers that answer and name addresses that cannot be reached."""
        return UserError(
            f"kafka: expected to reach the brokers by the addresses that {self} gives; got {got} "
            "(advertised.listeners of the brokers)"
        )

    def _user(self) -> str:
        name = self.properties.get("sasl.username")
        return "this client" if name is None else f"user {name!r}"

    def _explained(self, refusal: str) -> str:
        """Return a refusal; of a certificate with the reason of OpenSSL in place of librdkafka's guess.

        Of one that the client should have shown, with the property that names it.
        """
        if _TLS_ALERT in refusal and not any(name.startswith(_OF_CLIENT) for name in self.properties):
            return f"{refusal} (a broker may ask for a certificate of the client: ssl.certificate.location)"
        before, failed, _ = refusal.partition(_UNVERIFIED)
        why = distrust(self.bootstrap, self.properties) if failed else ""
        return f"{before}{failed}: {why}" if why else refusal

    def _manner(self) -> str:
        """Return how a connection is made: protocol, mechanism and user."""
        protocol = self.properties.get("security.protocol", "plaintext").upper()
        mechanism = self.properties.get("sasl.mechanisms", self.properties.get("sasl.mechanism"))
        return f"by {protocol}" + (f" with {mechanism}" if mechanism else "") + f" as {self._user()}"

    def __str__(self) -> str:
        return self.bootstrap

    def __repr__(self) -> str:
        """Return the fields, with secrets masked.

        >>> Cluster("kafka:9093", {"sasl.username": "monitor", "sasl.password": "hidden"})
        Cluster('kafka:9093', {'sasl.username': 'monitor', 'sasl.password': '******'}, prefix='')
        """
        shown = {name: masked(name, value) for name, value in self.properties.items()}
        return f"Cluster({self.bootstrap!r}, {shown!r}, prefix={self.prefix!r})"


def is_refusal(error: KafkaError) -> bool:
    """Return True if brokers refuse a connection: for a certificate, a user or a password; not if one just ends."""
    text = error.str()
    if "isconnected" in text:
        return False
    if error.code() == KafkaError._SSL:  # noqa: SLF001
        return "certificate" in text or "alert" in text
    if error.code() == KafkaError._TRANSPORT:  # noqa: SLF001  # since TLS 1.3 a client is refused after the handshake
        return _TLS_ALERT in text and "internal error" not in text
    return error.code() in (KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED)  # noqa: SLF001


@contextlib.contextmanager
def _properties_checked() -> Iterator[None]:
    """Raise UserError where librdkafka does not accept a property; its text names the property."""
    try:
        yield
    except KafkaException as error:
        text = error.args[0].str()
        if _NO_MECHANISM in text:
            raise UserError(
                "kafka: expected sasl.mechanisms of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER; got GSSAPI, "
                "which it is where it is not set"
            ) from None
        raise UserError(f"kafka: expected properties that librdkafka accepts; got: {text}") from None


def _plain(text: str) -> str:
    """Return an error of a connection without the thread and the duration.

    >>> _plain("sasl_ssl://127.0.0.1:9093/bootstrap: SASL authentication error: no (after 3ms in state AUTH_REQ)")
    'SASL authentication error: no'
    """
    return re.sub(r"^(\w+://\S+: )+|^\S+/bootstrap: | \(after \d+ms in state \w+.*\)$", "", text)
