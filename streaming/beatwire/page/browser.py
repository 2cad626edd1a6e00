"""One browser: what it looks at, how far it has received, and the loop that sends it the rest.

In: messages of the protocol from the browser, read from a ``Ward``. Out: messages of the protocol. State: the part of
the ward and the streams that it looks at, a cursor into the samples of each, the numbers of the messages sent and seen.

Each browser reads the rings with cursors of its own. One that does not keep up gets no samples until it has caught up,
then those that are still in the rings, and the number that it lost. It delays neither the reader nor other browsers.
What staff enter waits for the broker in a task of its own: samples and the ward do not wait for it.
"""

import asyncio
import contextlib
import json
import time
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from beatwire.errors import FatalError, UserError
from beatwire.page import protocol
from beatwire.page.desk import Desk
from beatwire.page.protocol import Block
from beatwire.page.ward import Ward
from beatwire.wire.staff import STREAM_ID, is_stream_id

FLUSH_S = 0.125
WARD_S = 1.0
FASTEST_WARD_S = 0.2  # between two ward messages when alerts change
MOST_UNSEEN = 16  # messages: two seconds of flushes
SEND_S = 20.0  # a browser that takes nothing for so long is disconnected
MOST_TEXT = 16_384  # characters of a message
MOST_ENTERED = 32  # messages of staff that wait for the one in work


class Cursor:
    """A watched stream: ``slot``, the epoch and the next sample of what was sent; -1: nothing yet."""

    __slots__ = ("epoch", "next", "slot")

    def __init__(self, slot: int) -> None:
        self.slot, self.epoch, self.next = slot, -1, 0


class Browser:
    """A connection.

    Parameters
    ----------
    socket
        Accepted.
    ward
        What is shown.
    desk
        Publishes what staff enter; None: this page may not.
    """

    def __init__(self, socket: WebSocket, ward: Ward, desk: Desk | None) -> None:
        self._socket, self._ward, self._desk = socket, ward, desk
        self._query, self._offset, self._limit = "", 0, protocol.MOST_WATCHED
        self._alarms_only = False
        self._wanted: tuple[str, ...] = ()
        self._leads, self._wants_beats = 1, True
        self._cursors: dict[str, Cursor] = {}
        self._place = 0  # in the log of beats
        self._number = self._seen = self._dropped = 0
        self._changed: set[str] = set()
        self._ward_due = True
        self._wake = asyncio.Event()
        self._sending = asyncio.Lock()
        self._entered = asyncio.Queue[dict[str, Any]](MOST_ENTERED)

    async def run(self) -> None:
        """Receive and send until the browser leaves."""
        loop = asyncio.get_running_loop()

        def on_alerts(streams: set[str]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._alerts_changed, streams)

        self._ward.listeners.append(on_alerts)
        self._changed |= self._ward.alarmed()
        tasks = [asyncio.create_task(work()) for work in (self._send_all, self._receive_all, self._answer_all)]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except (WebSocketDisconnect, TimeoutError, RuntimeError):  # the browser has left, or takes nothing
            pass
        finally:
            self._ward.listeners.remove(on_alerts)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _alerts_changed(self, streams: set[str]) -> None:
        self._changed |= streams
        self._ward_due = True
        self._wake.set()

    async def _receive_all(self) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            try:
                self._handle(message.get("text"))
            except ValueError as error:
                await self._send({"type": "error", "text": str(error)})

    async def _answer_all(self) -> None:
        """Publish what staff enter, one after the other, and answer it."""
        while True:
            message = await self._entered.get()
            try:
                await (self._acknowledge(message) if message["type"] == "ack" else self._limits(message))
            except ValueError as error:
                await self._send({"type": "error", "text": str(error)})

    def _handle(self, text: str | None) -> None:
        """Apply a message of the browser.

        Raises
        ------
        ValueError
            The message is not one of the protocol; one line says why.
        """
        if text is None or len(text) > MOST_TEXT:
            raise ValueError(f"expected a JSON message of at most {MOST_TEXT} characters")
        try:
            message = json.loads(text)
        except (ValueError, RecursionError):
            raise ValueError("expected a JSON message") from None
        kind = message.get("type") if isinstance(message, dict) else None
        if kind == "ward":
            self._query = protocol.text_of(message, "query", 0, 64)
            self._offset = protocol.count_of(message, "offset", 1 << 31)
            self._limit = protocol.count_of(message, "limit", protocol.MOST_BEDS)
            self._alarms_only = protocol.flag_of(message, "alarms_only", default=False)
            self._ward_due = True
        elif kind == "watch":
            self._watch(message)
        elif kind == "seen":
            self._seen = max(self._seen, protocol.count_of(message, "number", self._number))
        elif kind in ("ack", "limits", "set limits"):
            if self._entered.full():
                raise ValueError(
                    f"{kind}: expected at most {MOST_ENTERED} messages to wait for Kafka; this one is lost"
                )
            self._entered.put_nowait(message)
        else:
            raise ValueError("expected a message of type ward, watch, ack, limits, set limits or seen")
        self._wake.set()

    def _watch(self, message: dict[str, Any]) -> None:
        streams, leads = message.get("streams"), message.get("leads", "first")
        most = 1 if leads == "all" else protocol.MOST_WATCHED
        beats = protocol.flag_of(message, "beats", default=True)
        if leads not in ("first", "all"):
            raise ValueError("watch: expected leads 'first' or 'all'")
        if not isinstance(streams, list) or len(streams) > most or not all(map(is_stream_id, streams)):
            raise ValueError(f"watch: expected at most {most} stream ids with leads {leads!r}")
        count = 12 if leads == "all" else 1
        if count != self._leads or (beats and not self._wants_beats):
            self._cursors.clear()
        self._leads, self._wants_beats, self._wanted = count, beats, tuple(dict.fromkeys(streams))
        self._cursors = {stream: cursor for stream, cursor in self._cursors.items() if stream in self._wanted}
        self._ward_due = self._ward_due or count > 1

    async def _acknowledge(self, message: dict[str, Any]) -> None:
        alert, stream = protocol.text_of(message, "alert", 1, 64), protocol.text_of(message, "stream", 1, 64)
        by, desk = protocol.by_of(message), self._staffed("ack")
        if not self._ward.has_alert(alert, stream):
            raise ValueError("ack: expected an alert that is in force; it has ended or is of another stream")
        try:
            ack = await asyncio.to_thread(desk.acknowledge, alert, stream, by)
        except FatalError as error:
            raise ValueError(f"ack: not published: {error}") from None
        await self._send({"type": "ack", "alert": alert, "by": ack["by"], "at_us": ack["at_us"]})

    async def _limits(self, message: dict[str, Any]) -> None:
        """Send the limits of a stream, after a change if there is one."""
        kind, desk = message["type"], self._staffed("limits")
        stream = message.get("stream")
        if not isinstance(stream, str) or not is_stream_id(stream):
            raise ValueError(f"{kind}: expected stream: {STREAM_ID}")
        replaced = None
        try:
            if kind == "limits":
                rows = await asyncio.to_thread(desk.limits, stream)
            else:
                rows, replaced = await asyncio.to_thread(
                    desk.change, stream, protocol.limits_of(message), protocol.by_of(message)
                )
            warning = await asyncio.to_thread(desk.warning)
        except (FatalError, UserError) as error:  # of limits, or of Kafka
            text = str(error)
            raise ValueError(text if text.startswith("limits") else f"{kind}: {text}") from None
        await self._send(
            {"type": "limits", "stream": stream, "limits": rows, "saved": kind == "set limits", "warning": warning,
             "replaced": None if replaced is None else {"by": replaced["by"], "limits": replaced["limits"]}}
        )  # fmt: skip

    def _staffed(self, kind: str) -> Desk:
        if self._desk is None:
            raise ValueError(f"{kind}: this page is read-only")
        return self._desk

    async def _send_all(self) -> None:
        """Send what is due, until the browser leaves."""
        next_s, ward_s = time.monotonic(), float("-inf")
        while True:
            now_s = time.monotonic()
            if self._changed:
                changed, self._changed = self._changed, set()
                for stream in sorted(changed):
                    alerts = self._ward.alerts_of(stream)
                    await self._send({"type": "alerts", "stream": stream, "alerts": alerts})
            if now_s - ward_s >= WARD_S or (self._ward_due and now_s - ward_s >= FASTEST_WARD_S):
                ward_s, self._ward_due = now_s, False
                await self._send_ward()
            if now_s >= next_s or self._has_new():
                next_s = max(next_s + FLUSH_S, now_s)
                await self._flush()
            self._wake.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), max(0.0, next_s - time.monotonic()))

    async def _send_ward(self) -> None:
        now_us = time.time_ns() // 1000
        await self._send(self._ward.part(self._query, self._offset, self._limit, now_us, alarms_only=self._alarms_only))
        if self._leads > 1:
            for stream in self._wanted:
                bed = self._ward.bed(stream, now_us)
                await self._send({"type": "bed", "now_us": now_us, "stream": stream, "bed": bed})

    def _has_new(self) -> bool:
        return any(stream not in self._cursors for stream in self._wanted)

    async def _flush(self) -> None:
        """Send new beats and samples of the watched streams."""
        slots = self._ward.slots(self._wanted)
        fresh = {
            stream
            for stream, slot in slots.items()
            if stream not in self._cursors or self._cursors[stream].slot != slot
        }
        self._cursors |= {stream: Cursor(slots[stream]) for stream in fresh}
        listed = (slots, fresh) if self._wants_beats else ({}, frozenset[str]())
        self._place, beats = self._ward.beats_since(self._place, *listed)
        for stream, new in beats.items():
            await self._send({"type": "beats", "stream": stream, "beats": new})
        if self._number - self._seen >= MOST_UNSEEN:
            return  # the cursors stay where they are
        dropped_before = self._dropped
        blocks = [block for stream in slots if (block := self._next_block(self._cursors[stream])) is not None]
        if self._dropped > dropped_before:
            await self._send({"type": "lag", "dropped": self._dropped - dropped_before})
        if blocks:
            self._number += 1
            await self._send(protocol.encode_samples(self._number, blocks))

    def _next_block(self, cursor: Cursor) -> Block | None:
        epoch, block = self._ward.samples_since(cursor.slot, cursor.epoch, cursor.next, self._leads)
        if block is None:
            return None
        flags, is_first = 0, cursor.epoch == -1
        if epoch != cursor.epoch:
            flags = 0 if is_first else protocol.NEW_SESSION
        elif block.first != cursor.next:
            flags = protocol.GAP
            self._dropped += block.first - cursor.next
        cursor.epoch, cursor.next = epoch, block.first + block.samples.shape[1]
        return block._replace(flags=flags)

    async def _send(self, message: dict[str, Any] | bytes) -> None:
        async with asyncio.timeout(SEND_S), self._sending:
            if isinstance(message, bytes):
                await self._socket.send_bytes(message)
            else:
                await self._socket.send_text(json.dumps(message, allow_nan=False))
