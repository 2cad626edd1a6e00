"""FHIR: heart rates as R5 Observations, alerts as R6 DeviceAlerts (experimental: R6 is a draft).

In: beats and alerts as mappings. Out: a Bundle of type ``collection`` as plain dictionaries. No I/O; nothing here
imports a library of FHIR: `beatwire.cli.recordings.export` validates what R5 has.

A stream is a pseudonym, so the subject is an identifier and no reference. Each resource has the security label HTEST:
its content is no part of a patient's record. The id of a resource follows from its content, so an export that is
repeated has the same ids. A DeviceAlert has the elements of FHIR's build of November 2025.
"""

import statistics
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from beatwire.alerts.settings import Settings

Resource = dict[str, Any]

STREAM_SYSTEM = "urn:beatwire:stream"
ALERT_SYSTEM = "urn:beatwire:alert"
RULE_SYSTEM = "urn:beatwire:rule"
_UCUM = "http://unitsofmeasure.org"
_TERMINOLOGY = "http://terminology.hl7.org/CodeSystem"
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "urn:beatwire:fhir")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE = timedelta(minutes=1)
_MOST_ERRORS = Settings().limit("noise")  # expected in 10 s of a beat whose rate can be trusted


def heart_rates(beats: Iterable[Mapping[str, Any]], device: str) -> list[Resource]:
    """Return an Observation for each minute of each stream: the median of its beats' rates where the signal is good.

    A minute whose beats are all of poor signal has no value, and says so.

    Parameters
    ----------
    beats
        With ``stream``, ``time`` (an aware datetime), ``rate_bpm`` (beats per minute; None: not known) and
        ``expected_errors`` (None or absent: not known).
    device
        What has found them: program and model.
    """
    minutes: dict[tuple[str, datetime], list[float]] = defaultdict(list)
    for beat in beats:
        if beat["rate_bpm"] is not None:
            rates = minutes[beat["stream"], beat["time"].replace(second=0, microsecond=0)]
            if (beat.get("expected_errors") or 0.0) <= _MOST_ERRORS:
                rates.append(float(beat["rate_bpm"]))
    return [_heart_rate(stream, begin, rates, device) for (stream, begin), rates in sorted(minutes.items())]


def device_alerts(alerts: Iterable[Mapping[str, Any]], device: str) -> list[Resource]:
    """Return a DeviceAlert for each alert, from its transitions in their order.

    Parameters
    ----------
    alerts
        Transitions, ``schemas/alert.schema.json``.
    device
        What has decided them: program and model.
    """
    newest: dict[str, Mapping[str, Any]] = {}
    ended_us: dict[str, int] = {}
    for alert in alerts:
        newest[alert["id"]] = alert
        if alert["state"] in ("latched", "off"):
            ended_us.setdefault(alert["id"], int(alert["decided_us"]))
    return [_device_alert(alert, ended_us.get(key), device) for key, alert in newest.items()]


def bundle(resources: Iterable[Resource]) -> Resource:
    """Return a Bundle of resources."""
    entries = [{"fullUrl": f"urn:uuid:{one['id']}", "resource": one} for one in resources]
    return {"resourceType": "Bundle", "type": "collection"} | ({"entry": entries} if entries else {})


def _heart_rate(stream: str, begin: datetime, rates: list[float], device: str) -> Resource:
    if rates:
        rate = {"value": round(statistics.median(rates), 1), "unit": "/min", "system": _UCUM, "code": "/min"}
        value = {"valueQuantity": rate}
    else:
        reason = _concept(f"{_TERMINOLOGY}/data-absent-reason", "unknown", "Unknown")
        value = {"dataAbsentReason": reason | {"text": "no good signal in this minute"}}
    beats = f"{len(rates)} {'beat' if len(rates) == 1 else 'beats'}"
    return (
        _resource("Observation", f"heart rate|{stream}|{begin.isoformat()}")
        | {
            "status": "final",
            "category": [_concept(f"{_TERMINOLOGY}/observation-category", "vital-signs", "Vital Signs")],
            "code": _concept("http://loinc.org", "8867-4", "Heart rate") | {"text": "Heart rate"},
            "subject": {"identifier": {"system": STREAM_SYSTEM, "value": stream}},
            "effectivePeriod": {"start": _instant(begin), "end": _instant(begin + _MINUTE)},
            "method": {"text": f"median of the rates at {beats} of good signal, each over up to eight intervals"},
            "device": {"display": device},
        }
        | value
    )


def _device_alert(alert: Mapping[str, Any], ended_us: int | None, device: str) -> Resource:
    over = alert["state"] == "off" or (alert["state"] == "ack" and ended_us is not None)
    period = {"start": _instant(_time(alert["onset_us"]))}
    if ended_us is not None:
        period["end"] = _instant(_time(ended_us))
    return _resource("DeviceAlert", f"alert|{alert['stream']}|{alert['id']}") | {
        "identifier": [{"system": ALERT_SYSTEM, "value": alert["id"]}],
        "status": "completed" if over else "in-progress",
        "type": "technical" if alert["technical"] else "physiological",
        "priority": _concept("http://hl7.org/fhir/devicealert-priority", alert["priority"]),
        "code": _concept(RULE_SYSTEM, alert["rule"].replace(" ", "-"), alert["rule"]),
        "subject": {"identifier": {"system": STREAM_SYSTEM, "value": alert["stream"]}},
        "presence": ended_us is None and alert["state"] != "off",
        "occurrencePeriod": period,
        "device": {"display": device},
        "acknowledged": alert["state"] == "ack" or alert.get("ack_by") is not None,
        "label": alert["text"],
    }


def _resource(kind: str, content: str) -> Resource:
    label = {"system": f"{_TERMINOLOGY}/v3-ActReason", "code": "HTEST", "display": "test health data"}
    return {"resourceType": kind, "id": str(uuid.uuid5(_NAMESPACE, content)), "meta": {"security": [label]}}


def _concept(system: str, code: str, display: str | None = None) -> dict[str, Any]:
    return {"coding": [{"system": system, "code": code} | ({"display": display} if display else {})]}


def _time(time_us: int) -> datetime:
    return _EPOCH + timedelta(microseconds=max(-(2**54), min(int(time_us), 2**54)))  # that a calendar has


def _instant(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
