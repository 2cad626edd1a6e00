"""``beatwire export fhir``: heart rates and alerts as FHIR. Needs the extra ``fhir``.

In:  the files of ``beatwire analyze``, or the topics of a Kafka as far as they reach
Out: one Bundle as JSON; an R5 Bundle has been validated by fhir.resources
"""

import json
import math
import re
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from beatwire.cli.options import Bootstrap, ConfigFile, Properties, TopicPrefix, examples, option
from beatwire.cli.terminal import print_message
from beatwire.errors import UserError
from beatwire.outputs import check_output, write_output

EXAMPLES = examples(
    "beatwire export fhir --beats beats.csv --stream bed-1 --start 2026-11-23T08:00:00Z --out rates.json",
    "beatwire export fhir --bootstrap-servers localhost:9092 --stream bed-1 --out rates.json",
    "beatwire export fhir --resource device-alert --alerts alerts.jsonl --out alerts.json",
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ANALYZED = "analyze"  # the stream of what `analyze` has written

export = typer.Typer(
    help="Write beats and alerts in the formats of others.", no_args_is_help=True, rich_markup_mode="markdown"
)


class ResourceKind(StrEnum):
    """The resources that ``beatwire export fhir`` writes."""

    OBSERVATION = "observation"
    DEVICE_ALERT = "device-alert"


@export.callback()
def _export() -> None:
    pass


@export.command("fhir", epilog=EXAMPLES)
def fhir(
    resource: Annotated[
        ResourceKind,
        option(
            "",
            "observation: the heart rate of each minute, FHIR R5. device-alert: alerts, FHIR R6, which is a "
            "draft: experimental, not validated.",
        ),
    ] = ResourceKind.OBSERVATION,
    beats: Annotated[
        Path | None, option("FILE", "Beats of analyze --out, .csv, .csv.gz or .parquet.", shown="from Kafka")
    ] = None,
    alerts: Annotated[Path | None, option("FILE", "Alerts of analyze --alerts.", shown="from Kafka")] = None,
    stream: Annotated[
        str | None,
        option(
            "ID",
            "This stream only; of a file of analyze the pseudonym of its subject.",
            shown="all streams; the name of the file",
        ),
    ] = None,
    start: Annotated[
        datetime | None,
        option(
            "TIME",
            "Beginning of the recording that analyze has read, UTC: its files count from there.",
            shown="1970-01-01T00:00:00Z",
            formats=["%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S"],
        ),
    ] = None,
    out: Annotated[Path | None, option("FILE", "The Bundle, JSON.", shown="standard output")] = None,
    bootstrap: Bootstrap = None,
    properties: Properties = None,
    prefix: TopicPrefix = None,
    config: ConfigFile = None,
) -> None:
    """Write heart rates or alerts as a FHIR Bundle.

    Without a file the topics of a Kafka are read to their present end. Every resource is labelled as test data:
    beatwire is not a medical device.
    """
    from beatwire.wire import fhir as resources

    if out is not None:
        check_output("--out", out, sources=[path for path in (beats, alerts, config) if path is not None])
    if (alerts if resource is ResourceKind.OBSERVATION else beats) is not None:
        option = "--alerts" if resource is ResourceKind.OBSERVATION else "--beats"
        raise UserError(f"export: expected no {option} with --resource {resource.value}; got one")
    file, option = (beats, "--beats") if beats is not None else (alerts, "--alerts")
    kafka = {"--bootstrap-servers": bootstrap, "--property": properties, "--topic-prefix": prefix}
    unused = next((name for name, given in kafka.items() if given), None) if file is not None else None
    if unused is not None:
        raise UserError(f"{unused}: expected no file beside it; got {option} {file}")
    if start is not None and file is None:
        raise UserError("--start: expected --beats or --alerts beside it; what Kafka holds has times of its own")
    if resource is ResourceKind.OBSERVATION:
        rows = (
            _beats_of_file(beats, stream, start)
            if beats
            else _of_kafka(resource, bootstrap, properties, prefix, config)
        )
        made = resources.heart_rates((one for one in rows if stream in (None, one["stream"])), _device())
    else:
        rows = (
            _alerts_of_file(alerts, stream, start)
            if alerts
            else _of_kafka(resource, bootstrap, properties, prefix, config)
        )
        made = resources.device_alerts((one for one in rows if stream in (None, one["stream"])), _device())
    text = json.dumps(resources.bundle(made), indent=1, ensure_ascii=False)
    if resource is ResourceKind.OBSERVATION:
        validate(text)
    if out is None:
        typer.echo(text)
    else:
        write_output("--out", out, text + "\n")
        typer.echo(f"{out}: {len(made)} {resource.value} {'resource' if len(made) == 1 else 'resources'}")
    if not made:
        found = "beat with a rate" if resource is ResourceKind.OBSERVATION else "alert"
        print_message(f"export: found no {found}{f' of stream {stream!r}' if stream else ''}; the Bundle is empty")


def validate(text: str) -> None:
    """Check a Bundle against FHIR R5.

    Raises
    ------
    UserError
        The library is not installed, or the Bundle is not valid: a value cannot be represented.
    """
    try:
        from fhir.resources.bundle import Bundle
    except ImportError as error:
        raise UserError(
            "export: expected fhir.resources; it is not installed (pip install 'beatwire[fhir]')"
        ) from error
    try:
        Bundle.model_validate_json(text)
    except ValueError as error:
        raise UserError(f"export: expected a valid FHIR R5 Bundle; got {' '.join(str(error).split())}") from error


def _device() -> str:
    from importlib.metadata import version

    return f"beatwire {version('beatwire')}, not a medical device"


def _beats_of_file(path: Path, stream: str | None, start: datetime | None) -> Iterator[dict[str, Any]]:
    """Yield the beats of a file that ``analyze --out`` has written."""
    import pandas as pd

    expected = "--beats: expected a file of beatwire analyze --out, .csv, .csv.gz or .parquet"
    try:
        table = pd.read_parquet(path) if path.name.lower().endswith((".parquet", ".pq")) else pd.read_csv(path)
        missing = [name for name in ("time_s", "rate_bpm") if name not in table]
        if missing:
            lacking = "column" if len(missing) == 1 else "columns"
            raise UserError(f"{expected}; {path} has no {lacking} {', '.join(missing)}")
        unknown = pd.Series(math.nan, index=table.index)
        columns = (table["time_s"], table["rate_bpm"], table.get("expected_errors", unknown))
        times, rates, errors = (column.astype(float).tolist() for column in columns)
    except OSError as error:
        raise UserError(f"{expected}; got {path}: {error.strerror or error}") from error
    except (ValueError, EOFError, zlib.error) as error:  # EOFError: a compressed file that is cut off
        raise UserError(f"{expected}; got {path}: {error}") from error
    begin = _begin(start)
    for number, (time_s, *figures) in enumerate(zip(times, rates, errors, strict=True), 1):
        try:
            time = begin + timedelta(seconds=time_s)
            time.replace(second=0, microsecond=0) + timedelta(minutes=1)  # the end of its Observation
        except (ValueError, OverflowError):
            raise UserError(f"{expected}; got {path}: in beat {number} a time of {time_s:g} s") from None
        rate, wrong = (figure if math.isfinite(figure) else None for figure in figures)
        yield {"stream": stream or _subject(path), "time": time, "rate_bpm": rate, "expected_errors": wrong}


def _begin(start: datetime | None) -> datetime:
    """Return when a recording begins; say what is assumed if nobody has said it."""
    if start is None:
        print_message(f"export: without --start the recording begins at {EPOCH:%Y-%m-%dT%H:%M:%SZ}")
    return EPOCH if start is None else start.replace(tzinfo=UTC)


def _subject(path: Path) -> str:
    """Return the pseudonym of a recording without one: the name of the file, without the endings that `analyze` writes.

    >>> [_subject(Path(name)) for name in ("bed.7.csv.gz", "bed.8.csv.alerts.jsonl", "ward.jsonl")]
    ['bed.7', 'bed.8', 'ward']
    """
    name = re.sub(r"(?i)(?<=.)(\.alerts)?\.jsonl$", "", path.name)
    return re.sub(r"(?i)(?<=.)\.(csv|csv\.gz|parquet|pq|atr)$", "", name)


def _alerts_of_file(path: Path, stream: str | None, start: datetime | None) -> Iterator[dict[str, Any]]:
    """Yield the transitions of a file of alerts; those of ``analyze`` have no stream and no clock of their own."""
    from beatwire.alerts.rule import alert_id
    from beatwire.offline.results.merge import START_US
    from beatwire.wire.alerts import decode_alert

    expected = "--alerts: expected lines of beatwire analyze --alerts"
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise UserError(f"{expected}; got {path}: {getattr(error, 'strerror', None) or error}") from error
    begin = None
    for number, line in enumerate(lines, 1):
        try:
            alert = decode_alert(line)
        except ValueError as error:
            raise UserError(f"{expected}; got {path}, line {number}: {error}") from error
        if alert["stream"] == ANALYZED:  # so that no other recording has an alert of this id, and no other time
            alert["stream"] = stream or _subject(path)
            begin = begin or _begin(start)
            alert["id"] = alert_id(alert["stream"], alert["session"], f"{alert['id']}|{begin}", alert["onset"])
            for name in ("onset_us", "decided_us"):
                alert[name] += (begin - EPOCH) // timedelta(microseconds=1) - START_US
        yield alert
    if start is not None and lines and begin is None:
        raise UserError(f"--start: expected alerts of beatwire analyze; those of {path} have times of their own")


def _of_kafka(
    kind: ResourceKind, bootstrap: str | None, properties: list[str] | None, prefix: str | None, config: Path | None
) -> Iterator[dict[str, Any]]:
    """Yield the beats or the transitions of alerts that the topics hold."""
    from beatwire.cli.configured import cluster_with_options
    from beatwire.kafka import topics
    from beatwire.kafka.reading.readers import read_to_end
    from beatwire.wire import ALERTS, BEATS, decode_beat
    from beatwire.wire.alerts import decode_alert
    from beatwire.wire.fields import Unusable

    cluster = cluster_with_options(config, bootstrap, properties, prefix)
    topic = BEATS if kind is ResourceKind.OBSERVATION else ALERTS
    topics.check_broker(cluster, [topic])
    for key, value in read_to_end(cluster, topic):
        if value:
            try:
                found = decode_beat(value) if kind is ResourceKind.OBSERVATION else decode_alert(value, key or b"")
            except ValueError as error:
                print_message(str(Unusable(topic, key, str(error))))
                continue
            yield found
