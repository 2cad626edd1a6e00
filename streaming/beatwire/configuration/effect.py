"""What a configuration means, without the graph: the cluster, the registry, the settings of alerts and streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from beatwire.alerts.settings import Lifecycle, Settings
from beatwire.configuration.keys import Configuration
from beatwire.errors import UserError
from beatwire.kafka.cluster import Cluster
from beatwire.settings import Streams

if TYPE_CHECKING:
    from beatwire.kafka.schemas.registry import Registry


def cluster_of(configuration: Configuration) -> Cluster:
    """Return the cluster.

    Raises
    ------
    UserError
        It has no address.
    """
    kafka = configuration.kafka
    if kafka.bootstrap is None:
        raise UserError(
            "kafka.bootstrap: expected HOST:PORT in --bootstrap-servers, BEATWIRE_KAFKA__BOOTSTRAP or the file of "
            "--config; got none"
        )
    return Cluster(kafka.bootstrap, kafka.properties, kafka.prefix)


def registry_of(configuration: Configuration) -> Registry | None:
    """Return the Schema Registry; None without an address.

    Raises
    ------
    UserError
        The packages of the extra ``registry`` are missing, or an address or a file cannot be used.
    """
    keys = configuration.registry
    if keys.url is None:
        return None
    from beatwire.kafka.schemas.registry import Registry

    properties = {
        "basic.auth.user.info": keys.user_info,
        "ssl.ca.location": keys.ssl_ca,
        "ssl.certificate.location": keys.ssl_certificate,
        "ssl.key.location": keys.ssl_key,
    }
    return Registry(keys.url, {name: str(value) for name, value in properties.items() if value is not None})


def alert_settings_of(configuration: Configuration) -> Settings:
    """Return the settings of the alert rules."""
    return Settings.of(**configuration.limits.model_dump())  # type: ignore[attr-defined]


def lifecycle_of(configuration: Configuration) -> Lifecycle:
    """Return what becomes of alerts."""
    return Lifecycle(**configuration.alerts.model_dump())  # type: ignore[attr-defined]


def streams_of(configuration: Configuration) -> Streams:
    """Return the settings of streams."""
    return Streams(**configuration.streams.model_dump())  # type: ignore[attr-defined]
