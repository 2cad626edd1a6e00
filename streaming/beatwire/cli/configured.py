"""Options and the configuration: what a command was given, on top of the file and the environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from beatwire.configuration.load import Loaded
    from beatwire.kafka.cluster import Cluster
    from beatwire.kafka.schemas.registry import Registry

# Key of the configuration -> the option that sets it.
OPTIONS = {
    "kafka.bootstrap": "--bootstrap-servers",
    "kafka.prefix": "--topic-prefix",
    "registry.url": "--registry",
    "monitor.group": "--group",
    "monitor.delivery": "--delivery",
    "monitor.workers": "--workers",
    "monitor.threads": "--threads",
    "monitor.score_within_s": "--score-within",
    "models.scoring": "--model",
    "models.scorer": "--scorer",
    "compute.backend": "--backend",
    "compute.gpu_memory": "--gpu-memory",
    "compute.managed_memory": "--managed-memory",
    "compute.nvtx": "--nvtx",
    "metrics.port": "--metrics-port",
    "metrics.address": "--metrics-address",
    "log.format": "--log-format",
    "log.level": "--log-level",
    "page.port": "--port",
    "page.address": "--host",
    "page.token": "--token",
    "page.read_only": "--read-only",
}


def load_with_options(
    config: Path | None,
    bootstrap: str | None,
    properties: Sequence[str] | None,
    prefix: str | None,
    others: Mapping[str, object] | None = None,
    *,
    monitors: bool = False,
) -> Loaded:
    """Return the configuration of a command.

    Parameters
    ----------
    config, bootstrap, properties, prefix
        What ``--config``, ``--bootstrap-servers``, ``-X`` and ``--topic-prefix`` were given.
    others
        Key of the configuration -> what its option was given; None: the option was not given.
    monitors
        It is that of a monitor, with whose clients fewer properties of Kafka can be used.

    Raises
    ------
    UserError
        A source cannot be read, or a key or value cannot be used.
    """
    from beatwire.configuration.load import PROPERTIES, check_with_librdkafka, load
    from beatwire.kafka.properties import parse_properties

    given = {"kafka.bootstrap": bootstrap, "kafka.prefix": prefix, **(others or {})}
    options: dict[str, tuple[str, object]] = {
        key: (OPTIONS[key], value.value if isinstance(value, Enum) else value) for key, value in given.items()
    }
    for name, value in parse_properties(properties or ()).items():
        options[f"{PROPERTIES}.{name}"] = "-X", value
    loaded = load(config, options)
    check_with_librdkafka(loaded, monitors=monitors)
    return loaded


def cluster_with_options(
    config: Path | None, bootstrap: str | None, properties: Sequence[str] | None, prefix: str | None
) -> Cluster:
    """Return the cluster of a command that needs nothing else of the configuration; see `load_with_options`."""
    from beatwire.configuration.effect import cluster_of

    return cluster_of(load_with_options(config, bootstrap, properties, prefix).values)


def cluster_and_registry(
    config: Path | None,
    bootstrap: str | None,
    properties: Sequence[str] | None,
    prefix: str | None,
    registry: str | None,
) -> tuple[Cluster, Registry | None]:
    """Return the cluster of a command, and its Schema Registry if there is one; see `load_with_options`."""
    from beatwire.configuration.effect import cluster_of, registry_of

    values = load_with_options(config, bootstrap, properties, prefix, {"registry.url": registry}).values
    return cluster_of(values), registry_of(values)
