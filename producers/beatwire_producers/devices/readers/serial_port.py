"""Lines of a serial port, as sketches for AD8232, ADS1292 and others print them: a number a line, or columns.

The first seconds show what the columns are, by the rules for text files (``beatwire.recordings.columns.roles``): leads,
a clock, a count, or something else. A line of names before them is used. A line of ``!`` (a lead is off, by the sketch
of the AD8232) or one that is garbled is a sample without a value. Counts and times that are garbled are mended. Text
before the first numbers is left out, and where a count or a clock shows that it is no sample.
"""

import itertools
import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import serial
from beatwire.errors import UserError
from beatwire.recordings.columns.behaviour import typical_step
from beatwire.recordings.columns.names import PER_SECOND, is_time_name, time_unit, without_unit
from beatwire.recordings.columns.parts import split_clock, with_parts
from beatwire.recordings.columns.roles import Table, risen, roles_of
from serial.tools.list_ports import comports

from beatwire_producers.devices.packets import Description, DeviceAwayError, Packet, arrival_s
from beatwire_producers.devices.readers.serial_damage import Rising
from beatwire_producers.devices.readers.serial_lines import OFF, Lines, has_names, is_row
from beatwire_producers.devices.readers.serial_lost import EvenClock
from beatwire_producers.devices.scale import stated_uv
from beatwire_producers.devices.sources import Options
from beatwire_producers.devices.turns import Turns
from beatwire_producers.feeds import pseudonym

_BAUD = 115_200
_LEARN_LINES, _LEARN_S = 256, 2.0  # lines from which the columns are known, and seconds
_SILENT_S = 5.0
_LONGEST_LINE = 4096  # bytes without an end of line: no lines at all
_SETTLED_S = 0.1  # a line waits no longer for the next one
_NEAR_TURN = 256  # lines that may be missing where a count begins again
_MOST = 2.0**31  # of a value: what is larger is no sample


class SerialReader:
    """Reads lines of a port.

    Parameters
    ----------
    port, baud
        The port, or an address of pyserial; bits per second.
    options
        What the user says.

    Attributes
    ----------
    notes : list of str
        What is not used of lines.
    """

    def __init__(self, port: str, baud: int, options: Options) -> None:
        self._port, self._baud, self._options = port, baud, options
        self._serial: Any = None
        self._rest = b""
        self._early: list[tuple[str, float]] = []
        self._lines = Lines()
        self._leads: list[int] = []
        self._clock: tuple[int, float] | None = None  # column, and its units per second
        self._parts: tuple[int, float] | None = None  # the same of the parts of its seconds
        self._count: int | None = None
        self._even: EvenClock | None = None  # where no count shows which lines are lost
        self._turns = Turns()
        self._cells = 1  # of a line
        self._rising: dict[int, Rising] = {}  # of the columns that place lines, the first of which does
        self._waiting: list[str] = []  # lines that are not settled
        self._waiting_s = 0.0
        self.notes: list[str] = []

    def describe(self) -> Description:
        """Open the port, and read until the columns are known."""
        where = f"serial:{self._port}"
        try:
            self._serial = serial.serial_for_url(self._port, self._baud, timeout=0.02)
        except (serial.SerialException, OSError, ValueError) as error:
            ports = ", ".join(one.device for one in comports()) or "none"
            why = os.strerror(number) if (number := getattr(error, "errno", None)) else str(error)
            raise DeviceAwayError(f"{why}; ports that are there: {ports}") from error
        self._rest, self._early, self._waiting = b"", [], []
        self._turns = Turns()
        before = ""
        began_s = heard_s = arrival_s()
        skipped, last = False, ""
        while len(self._early) < _LEARN_LINES or arrival_s() - began_s < _LEARN_S:
            lines = self._come()
            came_s = arrival_s()
            for line in lines:
                heard_s, last = came_s, line
                if not skipped:
                    skipped = True  # the first line may have begun before the port was opened
                    if not has_names(line):
                        continue
                if is_row(line):
                    self._early.append((line, heard_s))
                elif not self._early and has_names(line):
                    before = line
            if arrival_s() - heard_s > _SILENT_S:
                raise DeviceAwayError("no line has come")
            if arrival_s() - began_s > 4 * _LEARN_S:
                if len(self._early) > 16:
                    break  # a slow device
                raise DeviceAwayError(f"expected lines of numbers; got {last[:40]!r}")
        return self._learn(where, [line for line, _ in self._early], before)

    def _learn(self, where: str, lines: list[str], before: str = "") -> Description:
        values = self._lines.learn(where, lines, before)
        width = values.shape[1]
        if len(values) < 3:
            values = np.zeros((3, width))
        names = self._lines.names or ([f"{k}" for k in range(width)] if width > 1 else ["ECG"])
        options = self._options
        table = Table(tuple(names), [values[:, k] for k in range(width)])
        split = split_clock(table)
        table = with_parts(table, split)
        roles = roles_of(where, table, column=options.column, fs=options.fs)
        self.notes += [f"{where}: {note}" for note in roles.notes(names)]
        self._leads, self._clock, self._count, self._cells = list(roles.leads), None, None, width
        self._rising = {}
        self._parts = (split[1], PER_SECOND[table.unit(split[1])]) if split and roles.clock == split[0] else None
        for k in (roles.count, roles.clock):
            if k is not None:
                self._place_by(where, table, k, is_count=k == roles.count)
        self._even = None
        if self._clock is not None and self._count is None:
            self._even = EvenClock(table.columns[self._clock[0]], self._clock[1])
        try:
            scales = {stated_uv(table.unit(k), names[k]) for k in self._leads} if options.uv is None else {options.uv}
        except ValueError as error:
            raise UserError(f"{where}: {error}") from None
        if len(scales - {None}) > 1:
            got = ", ".join(repr(names[k]) for k in self._leads)
            raise UserError(f"{where}: expected leads of one unit; got {got} (--column)")
        stream = options.stream or pseudonym(self._port.rsplit("/", 1)[-1])
        uv = scales.pop() if len(scales) == 1 else None
        return Description(stream, tuple(without_unit(names[k]) for k in self._leads), options.fs, uv)

    def _place_by(self, where: str, table: Table, k: int, *, is_count: bool) -> None:
        """Place lines by a column that rises; without a name of a time it has to do so in most lines."""
        name, column = table.names[k], table.columns[k]
        column = risen(column[np.isfinite(column)])
        is_named = is_time_name(name) or table.unit(k) in PER_SECOND
        if not is_named and np.median(np.diff(column)) == 0:  # so does a breath for two seconds
            self.notes.append(
                f"{where}: not used: {name!r} rises, but not in most lines (time in its name makes it one)"
            )
            return
        unit = None if is_count else time_unit(name, table.unit(k), typical_step(column), self._options.fs)
        if unit is None:
            self._count = k
        else:
            self._clock = k, PER_SECOND[unit]
        self._rising[k] = Rising(1.0 if unit is None else typical_step(column), may_stay=unit is not None)

    def packets(self) -> Iterator[Packet | list[Packet] | None]:
        """Yield the lines that came together as a packet; at first those of `describe`, all of them at once."""
        early, self._early = self._early, []
        together = itertools.groupby(early, key=lambda one: one[1])
        yield [one for came_s, of in together for one in self._packets_of([line for line, _ in of], came_s)]
        heard_s = arrival_s()
        while True:
            lines = self._come()
            if lines:
                heard_s = arrival_s()
            if lines or (self._waiting and arrival_s() - self._waiting_s > _SETTLED_S):
                yield from self._packets_of(lines, arrival_s())
            else:
                yield None
            if arrival_s() - heard_s > _SILENT_S:
                raise DeviceAwayError("no line has come for 5 s")

    def close(self) -> None:
        """Close the port."""
        if self._serial is not None:
            self._serial.close()

    def _come(self) -> list[str]:
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

    def _packets_of(self, lines: list[str], now_s: float) -> Iterator[Packet]:
        """Yield packets of lines in which the contact does not change, and whose clock leaves nothing out."""
        all_came = bool(self._waiting) and now_s - self._waiting_s > _SETTLED_S
        lines, self._waiting = self._waiting + lines, []
        placing = [column for column, _ in filter(None, (self._clock, self._parts))]
        placing += [] if self._count is None else [self._count]
        width, rows = max(self._leads + placing) + 1, [self._lines.cells(line) for line in lines]
        most = max(width, 2 * self._cells - 2)  # two lines whose end was lost have more cells
        values = self._lines.numbers([row if width <= len(row) <= most else [] for row in rows], width)
        if self._clock and self._parts:
            values[:, self._clock[0]] += values[:, self._parts[0]] / self._parts[1]
        off = np.array([row == [OFF] for row in rows])
        found = {k: rising.settled(values[:, k], all_came=all_came) for k, rising in self._rising.items()}
        settled = min(map(len, found.values()), default=len(lines))
        if settled < len(lines):
            self._waiting, self._waiting_s = lines[settled:], now_s
        values, off = values[:settled], off[:settled]
        for k, numbers in found.items():
            values[:, k] = numbers[:settled]
            self._rising[k].passed(numbers[:settled])
        if found:
            is_sample = np.isfinite(values[:, next(iter(found))]) | off
            values, off = values[is_sample], off[is_sample]
        if not len(values):
            return
        if self._even is not None and self._clock is not None:
            values, is_lost = self._even.with_lost(values, self._clock[0])
            for k in self._leads:
                values[is_lost, k] = np.nan
            off = np.insert(off, np.flatnonzero(is_lost) - np.arange(int(is_lost.sum())), False)
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
        for begin, stop in zip([0, *cuts], [*cuts, len(values)], strict=True):
            time = values[begin, self._clock[0]] / self._clock[1] if self._clock else np.nan
            count = values[begin, self._count] if self._count is not None else np.nan
            yield Packet(
                np.ascontiguousarray(samples[begin:stop].T), now_s,
                float(time) if np.isfinite(time) else None, int(count) if np.isfinite(count) else None,
                (1 << len(self._leads)) - 1 if bool(off[begin]) else 0,
            )  # fmt: skip


def open_reader(text: str, options: Options) -> SerialReader:
    """Return the reader of ``PORT`` or ``PORT?baud=9600``."""
    port, _, query = text.partition("?")
    given = dict(parse_qsl(query))
    baud = given.pop("baud", str(_BAUD))
    if given or not baud.isdecimal() or not int(baud):
        raise UserError(f"feed serial: expected serial:PORT or serial:PORT?baud={_BAUD}; got {text!r}")
    return SerialReader(port, int(baud), options)
