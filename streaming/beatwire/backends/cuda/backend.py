"""A GPU as a backend: what stages call is written down, uploaded with its arguments in one piece, and run at ``fetch``.

In a tick every kernel call becomes a line of a *tape*: the passes' way through the rings first, then what is called
``later``. Host arrays among the arguments get a place in a pinned *staging* buffer, numbers of items one in its
header; results stay in *rooms* that are kept from tick to tick. ``finish`` sends what has not gone up yet and runs the
tape on the device's stream, whose last line brings the rows of tables to the host; ``fetch`` also waits, once. A tick
that nobody has waited for keeps its *side*, the host's part of it, and the next one gets the other.

Sizes are rounded up to one of eight steps an octave, so ticks of about the same size have the same tape to the last
address: the `Card` may keep it as a graph. After some ticks nothing is allocated.

How many rows ``positions`` counted is known on the device only: a `Total` is the cell where it stands there.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol, SupportsIndex

import numpy as np

from beatwire.backends.base import Memory, Table
from beatwire.backends.cuda.buffers import Buffers
from beatwire.backends.cuda.compaction import Compaction
from beatwire.backends.cuda.launch_list import Calls, Launches, LaunchLists, Line, Total, rounded
from beatwire.backends.cuda.staging import CELLS, Memories
from beatwire.backends.cuda.transfers import Brought, Transfers
from beatwire.backends.network import Network
from beatwire.errors import LostCardError
from beatwire.jit.cuda import launchers
from beatwire.jit.cuda.scan import SCANNED
from beatwire.kernels.table import Kernels


class Card(Launches, Memories, Protocol):
    """What a device can do. Arrays of it behave like NumPy's and are not ``np.ndarray`` themselves.

    xp       their library
    limit_bytes   what its pool may give
    """

    xp: Any
    limit_bytes: int

    def constant(self, host: Any) -> Any:
        """Return a copy of a host array on the device."""

    def network(self, weights: Network) -> int:
        """Return a number for a network."""

    def reached(self) -> Any:
        """Return a mark behind everything that was asked for."""

    def wait(self, mark: Any = None) -> None:
        """Wait until everything is done, or what is before a mark."""

    def failure(self, error: Exception) -> str | None:
        """Return what happened to the device, one line; None when the error says nothing of it."""

    @property
    def memory(self) -> Memory:
        """What the pool has given."""


class Device:
    """A backend that runs on a card."""

    name = "gpu"
    block, long_block = launchers.BLOCK, launchers.LONG_BLOCK
    in_order = False

    def __init__(self, card: Card, reason: str) -> None:
        self.card, self.reason = card, reason
        self.xp = card.xp
        self._first: list[Line] = []
        self._second: list[Line] = []
        self.kernels: Kernels = Calls(partial(self.call, self._first))
        self.later: Kernels = Calls(partial(self.call, self._second))
        self._ordinal = 0
        self._launch_lists = LaunchLists(card)
        self._side, self._other = Transfers.of(card), Transfers.of(card)
        self._buffers = Buffers(card.empty, card.constant)
        self._compaction = Compaction(card.address, self.buffer)
        self._networks: dict[int, tuple[Network, int]] = {}
        self._cells = card.empty((CELLS,), np.int64)
        self._cells_used = 0
        self.transfers = 0
        self.begin()

    @property
    def memory(self) -> Memory:
        """What the card's pool has given."""
        return self.card.memory

    @property
    def limit_bytes(self) -> int:
        """What the card's pool may give."""
        return self.card.limit_bytes

    def begin(self) -> None:
        """Begin a tick: forget what an unfinished one left.

        Raises
        ------
        ValueError
            Two ticks are finished and nobody has waited for either.
        """
        self._first.clear()
        self._second.clear()
        self._compaction.begin()
        self._ordinal = self._cells_used = 0
        if self._side.awaited:
            self._side, self._other = self._other, self._side
        if self._side.awaited:
            raise ValueError("gpu: expected at most one tick that nobody has waited for; got two")
        self._side.begin()

    def rehearsals(self) -> Iterator[None]:
        """Yield for few streams, then for kernels as they are for some and for many."""
        yield
        try:
            self._launch_lists.few = 0
            yield
            self._launch_lists.many = 0
            yield
        finally:
            self._launch_lists.few, self._launch_lists.many = None, launchers.MANY

    def next_pass(self) -> None:
        """Begin a pass."""
        self._ordinal += 1
        self._compaction.begin()

    def start(self) -> None:
        """Run what was called so far."""
        self._run([])

    def grown(self, old: Any | None, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return zeros of ``shape`` with ``old`` at their beginning: as what was called so far leaves it."""
        if old is not None and (self._first or self._second):
            self._run([])
            self.card.wait()
        new = self.card.empty(shape, dtype)
        new[...] = 0
        if old is not None:
            new[: len(old)] = old
        return new

    def constant(self, host: Any) -> Any:
        """Return a copy on the device."""
        return self.card.constant(host)

    def buffer(self, key: Hashable, shape: tuple[SupportsIndex, ...], dtype: Any) -> Any:
        """Return an array of at least ``shape``, the same one in every tick."""
        return self._buffers.room((key, self._ordinal), tuple(n.__index__() for n in shape), dtype)

    def release_buffers(self) -> None:
        """Forget all rooms."""
        self._buffers.clear()

    def table(self, key: Hashable, total: SupportsIndex, dtypes: Sequence[Any]) -> Table:
        """Return columns, the same ones in every tick."""
        name = ("table", key, self._ordinal)
        return Table(name, total, self._buffers.columns(name, total.__index__(), dtypes).columns)

    def positions(self, key: str, n: SupportsIndex, count: Any, most: int) -> tuple[Any, SupportsIndex]:
        """Return the sums of ``count`` before each row, and the cell of their sum."""
        rows = n.__index__()
        first = self.buffer(f"first of {key}", (rows + 1,), np.int64)
        if rows == 0:
            return first, 0
        cell, self._cells_used = self._cells_used, self._cells_used + 1
        sums = self.buffer(f"sums of {key}", (rounded(rows) // SCANNED + 1,), np.int64)
        sizes, size = self._counted(n)
        self._first.append(Line("sum_rows", n, sizes, size, (count, sums)))
        self._first.append(Line("place_rows", n, sizes, size, (count, sums, first, self._cells, cell)))
        return first, Total(cell, most)

    def numbers(self, total: SupportsIndex) -> Any:
        """Return 0, 1, 2, ..."""
        return self._buffers.numbers(total.__index__())

    def embed(
        self, network: Network, windows: Any, scale: Any, total: SupportsIndex, latents: Any, reconstruction_error: Any
    ) -> None:
        """Write a run of the network down."""
        if not total.__index__():
            return
        if id(network) not in self._networks:
            self._networks[id(network)] = network, self.card.network(network)
        sizes, cell = self._counted(total)
        given = (self._networks[id(network)][1], windows, scale, latents, reconstruction_error)
        self._second.append(Line("embed", total, sizes, cell, given))

    def _counted(self, n: SupportsIndex) -> tuple[Any, int]:
        """Return where a number of items stands on the device: an array, and its cell."""
        if isinstance(n, Total):
            return self._cells, n.cell
        return self._side.staging.sizes, self._side.staging.number(n.__index__())

    def call(self, tape: list[Line], name: str, n: SupportsIndex, *arguments: Any) -> None:
        """Write a kernel call down."""
        most = n.__index__()
        if most == 0:
            return
        sizes, cell = self._counted(n)
        plan = launchers.PLANS[name]
        put = self._side.staging.put
        given = [
            put(a) if type(a) is np.ndarray and not plan.first <= k < plan.stop else a for k, a in enumerate(arguments)
        ]
        together = [tuple(given[: plan.first])]
        if plan.stop > plan.first:
            together += [*self._scratch(name, most, given[plan.first : plan.stop]), tuple(given[plan.stop :])]
        order = 0
        if plan.busy is not None and self._launch_lists.are_many(most):
            order = self._compaction.busy_first(tape, given[plan.busy], plan.summed, most, self._counted(n))
        tape.append(Line(name, n, sizes, cell, tuple(together), order))

    def fetch(self, tables: Sequence[Table]) -> list[tuple[Any, ...]]:
        """Run the tapes, and return the columns of tables.

        Raises
        ------
        LostCardError
            The device failed: the tick is lost with all that is on it.
        """
        columns = self.finish(tables)()
        self.begin()
        return columns

    def finish(self, tables: Sequence[Table]) -> Callable[[], list[tuple[Any, ...]]]:
        """Run the tapes, and return what waits for them and returns the columns of tables.

        Raises
        ------
        LostCardError
            The device failed: the tick is lost with all that is on it. Waiting raises it as well.
        """
        side, counted, mark = self._side, self._cells_used, None
        brought = [Brought(table.total, self._buffers.known(table.key)) for table in tables]
        if self._first or self._second or counted:
            side.bring(brought, self._cells, counted)
            with self._guarded():
                self._run([side.line()])
                mark = self.card.reached()
            side.awaited = True
            self.transfers += side.staging.sent + 1

        def came() -> list[tuple[Any, ...]]:
            if mark is not None:
                with self._guarded():
                    self.card.wait(mark)
            side.awaited = False
            return side.columns(brought, counted)

        return came

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Tell an error of the device from others."""
        try:
            yield
        except Exception as error:
            what = self.card.failure(error)
            if what is None:
                raise
            raise LostCardError(f"gpu: the card failed: {what}") from error

    def _run(self, last: list[Line]) -> None:
        """Run what was called, and ``last`` after it."""
        tape = [*self._first, *self._second, *last]
        sameness = self._launch_lists.sameness(tape)  # before the device waits for it
        self._side.staging.send()
        self._launch_lists.run(tape, sameness)
        self._first.clear()
        self._second.clear()

    def _scratch(self, name: str, n: int, likes: Sequence[Any]) -> list[Any]:
        """Return scratch like arrays of the host for each team: their shape where they fit into shared memory."""
        width = self._launch_lists.width(name, n)
        if (inside := launchers.shared_shape(width, likes)) is not None:
            return inside
        blocks = self._launch_lists.blocks(name, n) * self._launch_lists.parts(name, n)
        return self._buffers.scratch(name, launchers.teams(blocks, width), likes)
