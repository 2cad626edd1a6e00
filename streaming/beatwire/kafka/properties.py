"""Properties of librdkafka that users may set, and those whose values are secret.

In: names and values. Out: checks. No state. A property that beatwire's guarantees depend on is reserved: with another
value offsets, transactions or partitions would be wrong.
"""

import re
from collections.abc import Iterable

from beatwire.errors import UserError

MASKED = "******"
_SECRET_WORDS = ("password", "secret", ".pem", "jaas", "token", "sasl.oauthbearer.config", "ssl.key", "credentials")
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)([^\s@,]*@|)([^\s?#,]*)([?#]\S*|)")  # as far as a blank
_SHOWN = ("sasl.oauthbearer.token.endpoint.url", "ssl.key.location", "ssl.certificate.pem", "ssl.ca.pem")
_GUARANTEE = "beatwire sets it"
_BY_PROGRAMS = {"logger", "on_commit", "on_delivery", "default.topic.config"}  # and whatever ends with "_cb"
# Property -> why it cannot be set.
RESERVED = {
    "bootstrap.servers": "use --bootstrap-servers or kafka.bootstrap",
    "metadata.broker.list": "use --bootstrap-servers or kafka.bootstrap",
    "group.id": "use --group or monitor.group",
    "log_level": "use --log-level or log.level",
    "acks": _GUARANTEE,
    "auto.commit.enable": _GUARANTEE,
    "auto.offset.reset": _GUARANTEE,
    "check.crcs": "librdkafka (2.16) reads a damaged batch again without end, or aborts",
    "delivery.report.only.error": _GUARANTEE,
    "enable.auto.commit": _GUARANTEE,
    "enable.auto.offset.store": _GUARANTEE,
    "enable.idempotence": _GUARANTEE,
    "enable.partition.eof": _GUARANTEE,
    "fetch.wait.max.ms": _GUARANTEE,
    "group.instance.id": "each worker is a member of its own",
    "group.protocol": _GUARANTEE,
    "isolation.level": _GUARANTEE,
    "max.in.flight": _GUARANTEE,
    "max.in.flight.requests.per.connection": _GUARANTEE,
    "metadata.recovery.strategy": _GUARANTEE,
    "partition.assignment.strategy": _GUARANTEE,
    "partitioner": _GUARANTEE,
    "request.required.acks": _GUARANTEE,
    "test.mock.num.brokers": "each client would have brokers of its own",
    "topic.blacklist": _GUARANTEE,
    "transaction.timeout.ms": _GUARANTEE,
    "transactional.id": _GUARANTEE,
}


def check_property(name: str) -> None:
    """Check that users may set a property.

    Raises
    ------
    UserError
        It is reserved, or no text is a value of it.
    """
    if name in _BY_PROGRAMS or name.endswith("_cb"):
        raise UserError(f"expected a property whose value is a text; got {name!r}: programs alone set it")
    if name in RESERVED:
        raise UserError(f"expected a property that is not reserved; got {name!r}: {RESERVED[name]}")


def parse_properties(pairs: Iterable[str]) -> dict[str, str]:
    """Return the properties of options ``-X key=value``.

    Raises
    ------
    UserError
        A text without ``=``.

    Examples
    --------
    >>> parse_properties(["security.protocol=SASL_SSL", "sasl.password=a=b"])
    {'security.protocol': 'SASL_SSL', 'sasl.password': 'a=b'}
    """
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        name = name.strip()
        if not equals or not name:
            shown = repr(name) if re.fullmatch(r"[a-z.]+", name) else f"{len(pair)} characters"  # perhaps a secret
            raise UserError(f"-X: expected KEY=VALUE; got {shown}")
        found[name] = value
    return found


def is_secret(name: str) -> bool:
    """Return True if the value of a property must not be shown.

    >>> is_secret("ssl.key.password"), is_secret("sasl.username")
    (True, False)
    """
    return name not in _SHOWN and any(word in name for word in _SECRET_WORDS)


def masked(name: str, value: str) -> str:
    """Return the value of a property as it may be shown."""
    return MASKED if is_secret(name) else without_secrets(value)


def without_secrets(text: str) -> str:
    """Return a text without what may be secret in its addresses: user and password, query and fragment.

    >>> without_secrets("asked https://me:pw@registry:8081/apis?key=abc: refused")
    'asked https://registry:8081/apis?****** refused'
    >>> without_secrets("http://one:8081,http://two/#token"), without_secrets("broker:9092 answers?")
    ('http://one:8081,http://two/#******', 'broker:9092 answers?')
    """
    return _ADDRESS.sub(lambda found: found[1] + found[3] + (found[4] and f"{found[4][0]}{MASKED}"), text)
