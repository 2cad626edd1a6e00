"""SOURCE of the commands ``feed`` and ``watch`` -> a reader.

``SCHEME:TEXT`` selects a module of this package, or a class of the user's. Nothing of a device's library is imported
before it is known to be installed.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from beatwire.errors import UserError

if TYPE_CHECKING:
    from beatwire_producers.devices.packets import Reader


class Kind(NamedTuple):
    """A kind of source.

    module, package, extra  of its reader, that it needs, that has it
    written                 how it is written
    takes                   options that say what the device does not state, names in `Options`
    """

    module: str
    package: str
    extra: str
    written: str
    takes: tuple[str, ...] = ("stream", "fs", "gain", "column")


SCHEMES = {
    "lsl": Kind("lsl", "pylsl", "lsl", "lsl:NAME or lsl:type=ECG"),
    "mqtt": Kind("mqtt", "paho.mqtt", "mqtt", "mqtt://HOST/TOPIC"),
    "mqtts": Kind("mqtt", "paho.mqtt", "mqtt", "mqtts://HOST/TOPIC"),
    "serial": Kind("serial_port", "serial", "serial", "serial:PORT"),
    "brainflow": Kind("brainflow", "brainflow", "brainflow", "brainflow:BOARD"),
    "polar": Kind("polar", "bleak", "ble", "polar:NAME or polar:ADDRESS", ("stream", "gain")),
}
_ALIKE = 0.7  # of the letters of two names
_OWN_ONLY = ("ws", "wss", "tcp", "udp")  # schemes of connections whose content nothing describes
OWN = "py"  # py:MODULE:CLASS[:TEXT]
WRITTEN = ", ".join(kind.written for kind in SCHEMES.values() if kind.written[:5] != "mqtts") + ", py:MODULE:CLASS"


@dataclass(frozen=True)
class Options:
    """What the user says of a source.

    stream   id of the stream; None: from the device
    fs       sampling rate, Hz; None: from the device
    gain     units per millivolt; None: from the device
    column   leads to take: names, or numbers from 0, separated by commas; None: all
    """

    stream: str | None = None
    fs: float | None = None
    gain: float | None = None
    column: str | None = None

    @property
    def uv(self) -> float | None:
        """Microvolts per unit by the gain."""
        return None if self.gain is None else 1000.0 / self.gain


def is_device(source: str) -> bool:
    """Return True if a source is a device and not a recording.

    >>> is_device("lsl:ECG"), is_device("recording.csv"), is_device("synthetic:seconds=60"), is_device("C:/a.csv")
    (True, False, False, False)
    """
    return source.partition(":")[0] in (*SCHEMES, OWN)


def hint_for(source: str) -> str:
    """Return a hint where a kind of device is spelt wrong or has no reader; nothing for a device, and for a recording.

    >>> [hint_for(source) for source in ("serail:/dev/ttyUSB0", "POLAR:H10", "serial:COM3", "https://a/b.csv")]
    [' (nearest: serial:)', ' (nearest: polar:)', '', '']
    >>> hint_for("ws://localhost:8080/ecg")
    ' (a class of yours can read it: py:MODULE:CLASS)'
    """
    scheme, colon, _ = source.casefold().partition(":")
    if not colon or is_device(source):
        return ""
    if scheme in _OWN_ONLY:
        return f" (a class of yours can read it: {OWN}:MODULE:CLASS)"
    alike = get_close_matches(scheme, SCHEMES, 1, _ALIKE)
    return f" (nearest: {alike[0]}:)" if alike else ""


def check_installed(source: str) -> None:
    """Check what a source needs, without importing it.

    Raises
    ------
    UserError
        It is no source, or its package is not installed.
    """
    scheme, colon, text = source.partition(":")
    if not is_device(source) or not colon:
        raise UserError(f"feed: expected a SOURCE like {WRITTEN}; got {source!r}{hint_for(source)}")
    if not text.strip("/"):
        written = SCHEMES[scheme].written if scheme in SCHEMES else "py:MODULE:CLASS"
        raise UserError(f"feed: expected {written}; got {source!r}")
    if scheme == OWN:
        return
    kind = SCHEMES[scheme]
    if not _is_found(kind.package):
        raise UserError(
            f"feed {scheme}: expected {kind.package.partition('.')[0]}; it is not installed "
            f"(pip install 'beatwire[{kind.extra}]')"
        )


def check_options(sources: Sequence[str], options: Options) -> None:
    """Check that each option that was given can be meant, and counts for one of the sources, if there are any.

    Raises
    ------
    UserError
        It is out of its range, or no source takes it: its device states that itself.
    """
    from beatwire.recordings.opening import check_options as check_values

    check_values(options.fs, options.column, options.gain)
    for name, value in vars(options).items():
        if value is not None and sources and not any(name in _taken_by(source) for source in sources):
            raise UserError(f"--{name}: expected a device that does not state it; {sources[0]} does")


def _taken_by(source: str) -> tuple[str, ...]:
    kind = SCHEMES.get(source.partition(":")[0])
    return () if kind is None else kind.takes


def open_source(source: str, options: Options) -> Reader:
    """Return the reader of a source; it opens nothing yet.

    Raises
    ------
    UserError
        As of `check_installed`, or the text does not name what can be opened.
    """
    check_installed(source)
    scheme, _, text = source.partition(":")
    if scheme == OWN:
        return _own(text)
    module = importlib.import_module(f"beatwire_producers.devices.readers.{SCHEMES[scheme].module}")
    reader: Reader = module.open_reader(source if scheme.startswith("mqtt") else text, options)
    return reader


def _is_found(package: str) -> bool:
    """Return True if a package is installed; those around it are imported."""
    top, _, _ = package.partition(".")
    return importlib.util.find_spec(top) is not None and (
        top == package or importlib.util.find_spec(package) is not None
    )


def _own(text: str) -> Reader:
    """Return an object of the user's class, made from the text after it if there is one."""
    module, _, rest = text.partition(":")
    name, _, argument = rest.partition(":")
    try:
        made = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UserError(f"feed py: expected py:MODULE:CLASS; got {text!r} ({error})") from error
    reader: Reader = made(argument) if argument else made()
    missing = [method for method in ("describe", "packets", "close") if not callable(getattr(reader, method, None))]
    if missing:
        raise UserError(f"feed py: expected a class with describe, packets and close; {name} has no {missing[0]}")
    return reader
