"""What a configuration means: the cluster, and the settings of the graph."""

from __future__ import annotations

from beatwire.alerts.settings import Lifecycle
from beatwire.alerts.settings import Settings as AlertSettings
from beatwire.configuration.keys import Configuration
from beatwire.errors import UserError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.registry import Registry
from beatwire.pipeline.settings import Settings


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
    properties = {
        "basic.auth.user.info": keys.user_info,
        "ssl.ca.location": keys.ssl_ca,
        "ssl.certificate.location": keys.ssl_certificate,
        "ssl.key.location": keys.ssl_key,
    }
    return Registry(keys.url, {name: str(value) for name, value in properties.items() if value is not None})


def settings_of(configuration: Configuration) -> Settings:
    """Return the settings of the graph."""
    models = configuration.models
    return Settings(
        model=models.scoring,
        detector=models.detector,
        trees=models.trees,
        cloud_events=configuration.monitor.cloud_events,
        alert=AlertSettings.of(**configuration.limits.model_dump()),  # type: ignore[attr-defined]
        lifecycle=Lifecycle(**configuration.alerts.model_dump()),  # type: ignore[attr-defined]
        **configuration.streams.model_dump(),  # type: ignore[attr-defined]
    )
