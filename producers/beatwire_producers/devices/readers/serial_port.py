"""Lines of a serial port, as sketches for AD8232, ADS1292 and others print them: a number a line, or columns.

The first seconds show what the columns are, by the rules for text files (``beatwire.recordings.columns.roles``): leads,
a clock, a count, or something else. A line of names before them is used. A line of ``!`` (a lead is off, by the sketch
of the AD8232) or one that is garbled is a sample without a value. Text before the first numbers is left out.
"""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import serial
from beatwire.errors import UserError
from beatwire.recordings.columns.names import PER_SECOND, time_unit, without_unit
from beatwire.recordings.columns.roles import Table, risen, roles_of
from beatwire.records import F64

from beatwire_producers.devices.packets import Description, DeviceAwayError, Packet, arrival_s
from beatwire_producers.devices.scale import stated_uv
from beatwire_producers.devices.sources import Options
from beatwire_producers.devices.turns import Turns
from beatwire_producers.feeds import pseudonym

_BAUD = 115_200
_LEARN_LINES, _LEARN_S = 256, 2.0  # lines from which the columns are known, and seconds
_SILENT_S = 5.0
_LONGEST_LINE = 4096  # bytes without an end of line: no lines at all
_OFF = "!"
_NEAR_TURN = 256  # lines that may be missing where a count begins again
_MOST = 2.0**31  # of a value: what is larger is no sample
_LABEL = re.compile(r"^([^\W\d]\w*)[:=](?=[-+.\d!])")
_SPLIT = re.compile(r"\s*[,;\t]\s*|\s+")


class SerialReader:
    """Reads lines of a port.

    Parameters
    ----------
    port, baud
        The port, or an address of pyserial; bits per second.
    options
        What the user says.
    """

    def __init__(self, port: str, baud: int, options: Options) -> None:
        self._port, self._baud, self._options = port, baud, options
        self._serial: Any = None
        self._rest = b""
        self._early: list[tuple[list[str], float]] = []
        self._names: list[str] = []
        self._leads: list[int] = []
        self._clock: tuple[int, float] | None = None  # column, and its units per second
        self._count: int | None = None
        self._turns = Turns()

    def describe(self) -> Description:
        """Open the port, and read until the columns are known."""
        where = f"serial:{self._port}"
        try:
            self._serial = serial.serial_for_url(self._port, self._baud, timeout=0.02)
        except (serial.SerialException, OSError, ValueError) as error:
            raise DeviceAwayError(str(error)) from error
        self._rest, self._early, self._names = b"", [], []
        self._turns = Turns()
        rows: list[list[str]] = []
        began_s = heard_s = arrival_s()
        skipped, last = False, ""
        while len(rows) < _LEARN_LINES or arrival_s() - began_s < _LEARN_S:
            for line in self._lines():
                heard_s, last = arrival_s(), line
                if not skipped:
                    skipped = True  # the first line may have begun before the port was opened
                    if not _names_of(line):
                        continue
                cells = _cells(line)
                if _is_row(cells):
                    if rows and len(cells) != len(rows[0]) and cells != [_OFF]:
                        continue
                    self._names = _labels(line) or self._names
                    rows.append(cells)
                    self._early.append((cells, heard_s))
                elif not rows and _names_of(line):
                    self._names = cells
            if arrival_s() - heard_s > _SILENT_S:
                raise DeviceAwayError("no line has come")
            if arrival_s() - began_s > 4 * _LEARN_S:
                if len(rows) > 16:
                    break  # a slow device
                raise DeviceAwayError(f"expected lines of numbers; got {last[:40]!r}")
        return self._learn(where, rows)

    def _learn(self, where: str, rows: list[list[str]]) -> Description:
        width = max(map(len, rows))
        values = _numbers([row for row in rows if row != [_OFF]], width)
        if len(values) < 3:
            values = np.zeros((3, width))
        names = self._names if len(self._names) == width else ([f"{k}" for k in range(width)] if width > 1 else ["ECG"])
        options = self._options
        table = Table(tuple(names), [values[:, k] for k in range(width)])
        roles = roles_of(where, table, column=options.column, fs=options.fs)
        self._leads, self._clock, self._count = list(roles.leads), None, roles.count
        rate_hz = options.fs
        if roles.clock is not None:
            column = risen(values[:, roles.clock])
            step = float(np.median(np.diff(column)))
            unit = time_unit(names[roles.clock], table.unit(roles.clock), step, options.fs)
            if unit is None:
                self._count = roles.clock
            else:
                self._clock = roles.clock, PER_SECOND[unit]
        try:
            scales = {stated_uv(table.unit(k), names[k]) for k in self._leads} if options.uv is None else {options.uv}
        except ValueError as error:
            raise UserError(f"{where}: {error}") from None
        if len(scales - {None}) > 1:
            got = ", ".join(repr(names[k]) for k in self._leads)
            raise UserError(f"{where}: expected leads of one unit; got {got} (--column)")
        stream = options.stream or pseudonym(self._port.rsplit("/", 1)[-1])
        uv = scales.pop() if len(scales) == 1 else None
        return Description(stream, tuple(without_unit(names[k]) for k in self._leads), rate_hz, uv)

    def packets(self) -> Iterator[Packet | None]:
        """Yield the lines that came together as a packet."""
        early, self._early = self._early, []
        begin = 0
        for k in range(1, len(early) + 1):  # lines that were read together
            if k == len(early) or early[k][1] != early[begin][1]:
                yield from self._packets_of([cells for cells, _ in early[begin:k]], early[begin][1])
                begin = k
        heard_s = arrival_s()
        while True:
            rows = [_cells(line) for line in self._lines()]
            if rows:
                heard_s = arrival_s()
                yield from self._packets_of(rows, heard_s)
            else:
                yield None
            if arrival_s() - heard_s > _SILENT_S:
                raise DeviceAwayError("no line has come for 5 s")

    def close(self) -> None:
        """Close the port."""
        if self._serial is not None:
            self._serial.close()

    def _lines(self) -> list[str]:
        """Return the lines that have come, without their ends."""
        try:
            came = self._serial.read(max(1, self._serial.in_waiting))
        except (serial.SerialException, OSError, TypeError, AttributeError) as error:  # also while it is closed
            raise DeviceAwayError(str(error) or "the port is closed") from error
        *lines, self._rest = (self._rest + came).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        if len(self._rest) > _LONGEST_LINE:
            raise UserError(
                f"serial:{self._port}: expected lines of numbers; got {self._rest[:20]!r}... "
                f"(another baud rate than {self._baud}? serial:PORT?baud=9600)"
            )
        return [line.decode("utf-8", "replace").strip() for line in lines if line.strip()]

    def _packets_of(self, rows: list[list[str]], now_s: float) -> Iterator[Packet]:
        """Yield packets of lines in which the contact does not change, and whose clock leaves nothing out."""
        needed = max(
            [
                *self._leads,
                *([self._clock[0]] if self._clock else []),
                *([self._count] if self._count is not None else []),
            ]
        )
        width = needed + 1
        values = _numbers([row if len(row) >= width else [] for row in rows], width)
        off = np.array([row == [_OFF] for row in rows])
        samples = values[:, self._leads]
        samples[np.abs(samples) >= _MOST] = np.nan
        if bool((samples == np.rint(samples)).all()):
            samples = samples.astype(np.int32)
        cuts = np.flatnonzero(np.diff(off)) + 1
        if self._count is not None:
            counts = values[:, self._count]  # a view
            counted = np.isfinite(counts)
            counts[counted] = [self._turns.number(int(count), _NEAR_TURN) for count in counts[counted]]
            cuts = np.union1d(cuts, np.flatnonzero(np.diff(values[:, self._count]) != 1) + 1)
        elif self._clock is not None and len(values) > 2:
            steps = np.diff(values[:, self._clock[0]])
            cuts = np.union1d(cuts, np.flatnonzero((steps > 1.9 * np.nanmedian(steps)) | (steps < 0)) + 1)
        for begin, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True):
            time = values[begin, self._clock[0]] / self._clock[1] if self._clock else np.nan
            count = values[begin, self._count] if self._count is not None else np.nan
            yield Packet(
                np.ascontiguousarray(samples[begin:stop].T), now_s,
                float(time) if np.isfinite(time) else None, int(count) if np.isfinite(count) else None,
                (1 << len(self._leads)) - 1 if bool(off[begin]) else 0,
            )  # fmt: skip


def _cells(line: str) -> list[str]:
    """Return the cells of a line without the names before values that the plotter of Arduino reads.

    >>> _cells("12, 3.5"), _cells("ecg:512 resp:3"), _cells("!")
    (['12', '3.5'], ['512', '3'], ['!'])
    """
    return [_LABEL.sub("", cell) for cell in _split(line)]


def _labels(line: str) -> list[str]:
    """Return the names before the values of a line; none if a value has none.

    >>> _labels("ecg:512, HR: 71"), _labels("ecg:512,3")
    (['ecg', 'HR'], [])
    """
    found = [_LABEL.match(cell) for cell in _split(line)]
    return [label[1] for label in found if label] if all(found) else []


def _split(line: str) -> list[str]:
    return [cell for cell in _SPLIT.split(re.sub(r"([:=])\s+", r"\1", line.strip().strip(",;"))) if cell]


def _is_row(cells: list[str]) -> bool:
    return cells == [_OFF] or (bool(cells) and all(_is_number(cell) for cell in cells))


def _names_of(line: str) -> bool:
    """Return True if a line can be one of names: words, none of which is a number."""
    cells = _cells(line)
    return bool(cells) and cells != [_OFF] and all(re.match(r"[^\W\d]", cell) for cell in cells)


def _is_number(text: str) -> bool:
    """Return True for a number; ``nan`` and ``inf``, which a sketch prints where it has none, are numbers too."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _numbers(rows: list[list[str]], width: int) -> F64:
    """Return the numbers of rows, float64 [rows, width]; NaN where there is none."""
    values = np.full((len(rows), width), np.nan)
    for k, row in enumerate(rows):
        for c, cell in enumerate(row[:width]):
            if _is_number(cell):
                values[k, c] = float(cell)
    values[np.isinf(values)] = np.nan
    return values


def open_reader(text: str, options: Options) -> SerialReader:
    """Return the reader of ``PORT`` or ``PORT?baud=9600``."""
    port, _, query = text.partition("?")
    given = dict(parse_qsl(query))
    baud = given.pop("baud", str(_BAUD))
    if given or not baud.isdecimal() or not int(baud):
        raise UserError(f"feed serial: expected serial:PORT or serial:PORT?baud={_BAUD}; got {text!r}")
    return SerialReader(port, int(baud), options)
