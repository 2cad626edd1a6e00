"""A Schema Registry, through confluent-kafka's own client: schemas are registered, and looked up by their ids.

In: the address of a registry with Confluent's interface (of Apicurio ``/apis/ccompat/v7``), and properties of the
client. Out: ids and texts of schemas. No state but the client's connection. A subject
is named after its topic: ``ecg.samples-value``.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self, TypeVar

from beatwire.errors import FatalError, UserError
from beatwire.kafka.properties import without_secrets
from beatwire.wire.schema_files import SCHEMAS, registered_text, subject_of
from beatwire.wire.writers import ABSENT, LONGEST_TEXT, Refusal

LEVEL = "BACKWARD"  # readers of a new schema read messages of the one before
_TIMEOUT_S = 5.0
_LONGEST_REASON = 100  # characters of what a registry says
_NUMBERS = {
    "timeout",
    "max.retries",
    "retries.wait.ms",
    "retries.max.wait.ms",
    "cache.capacity",
    "cache.latest.ttl.sec",
}
_NO_SUBJECT = 40401  # a code of the registry's interface
_DENIED, _LATER = (401, 403, 407), (408, 425, 429)  # HTTP: not allowed; the same request may succeed later

T = TypeVar("T")


class Registered(NamedTuple):
    """A schema in the registry: its subject, its id, and whether this call has registered it."""

    subject: str
    schema_id: int
    new: bool


class RegistryAwayError(Exception):
    """The registry did not answer, or could not: the same request may succeed later."""


class Registry:
    """A Schema Registry.

    Parameters
    ----------
    url
        ``http://host:port/path``, several separated by commas.
    properties
        Of confluent-kafka's client, such as ``basic.auth.user.info`` or ``ssl.ca.location``.

    Raises
    ------
    UserError
        A package is missing, or the address or a property cannot be used.
    """

    def __init__(self, url: str, properties: Mapping[str, str] | None = None) -> None:
        try:
            from confluent_kafka import schema_registry
        except ImportError as error:
            raise UserError(
                f"registry: expected the package {error.name or 'of the registry client'}; "
                "got none (pip install 'beatwire[registry]')"
            ) from error
        self.url = without_secrets(url)
        self._schema, self._refusal = schema_registry.Schema, schema_registry.SchemaRegistryError
        settings: dict[str, Any] = {"url": url, "timeout": _TIMEOUT_S, "max.retries": 0}
        try:
            settings |= {k: float(v) if k in _NUMBERS else v for k, v in (properties or {}).items()}
            self._client = schema_registry.SchemaRegistryClient(settings)
        except (ValueError, TypeError, OSError) as error:
            raise UserError(
                f"registry: expected an address and properties of a registry; got {_line(error)}"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def register(self, name: str, topic: str | None = None) -> Registered:
        """Register the schema of a topic, and have the registry keep its versions compatible.

        Parameters
        ----------
        name
            Logical name of the topic, one of `beatwire.wire.schema_files.SCHEMAS`.
        topic
            Its name at the brokers; None: the same.

        Raises
        ------
        UserError
            The registry does not answer, or refuses: the schema is not compatible with the version before.
        """
        subject = subject_of(name, topic)
        schema = self._schema(registered_text(name), SCHEMAS[name].kind)

        def work() -> Registered:
            before = self._versions(subject)
            if before:
                self._client.set_compatibility(subject, LEVEL)
            schema_id = int(self._client.register_schema(subject, schema))
            if not before:
                self._client.set_compatibility(subject, LEVEL)
            return Registered(subject, schema_id, self._versions(subject) != before)

        return self._at_start(work, f"to accept {SCHEMAS[name].file} as {LEVEL} compatible under {subject}")

    def schema_id(self, name: str, topic: str | None = None) -> int:
        """Return the id under which the schema of a topic is registered.

        Raises
        ------
        UserError
            It is not registered, or the registry does not answer.
        """
        subject = subject_of(name, topic)
        schema = self._schema(registered_text(name), SCHEMAS[name].kind)

        return self._at_start(
            lambda: int(self._client.lookup_schema(subject, schema).schema_id or 0),
            f"to have {SCHEMAS[name].file} under {subject} (beatwire topics --registry registers it)",
        )

    def versions(self, name: str, topic: str | None = None) -> dict[int, str]:
        """Return schema id -> text of every version of the schema of a topic.

        Raises
        ------
        UserError
            The registry does not answer.
        """
        subject = subject_of(name, topic)

        def work() -> dict[int, str]:
            found = [self._client.get_version(subject, version) for version in self._versions(subject)]
            return {one.schema_id or 0: one.schema.schema_str or "" for one in found}

        return self._at_start(work, f"to return the versions of {subject}")

    def text(self, schema_id: int) -> str:
        """Return the text of a schema by its id, or a `Refusal`: the registry refuses the id, whenever it is asked.

        Raises
        ------
        RegistryAwayError
            It did not answer, is not able to at the moment, or does not allow this client to ask.
        """
        try:
            text = str(self._client.get_schema(schema_id).schema_str or "")
            return text if len(text) <= LONGEST_TEXT else Refusal(f"has a schema of {len(text)} characters")
        except self._refusal as error:
            status = int(error.http_status_code)
            if status in _DENIED:
                raise RegistryAwayError(
                    f"{_line(error)}: expected rights to read schemas (registry.user_info)"
                ) from error
            if status == 404:
                return ABSENT
            if 400 <= status < 500 and status not in _LATER:
                return Refusal(f"is refused by the schema registry: {_line(error)[:_LONGEST_REASON]}")
            raise RegistryAwayError(_line(error)) from error
        except Exception as error:  # of the HTTP library, which is confluent-kafka's choice
            raise RegistryAwayError(_line(error)) from error

    def _versions(self, subject: str) -> list[int]:
        try:
            return list(self._client.get_versions(subject))
        except self._refusal as error:
            if error.error_code == _NO_SUBJECT:
                return []
            raise

    def _at_start(self, request: Callable[[], T], expected: str) -> T:
        """Return the answer to a request of a command that starts; all errors end it."""
        try:
            return request()
        except self._refusal as error:
            if error.http_status_code >= 500:
                raise FatalError(f"registry: expected {self.url} {expected}; got {_line(error)}") from error
            raise UserError(f"registry: expected {self.url} {expected}; got {_line(error)}") from error
        except Exception as error:  # of the HTTP library, which is confluent-kafka's choice
            raise UserError(f"registry: expected a Schema Registry at {self.url}; got {_line(error)}") from error


def _line(error: Exception) -> str:
    """Return an error as one line."""
    return without_secrets(" ".join(str(error).split())) or type(error).__name__
