"""What the service says while it runs: lines for people, or one JSON object a line for programs.

In: events, each with a name, a sentence and fields. Out: standard error, through the logger ``beatwire``. In JSON a
line has ``time`` (ISO 8601, UTC), ``level``, ``event``, ``message`` and the fields. Without `configure` nothing is
written, as is usual for a library.
"""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("console", "json")
LONGEST_TEXT = 10_000  # characters of a line for people, and of each text of a JSON object
LOGGER = logging.getLogger("beatwire")
KAFKA = logging.getLogger("librdkafka")  # the Kafka library, see ``beatwire.kafka.topics``
WAITING = logging.getLogger("beatwire.waiting")  # that the broker is waited for: printed by each command
LOGGER.addHandler(logging.NullHandler())


def log_event(event: str, text: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """Log an event.

    Parameters
    ----------
    event
        Its name, the same whenever it happens.
    text
        A sentence for people.
    level
        A level of `logging`.
    fields
        Numbers and texts for programs, by name.
    """
    LOGGER.log(level, text, extra={"event": event, "fields": fields})


def log_expired(unread: int, replay: int, partitions: list[int]) -> None:
    """Log that retention has deleted samples before the monitor was done with them; of unread ones there is an alert.

    Parameters
    ----------
    unread
        Messages after the commits: no beat and no alert was published for them.
    replay
        Messages before the commits: scores and alerts of the next two minutes may differ for want of them.
    partitions
        Where.
    """
    text = (
        f"retention has deleted samples in {len(partitions)} partitions: {unread} messages were never read, and "
        f"{replay} of those to replay are gone; the monitor goes on with the oldest message"
    )
    level = logging.ERROR if unread else logging.WARNING
    log_event("expired", text, level=level, unread=unread, replay=replay, partitions=partitions)


def log_clocks(ahead_s: float) -> None:
    """Log that the clocks of this machine and of the broker are apart, or no longer."""
    if not ahead_s:
        log_event("clocks", "the clocks of this machine and of the broker agree again")
        return
    text = (
        f"the clock of this machine is {abs(ahead_s):.1f} s {'ahead of' if ahead_s > 0 else 'behind'} the broker's: "
        "silence is measured by the broker's, and times of alerts about the monitor by this machine's; set both by NTP"
    )
    log_event("clocks", text, level=logging.WARNING, ahead_s=round(ahead_s, 3))


def configure(form: str = "console", level: str = "info", **fields: Any) -> None:
    """Write events to standard error from now on.

    Parameters
    ----------
    form, level
        One of ``FORMATS``; one of ``LEVELS``: the lowest that is written. With "debug" the lines of the Kafka library
        are written too.
    fields
        Added to every line of JSON; None: left out.
    """
    handler = StandardError()
    always = {name: value for name, value in fields.items() if value is not None}
    handler.setFormatter(JsonLines(always) if form == "json" else Lines())
    LOGGER.handlers[:] = [handler]
    WAITING.handlers.clear()
    WAITING.propagate = True
    LOGGER.setLevel(level.upper())
    LOGGER.propagate = False
    KAFKA.handlers[:] = [handler if level == "debug" else logging.NullHandler()]
    KAFKA.setLevel(logging.DEBUG if level == "debug" else logging.NOTSET)


def print_waiting() -> None:
    """Write to standard error, until `configure`, only that the broker is waited for."""
    handler = StandardError()
    handler.setFormatter(Lines())
    WAITING.handlers[:] = [handler]
    WAITING.propagate = False  # a process may have configured them before


def writes_json() -> bool:
    """Return True if events are written as JSON: an error that ends the command is to be one, too."""
    return any(isinstance(handler.formatter, JsonLines) for handler in LOGGER.handlers)


class StandardError(logging.Handler):
    """Writes to what is standard error at the time, a line at once: several processes may share it."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        try:
            sys.stderr.write(self.format(record) + "\n")
            sys.stderr.flush()
        except (OSError, ValueError):  # closed: whoever read the lines has gone
            self.handleError(record)


class Lines(logging.Formatter):
    """Formats a record for people."""

    def format(self, record: logging.LogRecord) -> str:
        """Return its text, with control characters of terminals escaped."""
        text = cut(super().format(record))
        return "".join(sign if sign.isprintable() or sign == "\n" else ascii(sign)[1:-1] for sign in text)


def cut(text: str) -> str:
    """Return a text, shortened if it is too long for a log: part of it may be what a sender sent."""
    more = len(text) - LONGEST_TEXT
    return text if more <= 0 else f"{text[:LONGEST_TEXT]}... ({more} more characters)"


class JsonLines(logging.Formatter):
    """Formats a record as one JSON object without line breaks.

    Parameters
    ----------
    fields
        Added to each object.
    """

    def __init__(self, fields: dict[str, Any]) -> None:
        super().__init__()
        self._fields = fields

    def format(self, record: logging.LogRecord) -> str:
        """Return the object as text."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {
            "time": time.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "event": getattr(record, "event", record.name),
            "message": record.getMessage(),
            **self._fields,
            **getattr(record, "fields", {}),
        }
        short = {name: cut(value) if isinstance(value, str) else value for name, value in line.items()}
        return json.dumps(short, default=str)
