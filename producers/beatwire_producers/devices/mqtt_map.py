"""The map of messages of MQTT: ``mqtt://[USER@]HOST[:PORT]/TOPIC[?NAME=VALUE&...]``, ``mqtts://`` with TLS.

A message is a packet of samples, in one of two forms. The query of the address says what is not in the messages:

========== =========================================================================================
name       meaning
========== =========================================================================================
samples    JSON: name of the samples: a list, one a lead or one a moment (default ``samples``); ``data.ecg`` is ``ecg``
           within ``data``, as in all names of JSON
count      JSON: name of the index of the first sample, or of the number of the packet (default ``count``); packed:
           not used
time       JSON: name of the time of the first sample: seconds to nanoseconds since 1970 or since the device began, or
           a date and time of ISO 8601, in UTC without a zone (default ``time``)
battery    JSON: name of the charge, percent (default ``battery``)
contact    JSON: name of the contact, true or false, or a list of a value a lead (default ``contact``)
id         JSON: name of what tells the devices of one topic apart; each is a stream of its own
lists      JSON: what a list of ``samples`` is: ``leads`` or ``moments``; found out, if it is not said
format     ``json`` (default); packed samples, all leads of one moment together: ``int16``, ``uint16``, ``int24``,
           ``int32`` or ``float32``, and the same with ``be`` behind it for the other order of bytes
header     packed: fields before the samples, such as ``count:u32,time_ms:u64,skip:u8``
rate       sampling rate, Hz; JSON: ``rate_hz`` of the messages comes first
leads      names, separated by commas; JSON: ``leads`` of the messages comes first
uv         microvolts per unit; JSON: ``uv_per_unit`` or ``unit`` of the messages comes first, then a unit in the
           name of the samples, such as ``ecg_uv``
qos        0, 1 or 2 (default 1)
ca         file of the certificates to trust, with TLS
========== =========================================================================================

The id of a stream is what the wildcards of the topic stand for; without a wildcard, the last level, or ``id`` alone.
The password is that of the address, or of the environment variable ``BEATWIRE_MQTT_PASSWORD``.
"""

import math
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from beatwire.errors import UserError, shown
from beatwire.recordings.leads import find_leads
from beatwire.recordings.record import MAX_RATE_HZ, MIN_RATE_HZ
from beatwire.recordings.remarks import few
from beatwire.wire.fields import is_number

from beatwire_producers.devices.mqtt_json import JsonMessages, UnreadableError, number_in, percent
from beatwire_producers.devices.mqtt_packed import LAYOUTS, TIMES, PackedMessages
from beatwire_producers.devices.mqtt_shape import LEADS, MOMENTS, Shapes
from beatwire_producers.devices.packets import EARLIEST_S, LATEST_S, MOST_S, Description, Packet
from beatwire_producers.devices.scale import stated_uv
from beatwire_producers.devices.sources import Options
from beatwire_producers.feeds import pseudonym

PASSWORD = "BEATWIRE_MQTT_PASSWORD"  # noqa: S105  the name of a variable
_DEFAULTS = {
    "samples": "samples", "count": "count", "time": "time", "battery": "battery", "contact": "contact",
    "id": "", "lists": "", "format": "json", "header": "", "rate": "", "leads": "", "uv": "", "qos": "1", "ca": "",
}  # fmt: skip
_FORMATS = ("json", *LAYOUTS)
_LARGEST_PER_SECOND = 1e9  # of a time without a unit: nanoseconds
_SAME_RATE = 1e-3  # a rate that is stated anew, and is so near to the one before, is the same


@dataclass(frozen=True)
class Address:
    """An address of MQTT: where, which topic, and the map of its messages."""

    host: str
    port: int
    topic: str
    tls: bool
    user: str | None
    password: str | None
    map: dict[str, str]


def parse_address(source: str) -> Address:
    """Parse an address.

    Raises
    ------
    UserError
        It is none, or a name of its query is unknown.
    """
    parts = urlsplit(source)
    topic = unquote(parts.path.lstrip("/")) + (unquote(f"#{parts.fragment}") if "#" in source else "")
    given = dict(parse_qsl(parts.query))
    if "#" in source and "?" in parts.fragment:  # the wildcard # of a topic begins what an address calls a fragment
        rest, _, query = parts.fragment.partition("?")
        topic, given = unquote(parts.path.lstrip("/")) + f"#{rest}", dict(parse_qsl(query))
    try:
        port = parts.port
    except ValueError:
        port = -1
    if not parts.hostname or not topic or port == -1:
        raise UserError(f"feed mqtt: expected mqtt://HOST[:PORT]/TOPIC; got {source!r}")
    levels = topic.split("/")
    if any(("+" in level or "#" in level) and len(level) > 1 for level in levels) or "#" in levels[:-1]:
        raise UserError(f"feed mqtt: expected + for a whole level of the topic, and # for the last ones; got {topic!r}")
    unknown = sorted(given.keys() - _DEFAULTS.keys())
    if unknown:
        raise UserError(f"feed mqtt: expected names among {', '.join(_DEFAULTS)}; got {unknown[0]!r}")
    chosen = _DEFAULTS | given
    for name, good, expected in (
        ("format", chosen["format"] in _FORMATS, ", ".join(_FORMATS)),
        ("lists", chosen["lists"] in ("", LEADS, MOMENTS), f"{LEADS} or {MOMENTS}"),
        ("qos", chosen["qos"] in ("0", "1", "2"), "0, 1 or 2"),
        ("rate", not chosen["rate"] or _is_in(chosen["rate"], MIN_RATE_HZ, MAX_RATE_HZ), "50-4000 Hz"),
        ("uv", not chosen["uv"] or _is_in(chosen["uv"], 0.0, math.inf), "microvolts"),
    ):
        if not good:
            raise UserError(f"feed mqtt: expected {name}={expected}; got {chosen[name]!r}")
    tls = parts.scheme == "mqtts"
    password = unquote(parts.password) if parts.password else os.environ.get(PASSWORD)
    user = unquote(parts.username) if parts.username else None
    return Address(parts.hostname, port or (8883 if tls else 1883), topic, tls, user, password, chosen)


def stream_of(topic: str, pattern: str, device: str = "") -> str:
    """Return the id of the stream of a topic: what the wildcards of the pattern stand for, else its last level.

    The id of a device in the message is behind what wildcards stand for, or alone.

    >>> stream_of("ward/bed-1/ecg", "ward/+/ecg"), stream_of("ecg/a/b", "ecg/#"), stream_of("ecg/a", "ecg/a")
    ('bed-1', 'a-b', 'a')
    >>> stream_of("ward/3/ecg", "ward/+/ecg", "b7"), stream_of("ecg", "ecg", "b7")
    ('3-b7', 'b7')
    """
    levels, wanted = topic.split("/"), pattern.split("/")
    if wanted[0] == "$share":  # $share/GROUP/TOPIC: several readers share what comes
        wanted = wanted[2:]
    parts = [level for level, want in zip(levels, wanted, strict=False) if want == "+"]
    if wanted[-1] == "#":
        parts += levels[len(wanted) - 1 :]
    parts += [device] if device else []
    return pseudonym("-".join(parts) if parts else levels[-1])


class Decoder:
    """Messages -> packets, by a map.

    Parameters
    ----------
    address
        Has the map.
    options
        What the user says.

    Attributes
    ----------
    notes : list of str
        What is not used of messages.
    """

    def __init__(self, address: Address, options: Options) -> None:
        self._pattern, self._options = address.topic, options
        leads, layout = tuple(name for name in address.map["leads"].split(",") if name), address.map["format"]
        self._leads = leads
        self._messages: JsonMessages | PackedMessages = (
            JsonMessages(address.map)
            if layout == "json"
            else PackedMessages(layout, address.map["header"], max(1, len(leads)))
        )
        self.notes = self._messages.notes
        self._say = few(self.notes.append)
        self._shapes = Shapes(address.map["lists"], self.notes.append) if layout == "json" else None
        self._stated: dict[str, int] = {}  # stream -> the leads that its messages named last
        self._known_leads: dict[str, tuple[str, ...]] = {}  # stream -> the leads of its last message
        self._taken: dict[tuple[str, ...], list[int]] = {}  # leads -> those to take
        self._described: dict[str, Description] = {}  # stream -> what was described last
        self._is_epoch: dict[str, bool] = {}  # stream -> whether its first time was one since 1970
        self._streams: dict[str, str] = {}  # topic, and the id in the message -> id of its stream
        self._topics: dict[str, str] = {}  # the reverse
        self._rate_hz, self._uv = (
            number_in(address.map[name]) if address.map[name] else None for name in ("rate", "uv")
        )
        if self._uv is None and layout == "json":
            with suppress(ValueError):
                self._uv = stated_uv("", address.map["samples"])

    def packet(self, topic: str, payload: bytes, now_s: float) -> Packet:
        """Return the packet of a message.

        Raises
        ------
        UnreadableError
            It is none.
        """
        fields, samples = self._messages.read(topic, payload, now_s)
        get, time_s, device = fields.get, _time(fields), fields.get("id", "")
        of = f"{topic} {device}" if device else topic
        stream = self._streams.get(of) or self._stream(topic, device, of)
        stated = self._stated[stream] = len(get("leads", ())) or self._stated.get(stream, len(self._leads))
        if self._shapes is not None and not get("is_by_name"):
            samples = self._shapes.of_leads(stream, samples, stated)
            self._shapes.check_signs(stream, samples)
            if not stated and self._options.column is None and (k := self._shapes.rising(stream, samples)) is not None:
                raise UnreadableError(
                    f"expected samples; lead {k} of {len(samples)}, from 0, rises evenly: a clock or a count "
                    "(--column takes the others)"
                )
        leads = self._leads_of(stream, fields, len(samples))
        lead_off = get("lead_off", 0) & ((1 << len(samples)) - 1)
        if get("lead_off", 0) >> len(samples) > 0:
            self._say(f"{topic}: its lead_off of {fields['lead_off']} has bits beyond its {len(samples)} leads")
        if get("contacts", len(samples)) < len(samples):
            self._say(f"{topic}: its contact is that of {fields['contacts']} leads; all others are taken as on")
        if self._options.column is not None:
            rows = self._rows(leads)
            leads, samples = tuple(leads[k] for k in rows), samples[rows]
            lead_off = sum((lead_off >> row & 1) << k for k, row in enumerate(rows))
        described = self._describe(stream, fields, leads, time_s)
        return Packet(samples, now_s, time_s, get("count"), lead_off, percent(get("battery")), described)

    def _leads_of(self, stream: str, fields: dict[str, Any], count: int) -> tuple[str, ...]:
        """Return the names of the leads of a message; those it does not say are as in the one before."""
        known = self._known_leads.get(stream, ())
        known = known if len(known) == count else self._leads
        leads = tuple(fields.get("leads") or known) or tuple(f"lead{k}" for k in range(count))
        if len(leads) != count:
            raise UnreadableError(f"expected samples of {len(leads)} leads; got {count}")
        self._known_leads[stream] = leads
        return leads

    def _rows(self, leads: tuple[str, ...]) -> list[int]:
        """Return which leads are taken."""
        if leads not in self._taken:
            try:
                self._taken[leads] = [*find_leads("feed mqtt", leads, self._options.column or "", "column")]
            except UserError as error:
                raise UnreadableError(str(error)) from None
        return self._taken[leads]

    def _describe(
        self, stream: str, fields: dict[str, Any], leads: tuple[str, ...], time_s: float | None
    ) -> Description:
        """Return what is described; what a message does not say is as in the one before."""
        options, before, get = self._options, self._described.get(stream), fields.get
        if time_s is not None:
            self._is_epoch.setdefault(stream, EARLIEST_S < time_s < LATEST_S)
        known_rate, known_uv = (self._rate_hz, self._uv) if before is None else (before.rate_hz, before.uv)
        rate = options.fs or get("rate_hz") or known_rate
        uv = options.uv if options.uv is not None else get("uv_per_unit", known_uv)
        if before is not None and (leads, uv) == (before.leads, before.uv) and _is_same_rate(rate, before.rate_hz):
            return before
        described = Description(stream, leads, rate, uv, is_epoch=self._is_epoch.get(stream, False))
        self._described[stream] = described
        return described

    def _stream(self, topic: str, device: str, of: str) -> str:
        """Return the id of the stream of a topic, and of an id in its messages, that is new; no two have one."""
        stream = self._options.stream or stream_of(topic, self._pattern, device)
        if self._topics.setdefault(stream, of) != of:
            why = "--stream is for one device" if self._options.stream else "wildcards that tell them apart are needed"
            raise UnreadableError(f"expected a stream of its own; {stream} is that of {self._topics[stream]}: {why}")
        self._streams[of] = stream
        return stream


def _is_in(text: str, least: float, most: float) -> bool:
    """Return True if a text is a number in a range."""
    number = number_in(text)
    return is_number(number) and least <= number <= most


def _is_same_rate(rate_hz: float | None, before_hz: float | None) -> bool:
    if rate_hz is None or before_hz is None:
        return rate_hz is before_hz
    return abs(rate_hz - before_hz) <= _SAME_RATE * before_hz


def _time(fields: dict[str, Any]) -> float | None:
    """Return the time of a message: in seconds, or a number whose unit is not stated."""
    for name, per_second in TIMES.items():
        value = fields.get(name)
        if value is None:
            continue
        if not abs(value) <= MOST_S * (per_second or _LARGEST_PER_SECOND):
            raise UnreadableError(f"expected {name}: at most {MOST_S:g} seconds; got {shown(value)}")
        return float(value / (per_second or 1.0))
    return None
