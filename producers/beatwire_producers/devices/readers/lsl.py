"""Streams of the Lab Streaming Layer: all that have a name, or a property such as ``type=ECG``.

Rate, labels and units of channels are those of the description that the sender gives. Times are the sender's, brought
to this machine's clock by the offset that LSL measures. It errs by milliseconds on a busy machine, and changes at once:
here it is followed slowly, because a step of the times would look like missing samples.

A stream that ends is opened anew where it comes again, as what comes may have other units, channels or another rate. A
source id is that of one device, and the id of its stream stays its own. Streams of one name, or of one source id, that
are there together are told apart, and it is said.
"""

import math
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pylsl
from beatwire.errors import UserError
from beatwire.records import F64
from pylsl.util import LostError
from pylsl.util import TimeoutError as SlowError

from beatwire_producers.devices.packets import EARLIEST_S, Description, DeviceAwayError, MachineClock, Packet, arrival_s
from beatwire_producers.devices.readers.lsl_description import describe_stream, stream_of
from beatwire_producers.devices.sources import Options

_FIND_S, _AGAIN_S = 5.0, 1.0  # to open a stream, and one that has ended: it is listed for 5 s more
_PULL_S = 0.03  # between two looks at the streams: what came to all of them is passed on together
_LOOK_S = 1.0
_ALL_S = 0.5  # after the first stream was found, for the others
_SILENT_S = 15.0
_TOGETHER, _TOGETHER_ENDED = 10, 4  # looks: streams of one source id are two; one of them has ended. Or one began anew
_MOST_OPENING = 16  # streams that are opened at the same time
_SLEW, _STEP_S = 5e-4, 0.1  # seconds a second by which an offset is followed; a clock that was set is further away
_MOST_SAMPLES = 4096  # of one stream at a time
_GAP = 1.5  # samples: times of a stream that are further apart are in different packets


@dataclass
class _Inlet:
    """An open stream: what it sends, the rows of its channels that are leads, and the offset of the sender's clock."""

    uid: str
    inlet: Any
    described: Description
    rows: list[int]
    offset_s: float
    heard_s: float  # when the last sample came, or it was opened
    measured_s: float = 0.0  # when the offset was last looked at
    shares: bool = False  # without a rate, the samples of a chunk share a time: that at which it was sent

    def follow_offset(self, now_s: float) -> None:
        """Look at the offset that LSL has measured, at most once a second; follow it slowly."""
        since_s = now_s - self.measured_s
        if since_s < _LOOK_S:
            return
        self.measured_s = now_s
        try:
            ahead_s = self.inlet.time_correction(0.001) - self.offset_s
        except (LostError, SlowError):
            return
        most_s = math.inf if abs(ahead_s) > _STEP_S else _SLEW * min(since_s, 10.0)
        self.offset_s += min(max(ahead_s, -most_s), most_s)


class LslReader:
    """Reads all streams of LSL with a property.

    Parameters
    ----------
    key, value
        The property: ``name``, ``type``, ``source_id`` or another of LSL.
    options
        What the user says.
    """

    def __init__(self, key: str, value: str, options: Options) -> None:
        self._where, self._options = f"lsl:{key}={value}", options
        self._key, self._value = key, value
        self._inlets: dict[str, _Inlet] = {}
        self._owners: dict[str, str] = {}  # stream -> the source id that it is of
        self._together: dict[str, int] = {}  # uid -> looks at which another stream of its source id was there
        self._resolver: Any = None
        self._refused: dict[str, UserError] = {}  # uid -> why
        self._ended: set[str] = set()  # uids
        self._opening: threading.Thread | None = None
        self._epoch_s = 0.0
        self._clock = MachineClock()
        self.notes: list[str] = []

    def describe(self) -> None:
        """Find the streams that are there; those that come later are opened then."""
        self._resolver = self._resolver or pylsl.ContinuousResolver(self._key, self._value)
        found = pylsl.resolve_byprop(self._key, self._value, 1, _FIND_S)
        time.sleep(_ALL_S if found else 0.0)
        deadline_s = arrival_s() + (_FIND_S if found else 0.0)
        while not (self._inlets or self._refused) and arrival_s() < deadline_s:
            self._open_new()
            time.sleep(_PULL_S)
        if not self._inlets and self._refused:
            raise next(iter(self._refused.values()))
        if not self._inlets:
            raise DeviceAwayError("no such stream answers")

    def packets(self) -> Iterator[list[Packet] | None]:
        """Yield the samples that have come, of all streams together."""
        look_s = arrival_s() + _LOOK_S
        self._epoch_s = _epoch_s() + self._clock.set_s
        while True:
            came: list[Packet] = []
            is_all = True
            self._epoch_s += self._clock.look()
            is_asked = arrival_s() > look_s  # once a second also what has nothing: it may have gone
            for key, one in list(self._inlets.items()):
                if not one.inlet.samples_available() and not is_asked:
                    continue
                try:
                    values, stamps = one.inlet.pull_chunk(0.0, _MOST_SAMPLES, as_numpy=True)
                except LostError:
                    self._drop(key, one)
                    continue
                if len(stamps):
                    one.heard_s = arrival_s()
                    came += self._packets_of(one, values, stamps)
                    is_all = is_all and len(stamps) < _MOST_SAMPLES
            if not self._inlets:
                raise DeviceAwayError("the stream has ended")
            yield came or None
            if is_asked:
                self._drop_silent()
                self._look()
                look_s = arrival_s() + _LOOK_S
            if is_all:
                time.sleep(_PULL_S)

    def close(self) -> None:
        """Close the streams."""
        self._resolver = None
        for one in list(self._inlets.values()):
            one.inlet.close_stream()
        self._inlets.clear()

    def _drop(self, key: str, one: _Inlet) -> None:
        self._ended.add(one.uid)
        if self._inlets.get(key) is one:
            del self._inlets[key]

    def _drop_silent(self) -> None:
        """Give up streams that send nothing and are not there any more: a network that breaks ends no connection."""
        resolver, now_s = self._resolver, arrival_s()
        silent = {key: one for key, one in list(self._inlets.items()) if now_s - one.heard_s > _SILENT_S}
        there = {info.uid() for info in resolver.results()} if silent and resolver is not None else set()
        for key, one in silent.items():
            if one.uid not in there:
                self._drop(key, one)

    def _look(self) -> None:
        """Look for new streams in a thread: one that does not answer does not stop the others."""
        if self._opening is None or not self._opening.is_alive():
            self._opening = threading.Thread(target=self._open_new, name="lsl-open", daemon=True)
            self._opening.start()

    def _open_new(self) -> None:
        resolver = self._resolver
        new = self._new(resolver.results() if resolver is not None else ())
        if not new:
            return
        with ThreadPoolExecutor(min(len(new), _MOST_OPENING)) as pool:  # LSL measures an offset for 0.6 s
            within_s = [_AGAIN_S if info.uid() in self._ended else _FIND_S for info in new.values()]
            opened = list(pool.map(_opened, new.values(), within_s))
        names = Counter(info.name() for info in new.values())
        for key, found in zip(new, opened, strict=True):
            if found is None:
                continue
            inlet, full, offset_s = found
            try:
                described, rows = self._described(key, full, is_alone=names[full.name()] == 1)
            except UserError as error:
                inlet.close_stream()
                self._refused[full.uid()] = error
                self.notes.append(str(error))
                continue
            if self._resolver is not resolver:  # closed meanwhile
                inlet.close_stream()
                return
            self._inlets[key] = _Inlet(full.uid(), inlet, described, rows, offset_s, arrival_s())

    def _new(self, listed: Sequence[Any]) -> dict[str, Any]:
        """Return what can be opened of the streams that are there, in the order of their source ids, or else uids."""
        inlets = dict(self._inlets)
        open_uids, there = {one.uid for one in inlets.values()}, {info.uid() for info in listed}
        new: dict[str, Any] = {}
        together: dict[str, int] = {}
        for info in sorted(listed, key=lambda info: info.uid() in self._ended):
            uid, key = info.uid(), info.source_id() or info.uid()
            if uid in open_uids or uid in self._refused:
                continue
            looks = self._together.get(uid, 0)
            if key in new or (key in inlets and inlets[key].uid in there):  # not one that began anew: that is not there
                together[uid] = looks + 1
                if looks + 1 < _TOGETHER:
                    continue
                key = uid
            elif key not in inlets and looks >= _TOGETHER_ENDED:
                key = uid
            new[key] = info
        self._together = together
        return dict(sorted(new.items()))

    def _described(self, key: str, full: Any, *, is_alone: bool) -> tuple[Description, list[int]]:
        """Return what a stream sends, and which of its channels are leads; its id is that of no other source."""
        source = full.source_id()
        taken = {one.described.stream for other, one in list(self._inlets.items()) if other != key}
        own = next((stream for stream, owner in self._owners.items() if owner == key), None)
        if own is None or own in taken:
            own = stream_of(full, self._options, taken | self._owners.keys(), is_alone=is_alone)
        described, rows, notes = describe_stream(self._where, full, own, self._options)
        self.notes += notes
        if key == source:
            self._owners[own] = source
        elif source:
            self.notes.append(
                f"{self._where}: expected a source id of its own for each stream; got two of {source!r}: this one is "
                f"{own} until it ends"
            )
        return described, rows

    def _packets_of(self, one: _Inlet, values: Any, stamps: F64) -> Iterator[Packet]:
        """Yield samples in packets without gaps."""
        now_s = arrival_s()
        one.follow_offset(now_s)
        is_epoch = stamps[0] > EARLIEST_S  # times since 1970, by a sender that does not use LSL's clock
        shift_s = 0.0 if is_epoch else self._epoch_s + one.offset_s
        if one.described.rate_hz is None:
            cuts = np.flatnonzero(np.diff(stamps)) + 1
            one.shares = one.shares or len(cuts) + 1 < len(stamps)
            if one.shares:
                for begin, stop in zip([0, *cuts], [*cuts, len(stamps)], strict=True):
                    sent_s = now_s if is_epoch else stamps[begin] + shift_s
                    yield Packet(values[begin:stop, one.rows].T, sent_s, described=one.described)
                return
        for begin, stop, first_s in runs_of(stamps.tolist(), one.described.rate_hz):
            samples = values[begin:stop, one.rows].T
            yield Packet(samples, now_s, first_s + shift_s, described=one.described)


def runs_of(stamps: list[float], rate_hz: float | None) -> Iterator[tuple[int, int, float]]:
    """Yield begin, end and time of the first sample of stretches of times without gaps; late times do not count.

    >>> list(runs_of([1.0, 1.012, 1.02, 1.5], 100.0))
    [(0, 3, 1.0), (3, 4, 1.5)]
    """
    if rate_hz is None:
        yield 0, len(stamps), stamps[0]
        return
    step_s, begin, before_s, first_s = 1.0 / rate_hz, 0, stamps[0], stamps[0]
    for k, stamp_s in enumerate(stamps):
        if stamp_s - before_s > _GAP * step_s:
            yield begin, k, first_s
            begin, first_s = k, stamp_s
        first_s = min(first_s, stamp_s - (k - begin) * step_s)
        before_s = stamp_s
    yield begin, len(stamps), first_s


def _opened(info: Any, within_s: float) -> tuple[Any, Any, float] | None:
    """Return the inlet of a stream, open; its description, and the offset of its clock; None if it does not answer."""
    inlet = pylsl.StreamInlet(info, recover=False)
    try:
        full = inlet.info(timeout=within_s)
        offset_s = inlet.time_correction(timeout=within_s)
        inlet.open_stream(timeout=within_s)
    except (LostError, SlowError):
        return None
    return inlet, full, offset_s


def _epoch_s() -> float:
    """Return how far :func:`arrival_s` is ahead of LSL's clock; both run alike, and are read as close as can be."""
    tried = []
    for _ in range(20):
        before_s, lsl_s, after_s = arrival_s(), pylsl.local_clock(), arrival_s()
        tried.append((after_s - before_s, (before_s + after_s) / 2 - lsl_s))
    return float(min(tried)[1])


def open_reader(text: str, options: Options) -> LslReader:
    """Return the reader of ``NAME`` or ``KEY=VALUE``."""
    key, equals, value = text.partition("=")
    return LslReader(key.strip(), value.strip(), options) if equals else LslReader("name", text.strip(), options)
