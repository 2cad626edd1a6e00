"""The state of the page: traces, beats and alerts of every stream, behind one lock.

In: what the reader's thread receives. Out: parts of the ward and of a bed as the protocol has them, for the thread of
the web server. State: ``Traces``, ``BeatLog``, ``Alerts``, the order of the streams. The clock is an argument.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from beatwire.alerts.rules import NUMBERS, RULES
from beatwire.kafka.reading.record import Record
from beatwire.page.alerts import LOST, Alerts
from beatwire.page.beat_log import BeatLog, as_json, decoded
from beatwire.page.hum import HumSigns
from beatwire.page.natural import Key, natural
from beatwire.page.protocol import Block
from beatwire.page.traces import Traces
from beatwire.page.unanalysed import Unanalysed, explains
from beatwire.records import I16, I64, RawTick
from beatwire.wire.names import ACKS, ALERTS

STALE_US = round(RULES[NUMBERS["no data"]].default * 1e6)
FORGET_US = 3_600_000_000
NO_RATE_US = 5_000_000  # after the last beat there is no present rate


class Ward:
    """The streams and what is shown of them; every method takes the lock.

    Attributes
    ----------
    listeners : list of callables
        Each is called with the streams whose alerts changed, on the reader's thread.
    connected : bool
        False while no broker answers.
    unanalysed : Unanalysed
        When streams were heard of.
    """

    def __init__(self, traces: Traces | None = None) -> None:
        self._lock = threading.RLock()
        self._traces, self._beats, self._alerts, self._hum = traces or Traces(), BeatLog(), Alerts(), HumSigns()
        self._order: list[tuple[Key, int]] = []  # key of the stream id and slot; new streams at the end, unsorted
        self._by_name: I64 | None = None  # the slots of that list, sorted; None: it has changed
        self._rank: I64 = np.zeros(0, np.int64)  # by slot, of the highest alert in force
        self.listeners: list[Callable[[set[str]], None]] = []
        self.connected = True
        self.unanalysed = Unanalysed()

    @property
    def figures(self) -> dict[str, int]:
        """Return counts: streams, bytes of their rings, messages that could not be used."""
        with self._lock:
            traces = self._traces
            return {
                "streams": len(traces.numbers),
                "ring_bytes": traces.ring_bytes,
                "rejected": traces.rejected + self._alerts.malformed,
            }

    def add_samples(self, tick: RawTick) -> None:
        """Add messages of ``ecg.samples``."""
        with self._lock:
            before_us = self._traces.ints["arrived_us"].copy()
            self._list(self._traces.add(tick))
            self.unanalysed.add_chunks(before_us, self._traces.ints["arrived_us"], STALE_US, tick.now_us)

    def add_records(self, records: Sequence[Record]) -> None:
        """Add messages of the other topics."""
        beats = decoded(records)  # before the lock is taken
        with self._lock:
            self._add_beats(beats)
            add = {ALERTS: self._alerts.add_alert, ACKS: self._alerts.add_ack, LOST: self._alerts.add_lost}
            changed = {add[record.topic](record) for record in records if record.topic in add}
            streams = {stream for stream in changed if stream is not None}
            # A stream of which nothing is in force, or was received, is not in the ward.
            self._list(self._traces.claim({stream for stream in streams if self._alerts.rank(stream)}))
            slots = [self._traces.numbers[stream] for stream in streams & self._traces.numbers.keys()]
            for slot in slots:
                self._rank[slot] = self._alerts.rank(self._traces.directory.names[slot])
            stops, lasts = self._traces.ints["stop"], self._beats.last
            self._forget([slot for slot in slots if not self._rank[slot] and stops[slot] < 0 and slot not in lasts])
        for listener in tuple(self.listeners) if streams else ():  # one that leaves meanwhile skips no other
            listener(streams)

    def forget_silent(self, now_us: int) -> None:
        """Remove the streams without alerts that have been silent for an hour."""
        with self._lock:
            slots = np.array(sorted(self._traces.numbers.values()), np.int64)
            if not len(slots):
                return
            arrived = self._traces.ints["arrived_us"]
            arrived[slots[arrived[slots] < 0]] = now_us  # known by an alert or a beat alone: the hour begins now
            self._forget(slots[(now_us - arrived[slots] > FORGET_US) & (self._rank[slots] == 0)].tolist())

    def part(self, query: str, offset: int, limit: int, now_us: int, *, alarms_only: bool = False) -> dict[str, Any]:
        """Return a part of the ward list as the message ``ward``.

        Parameters
        ----------
        query
            Text that the stream ids contain, in any case of letters; empty: all.
        offset, limit
            The part.
        now_us
            The clock of the server, microseconds since 1970.
        alarms_only
            Only streams with an alert in force.
        """
        with self._lock:
            names = self._traces.directory.names
            if self._by_name is None:
                self._order.sort()  # almost sorted: the time of one pass
                self._by_name = np.array([slot for _, slot in self._order], np.int64)
            rank = self._rank[self._by_name]
            order = self._by_name[np.argsort(-rank, kind="stable")].tolist()
            wanted = query.casefold()
            listed = order[: int(np.count_nonzero(rank))] if alarms_only else order
            found = [slot for slot in listed if wanted in names[slot].casefold()] if wanted else listed
            offset = max(0, min(offset, len(found) - 1))
            self._hum.begin()
            return {
                "type": "ward",
                "now_us": now_us,
                "total": len(found),
                "streams": len(order),
                "offset": offset,
                "broker": "connected" if self.connected else "disconnected",
                "counts": self._alerts.counts(),
                "unanalysed": len(self._unanalysed(self._by_name, now_us)),
                "beds": [self._bed(slot, now_us) for slot in found[offset : offset + limit]],
            }

    def bed(self, stream: str, now_us: int) -> dict[str, Any] | None:
        """Return a bed as the protocol has it; None if there is no such stream."""
        with self._lock:
            slot = self._traces.numbers.get(stream)
            self._hum.begin()
            return None if slot is None else self._bed(slot, now_us)

    def alarmed(self) -> set[str]:
        """Return the streams that have alerts in force."""
        with self._lock:
            return set(self._alerts.of_stream)

    @property
    def in_force(self) -> dict[str, dict[str, Any]]:
        """Return the alerts in force, by id; one of which a message comes is another object from then on."""
        with self._lock:
            return dict(self._alerts.alerts)

    def alerts_of(self, stream: str) -> list[dict[str, Any]]:
        """Return the alerts in force of a stream as the protocol has them."""
        with self._lock:
            leads = self._traces.lead_names.get(self._traces.numbers.get(stream, -1), [])
            return self._alerts.in_force(stream, leads)

    def has_alert(self, alert: str, stream: str) -> bool:
        """Return True if the alert of that id is in force and that stream's."""
        with self._lock:
            found = self._alerts.alerts.get(alert)
            return found is not None and found["stream"] == stream

    def slots(self, streams: Iterable[str]) -> dict[str, int]:
        """Return the numbers of those streams that are known."""
        with self._lock:
            return {stream: self._traces.numbers[stream] for stream in streams if stream in self._traces.numbers}

    def samples_since(self, slot: int, epoch: int, first: int, leads: int) -> tuple[int, Block | None]:
        """Return new samples of a stream.

        Parameters
        ----------
        slot
            Number of the stream.
        epoch, first
            The epoch and the next sample of an earlier call; another epoch, for instance -1, gets all that is kept.
        leads
            Number of leads at most.

        Returns
        -------
        int, Block or None
            The present epoch, and the samples without flags; None if there are none.
        """
        with self._lock:
            traces = self._traces
            now = int(traces.ints["epoch"][slot])
            leads = min(leads, int(traces.ints["leads"][slot]))
            at, samples = traces.since(slot, first if epoch == now else 0, max(leads, 1))
            if not samples.shape[1]:
                return now, None
            return now, self._block(slot, at, samples)

    def beats_since(
        self, place: int, slots: Mapping[str, int], fresh: AbstractSet[str]
    ) -> tuple[int, dict[str, list[dict[str, Any]]]]:
        """Return new beats of streams.

        Parameters
        ----------
        place
            The place in the log of an earlier call.
        slots
            Numbers of the streams.
        fresh
            Those that no earlier call had: all their beats of the last ten minutes are returned.

        Returns
        -------
        int, dict
            The place after the newest beat, and by stream its beats, oldest first.
        """
        with self._lock:
            known = {slot: stream for stream, slot in slots.items() if stream not in fresh}
            found = {stream: [as_json(row) for row in self._beats.recent(slots[stream])] for stream in sorted(fresh)}
            rows = self._beats.since(place, known) if known and place < self._beats.total else ()
            for row in rows:
                found.setdefault(known[int(row["slot"])], []).append(as_json(row))
            return self._beats.total, found

    def _add_beats(self, decoded: list[dict[str, Any] | None]) -> None:
        beats = [beat for beat in decoded if beat is not None]
        self._alerts.malformed += len(decoded) - len(beats)
        self._list(self._traces.claim({beat["stream"] for beat in beats}))
        slots = [self._traces.numbers.get(beat["stream"], -1) for beat in beats]
        known = [k for k, slot in enumerate(slots) if slot >= 0]
        if known:
            self._beats.add([slots[k] for k in known], [beats[k] for k in known])
            self.unanalysed.add_beats([slots[k] for k in known])

    def _list(self, new: Iterable[int]) -> None:
        """Add new streams to the ward list."""
        self._rank = np.append(self._rank, np.zeros(len(self._traces.rate_hz) - len(self._rank), np.int64))
        for slot in new:
            stream = self._traces.directory.names[slot]
            self._order.append((natural(stream), slot))
            self._by_name = None
            self._rank[slot] = self._alerts.rank(stream)

    def _forget(self, slots: list[int]) -> None:
        """Remove streams from the ward list."""
        if slots:
            self._beats.forget(slots)
            self._traces.forget(np.array(slots, np.int64))
            self._order = [entry for entry in self._order if entry[1] not in slots]
            self._by_name = None

    def _block(self, slot: int, first: int, samples: I16) -> Block:
        traces = self._traces
        return Block(
            slot, 0, float(traces.rate_hz[slot]), first, traces.time_us(slot, first), float(traces.uv_per_unit[slot]),
            samples,
        )  # fmt: skip

    def _unanalysed(self, slots: I64, now_us: int) -> list[int]:
        """Return those of the slots whose samples come, and neither a beat nor an alert that says why."""
        arrived_us = self._traces.ints["arrived_us"]
        silent = self.unanalysed.among(slots[abs(now_us - arrived_us[slots]) <= STALE_US], arrived_us).tolist()
        names = self._traces.directory.names
        return [slot for slot in silent if not any(map(explains, self._alerts.in_force(names[slot])))]

    def _bed(self, slot: int, now_us: int) -> dict[str, Any]:
        traces = self._traces
        stream, stop = traces.directory.names[slot], int(traces.ints["stop"][slot])
        arrived_us = int(traces.ints["arrived_us"][slot]) if stop >= 0 else None
        is_stale = arrived_us is None or abs(now_us - arrived_us) > STALE_US  # later: the clock was set back since
        off = bool(traces.ints["lead_off"][slot] & 1) and stop >= 0
        last_us = traces.time_us(slot, stop - 1) if stop > 0 else None
        last = self._beats.last.get(slot)
        alerts = self._alerts.in_force(stream, traces.lead_names.get(slot, []))
        is_unanalysed = len(self._unanalysed(np.array([slot]), now_us)) > 0
        unjudged = any(alert["prevents"] and alert["state"] != "latched" for alert in alerts)
        recent = last is not None and last_us is not None and abs(last_us - last.time_us) < NO_RATE_US
        shown = last if recent and not is_stale and not unjudged else None
        return {
            "stream": stream,
            "number": slot,
            "rate_hz": float(traces.rate_hz[slot]) or None,
            "leads": traces.lead_names.get(slot, []),
            "uv_per_unit": float(traces.uv_per_unit[slot]),
            "bpm": shown.bpm if shown else None,
            "quality": shown.quality if shown else None,
            "score": last.beats[-1]["score"] if last else None,
            "beats": list(last.beats) if last else [],
            "hum": [] if is_stale else self._hum.of(traces, slot),
            "state": "stale" if is_stale else "not analysed" if is_unanalysed else "lead off" if off else "live",
            "last_us": last_us,
            "arrived_us": arrived_us,
            "alerts": alerts,
        }
