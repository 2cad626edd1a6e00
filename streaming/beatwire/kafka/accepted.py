"""Whether librdkafka accepts the properties of a user; no broker is asked.

In: properties. Out: nothing, or an error that names the property. No state. A monitor's clients have settings of their
own, with which some properties cannot be combined.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from beatwire.errors import UserError, reason
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming import client
from beatwire.kafka.publishing import sender, transactions

_FILES = {f"ssl.{kind}.location" for kind in ("ca", "key", "certificate", "crl", "keystore")}
_NAME = "beatwire-check"  # of group and producer: neither is begun


def check_properties(properties: Mapping[str, str]) -> None:
    """Check the properties of any client.

    Raises
    ------
    UserError
        One cannot be used, or a file that it names cannot be read; the message names the property.
    """
    for name, path in properties.items():
        if name in _FILES and path != "probe":
            _check_readable(name, path)
    cluster = Cluster("", properties)
    cluster.producer({})
    cluster.consumer({"group.id": _NAME}).close()


def check_monitor(properties: Mapping[str, str], *, exactly_once: bool) -> None:
    """Check the properties of a monitor.

    Raises
    ------
    UserError
        One cannot be used, or not with what a monitor sets; the message names it.
    """
    cluster, own = Cluster("", properties), transactions.settings_of(_NAME) if exactly_once else {}
    cluster.producer(sender.SETTINGS | own)
    cluster.consumer(client.settings_of(_NAME, "consumer")).close()


def _check_readable(name: str, path: str) -> None:
    """Check that a file or folder of a property can be read: librdkafka names neither it nor the cause."""
    try:
        Path(path).stat()
        if not os.access(path, os.R_OK):
            raise PermissionError(None, "no permission to read")
    except (OSError, ValueError) as error:
        raise UserError(f"kafka: expected {name} that can be read; got {path!r}: {reason(error)}") from None
