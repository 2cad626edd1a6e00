"""Every key of the configuration: its type, default, unit and meaning.

In: nothing. Out: `Configuration`, a frozen model with one section a table of the file. Suffixes of names are units.
Limits are those of `alerts.settings.KEYS`; keys of alerts and streams are fields of `Lifecycle` and `settings.Streams`.
"""

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, create_model, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from beatwire.alerts.settings import KEYS, Lifecycle
from beatwire.configuration.ranges import LONGEST_S, RANGES, UNITS, check_addresses, matching
from beatwire.errors import UserError
from beatwire.settings import Streams as StreamSettings
from beatwire.settings import bytes_of

PREFIX, DELIMITER = "BEATWIRE_", "__"
Port = Annotated[int, Field(ge=0, le=65535)]

_ALERTS = {
    "shortest_s": "An alert lasts for so long at least.",
    "remind_high_s": "An alert of high priority that nobody acknowledges is published again after this; 0: never.",
    "remind_medium_s": "As remind_high_s, of medium priority.",
    "remind_low_s": "As remind_high_s, of low priority.",
    "keep_ended_s": "An alert that has ended is removed from the topic after this.",
}
_STREAMS = {
    "pass_s": "Longest stretch of a stream that goes through the rings at once.",
    "reorder_s": "A chunk that comes earlier than its turn by at most this waits for those before it.",
    "bridge_s": "Longest hole that is bridged; a longer one restarts the stream's detection.",
    "silence_s": "Silence after which a stream starts anew.",
    "evict_s": "Silence after which a stream is forgotten: its alerts end, its memory goes to others.",
    "duplicate_s": "A chunk that goes back by at most this is a duplicate; further back it is an error.",
    "most_streams": "More streams than this are not accepted.",
    "most_banks": "More combinations of a sampling rate and a number of leads than this are not accepted.",
    "schema_id": "Id that Avro messages in Confluent framing must have; without it any.",
}


class Section(BaseModel):
    """A table of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, validate_default=False)

    @field_validator("*", mode="before")
    @classmethod
    def _truth(cls, value: Any, info: ValidationInfo) -> Any:
        """Refuse true and false for a number: they would be 1 and 0."""
        if isinstance(value, bool) and cls.model_fields[info.field_name or ""].annotation is not bool:
            raise ValueError("expected a value that is not true or false")
        return value


class Kafka(Section):
    """The cluster."""

    bootstrap: str | None = Field(default=None, description="Brokers: host:port[,host:port...].")
    prefix: str = Field(default="", description="Before the name of every topic.")
    properties: dict[str, str] = Field(
        default={}, description="Properties of librdkafka, by its names, for every client."
    )

    @field_validator("bootstrap")
    @classmethod
    def _bootstrap(cls, value: str | None) -> str | None:
        if value is not None:
            check_addresses(value)
        return value

    @field_validator("prefix")
    @classmethod
    def _prefix(cls, value: str) -> str:
        return matching(value, r"[A-Za-z0-9._-]*", "letters, digits, '.', '_' and '-' alone")

    @field_validator("properties", mode="before")
    @classmethod
    def _flat(cls, value: Any) -> Any:
        """Join the names of nested tables, and write values as librdkafka reads them; see `flatten`."""
        return flatten(value) if isinstance(value, dict) else value


class RegistryKeys(Section):
    """The Schema Registry."""

    url: str | None = Field(
        default=None, description="Address of a registry with Confluent's interface, without user and password."
    )
    user_info: str | None = Field(default=None, description="USER:PASSWORD.")
    ssl_ca: Path | None = Field(default=None, description="Certificates of the authorities that sign the registry's.")
    ssl_certificate: Path | None = Field(default=None, description="Certificate of this client.")
    ssl_key: Path | None = Field(default=None, description="Key of that certificate.")

    @field_validator("url")
    @classmethod
    def _url(cls, value: str | None) -> str | None:
        expected = "an http(s) address without user and password (those go into registry.user_info)"
        return None if value is None else matching(value, r"https?://[^@\s]+", expected)

    @field_validator("user_info")
    @classmethod
    def _user_info(cls, value: str | None) -> str | None:
        return None if value is None else matching(value, r"[^:]+:.*", "USER:PASSWORD")


class MonitorKeys(Section):
    """The service."""

    group: str = Field(default="beatwire", min_length=1, description="Consumer group; its monitors share the streams.")
    delivery: Literal["exactly-once", "at-least-once"] = Field(
        default="exactly-once", description="Delivery guarantee."
    )
    workers: int = Field(default=1, ge=1, le=1024, description="Processes that share the partitions.")
    threads: int = Field(
        default=0, ge=0, le=1024, description="Threads of each worker that compute; 0: its share of the cores."
    )
    score_within_s: float = Field(
        default=30.0, ge=0, le=LONGEST_S,
        description="Beats are not scored while the monitor is further behind than this; 0: always scored.",
    )  # fmt: skip
    cloud_events: Literal["alerts", "all"] = Field(
        default="alerts",
        description="Messages that have headers of CloudEvents: those in JSON (alerts), or beats too (all).",
    )

    @field_validator("group")
    @classmethod
    def _group(cls, value: str) -> str:
        return matching(value, r"[^\x00-\x1f\x7f]+", "a name without control characters")


class Models(Section):
    """The models."""

    scoring: Path | None = Field(default=None, description="Scoring model, NAME.safetensors; without it the package's.")
    scorer: Path | None = Field(
        default=None, description="Network of your own in place of the model's reconstruction error, NAME.pt2."
    )
    detector: Literal["trees", "rule", "network"] = Field(
        default="network",
        description="What classifies peaks: trees, the rule alone, or network: trees, and a network where they doubt.",
    )
    trees: Path | None = Field(
        default=None, description="The detector's trees, NAME.safetensors; without it the package's."
    )
    network: Path | None = Field(
        default=None, description="The network of doubtful peaks, NAME.safetensors; without it the package's."
    )


class Compute(Section):
    """Where the arrays live."""

    backend: Literal["auto", "cpu", "gpu"] = Field(default="auto", description="Where to compute.")
    gpu_memory: str | None = Field(
        default=None, description="Memory of each GPU for all workers that share it, for example 8GiB."
    )
    managed_memory: bool = Field(default=False, description="Allocate managed memory, which can move to the host.")
    nvtx: bool = Field(default=False, description="Mark the stages for a profiler.")

    @field_validator("gpu_memory")
    @classmethod
    def _size(cls, value: str | None) -> str | None:
        try:
            bytes_of(value or "1")
        except UserError as error:
            raise ValueError("expected a size like 8GiB or 500MB") from error
        return value


class Metrics(Section):
    """Metrics and health."""

    port: Port | None = Field(default=None, description="TCP port of metrics and probes; without it nothing is served.")
    address: str = Field(default="127.0.0.1", min_length=1, description="Address to listen on; 0.0.0.0: all.")


class Log(Section):
    """Lines on standard error."""

    format: Literal["console", "json"] = Field(
        default="console", description="Lines for people, or one JSON object a line."
    )
    level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="The lowest level written.")


class Page(Section):
    """The live page."""

    port: Port = Field(default=8765, description="TCP port of the page; 0: a free one.")
    address: str = Field(default="127.0.0.1", min_length=1, description="Address to listen on; others need page.token.")
    token: str | None = Field(default=None, min_length=16, description="Token that a browser must present.")
    read_only: bool = Field(default=False, description="Publish neither acknowledgements nor limits.")


class _Reminders(Section):
    """The reminders of `Alerts`."""

    @field_validator("remind_high_s", "remind_medium_s", "remind_low_s", check_fields=False)
    @classmethod
    def _never_or_later(cls, value: float) -> float:
        if 0 < value < 1:
            raise ValueError("expected 0 or at least 1")
        return value


def _section(name: str, source: type, descriptions: dict[str, str], base: type[Section] = Section) -> type[Section]:
    """Return a section with fields of a dataclass, their types and defaults."""
    types, defaults = get_type_hints(source), {one.name: one.default for one in fields(source)}
    made = {
        key: (types[key], Field(defaults[key], description=text, **RANGES[key]))  # type: ignore[call-overload]
        for key, text in descriptions.items()
    }
    return create_model(name, __base__=base, __doc__=source.__doc__, **made)  # type: ignore[call-overload,no-any-return]


Limits = create_model(  # type: ignore[call-overload]
    "Limits",
    __base__=Section,
    __doc__="The limits of the rules where a stream has none of its own.",
    **{
        key: (float, Field(limit.default, description=text, ge=limit.least, le=limit.most))
        for key, (limit, text) in KEYS.items()
    },
)
Alerts = _section("Alerts", Lifecycle, _ALERTS, _Reminders)
Streams = _section("Streams", StreamSettings, _STREAMS)


class Configuration(BaseSettings):
    """The whole configuration."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter=DELIMITER, env_ignore_empty=True, extra="forbid", frozen=True
    )

    kafka: Kafka = Kafka()
    registry: RegistryKeys = RegistryKeys()
    monitor: MonitorKeys = MonitorKeys()
    limits: Limits = Limits()  # type: ignore[valid-type]
    alerts: Alerts = Alerts()  # type: ignore[valid-type]
    streams: Streams = Streams()  # type: ignore[valid-type]
    models: Models = Models()
    compute: Compute = Compute()
    metrics: Metrics = Metrics()
    log: Log = Log()
    page: Page = Page()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read nothing here: `beatwire.configuration.load` merges the sources, and records where values came from."""
        return (init_settings,)


def flatten(table: dict[str, Any], above: str = "") -> dict[str, Any]:
    """Return the entries of nested tables by their dotted names, numbers and truth values as librdkafka reads them.

    >>> flatten({"security": {"protocol": "SSL"}, "enable.idempotence": True})
    {'security.protocol': 'SSL', 'enable.idempotence': 'true'}
    """
    found: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            found |= flatten(value, f"{above}{name}.")
        elif isinstance(value, bool):
            found[above + name] = str(value).lower()
        else:
            found[above + name] = str(value) if isinstance(value, int | float) else value
    return found


def keys() -> list[tuple[str, Any, str, str]]:
    """Return every key with its default, its unit and its meaning, in the order of the file."""
    found = []
    for section, field in Configuration.model_fields.items():
        assert isinstance(field.annotation, type)
        for name, one in field.annotation.model_fields.items():
            unit = UNITS.get(name.rpartition("_")[2], "") if "_" in name else ""
            found.append((f"{section}.{name}", one.default, unit, one.description or ""))
    return found
