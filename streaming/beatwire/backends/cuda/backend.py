"""The CUDA backend: records the kernel calls of a tick, copies their arguments in one piece, and launches all together.

In:    kernel calls with arrays of the host and of the device
Out:   the rows of tables, as NumPy arrays
State: buffers, launch lists, and the host's memory of two ticks (``transfers``)

Each call is appended to a launch list: those of ``kernels`` (the passes through the rings) to the immediate one, those
of ``later`` to the deferred one. Host arrays among the arguments get a place in a pinned *staging* buffer, numbers of
items a cell before it; results stay in *buffers* that are kept from tick to tick. ``finish`` copies what has not been
copied and launches both lists; the last launch copies the rows of tables to the host. ``fetch`` also waits, once. While
nobody has waited for a tick, the next one uses other memory of the host.

Sizes are rounded up to one of eight an octave. Ticks of about the same size therefore have the same launch list, to the
last address, which the card may replay as a CUDA graph; after some ticks nothing is allocated.

The number of rows that ``positions`` counts exists on the device only: a `Total` is its cell there.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, SupportsIndex

import numpy as np

from beatwire.backends.base import Memory, Table
from beatwire.backends.cuda.buffers import Buffers
from beatwire.backends.cuda.compaction import Compaction
from beatwire.backends.cuda.launch_list import Launch, LaunchLists, RecordedKernels, Total, rounded
from beatwire.backends.cuda.protocols import Card
from beatwire.backends.cuda.staging import CELLS
from beatwire.backends.cuda.transfers import FetchedTable, Transfers
from beatwire.backends.network import Network
from beatwire.errors import LostCardError
from beatwire.jit.cuda import launchers
from beatwire.jit.cuda.scan import SCANNED
from beatwire.kernels.table import Kernels


class CudaBackend:
    """A backend that runs on a card; ``copies`` counts the copies between host and device."""

    name = "gpu"
    block, long_block = launchers.BLOCK, launchers.LONG_BLOCK
    in_order = False

    def __init__(self, card: Card, reason: str) -> None:
        self.card, self.reason = card, reason
        self.xp = card.xp
        self._immediate: list[Launch] = []
        self._deferred: list[Launch] = []
        self.kernels: Kernels = RecordedKernels(partial(self._append, self._immediate))
        self.later: Kernels = RecordedKernels(partial(self._append, self._deferred))
        self._pass = 0
        self._launch_lists = LaunchLists(card)
        self._transfers, self._other_transfers = Transfers.of(card), Transfers.of(card)
        self._buffers = Buffers(card.empty, card.constant)
        self._compaction = Compaction(card.address, self.buffer)
        self._networks: dict[int, tuple[Network, int]] = {}
        self._cells = card.empty((CELLS,), np.int64)
        self._cells_used = 0
        self.copies = 0
        self.begin()

    @property
    def memory(self) -> Memory:
        """The use of the memory pool."""
        return self.card.memory

    @property
    def limit_bytes(self) -> int:
        """The limit of the memory pool."""
        return self.card.limit_bytes

    def begin(self) -> None:
        """Begin a tick; drop the launches of one that has not been finished.

        Raises
        ------
        ValueError
            Two ticks are finished and nobody has waited for either.
        """
        self._immediate.clear()
        self._deferred.clear()
        self._compaction.begin()
        self._pass = self._cells_used = 0
        if self._transfers.pending:
            self._transfers, self._other_transfers = self._other_transfers, self._transfers
        if self._transfers.pending:
            raise ValueError("gpu: expected at most one tick that nobody has waited for; got two")
        self._transfers.begin()

    def rehearsals(self) -> Iterator[None]:
        """Yield with the kernels for a few items (a block each), then with those for some, then for many."""
        yield
        try:
            self._launch_lists.block_items = 0
            yield
            self._launch_lists.many_items = 0
            yield
        finally:
            self._launch_lists.block_items, self._launch_lists.many_items = None, launchers.MANY_ITEMS

    def next_pass(self) -> None:
        """Begin a pass."""
        self._pass += 1
        self._compaction.begin()

    def start(self) -> None:
        """Launch what has been recorded."""
        self._launch([])

    def grown(self, old: Any | None, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return zeros of ``shape`` with ``old`` at their beginning, after the kernels that have been recorded."""
        if old is not None and (self._immediate or self._deferred):
            self._launch([])
            self.card.wait()
        new = self.card.empty(shape, dtype)
        new[...] = 0
        if old is not None:
            new[: len(old)] = old
        return new

    def constant(self, host: Any) -> Any:
        """Return a copy of a host array on the device."""
        return self.card.constant(host)

    def buffer(self, key: Hashable, shape: tuple[SupportsIndex, ...], dtype: Any) -> Any:
        """Return an array of at least ``shape``: the same one in each tick, another one in each pass."""
        return self._buffers.array((key, self._pass), tuple(n.__index__() for n in shape), dtype)

    def release_buffers(self) -> None:
        """Drop all buffers and tables."""
        self._buffers.clear()

    def table(self, key: Hashable, total: SupportsIndex, dtypes: Sequence[Any]) -> Table:
        """Return columns: the same ones in each tick, others in each pass."""
        name = ("table", key, self._pass)
        return Table(name, total, self._buffers.columns(name, total.__index__(), dtypes).columns)

    def positions(self, key: str, n: SupportsIndex, count: Any, most: int) -> tuple[Any, SupportsIndex]:
        """Return the sums of ``count`` before each row, and the sum of all, whose cell only the device has."""
        rows = n.__index__()
        first = self.buffer(f"first of {key}", (rows + 1,), np.int64)
        if rows == 0:
            return first, 0
        cell, self._cells_used = self._cells_used, self._cells_used + 1
        sums = self.buffer(f"sums of {key}", (rounded(rows) // SCANNED + 1,), np.int64)
        sizes, size = self._cell_of(n)
        self._immediate.append(Launch("sum_rows", n, sizes, size, (count, sums)))
        self._immediate.append(Launch("place_rows", n, sizes, size, (count, sums, first, self._cells, cell)))
        return first, Total(cell, most)

    def numbers(self, total: SupportsIndex) -> Any:
        """Return 0, 1, 2, ..."""
        return self._buffers.numbers(total.__index__())

    def embed(
        self, network: Network, windows: Any, scale: Any, total: SupportsIndex, latents: Any, reconstruction_error: Any
    ) -> bool:
        """Append a run of the network to the deferred launches."""
        if not total.__index__():
            return True
        if id(network) not in self._networks:
            self._networks[id(network)] = network, self.card.load_network(network)
        sizes, cell = self._cell_of(total)
        arguments = (self._networks[id(network)][1], windows, scale, latents, reconstruction_error)
        self._deferred.append(Launch("embed", total, sizes, cell, arguments))
        if network.scorer is not None:  # after the launches so far, and before those that follow
            self._launch([])
            n, count = total.__index__(), sizes[cell : cell + 1]
            self.card.score(network.scorer, windows[:n], scale[:n], reconstruction_error[:n], count)
        return True

    def _cell_of(self, n: SupportsIndex) -> tuple[Any, int]:
        """Return the array of the device that has a number of items, and its index there."""
        if isinstance(n, Total):
            return self._cells, n.cell
        return self._transfers.staging.sizes, self._transfers.staging.stage_number(n.__index__())

    def _append(self, launches: list[Launch], name: str, n: SupportsIndex, *arguments: Any) -> None:
        """Append a kernel call to a launch list."""
        most = n.__index__()
        if most == 0:
            return
        sizes, cell = self._cell_of(n)
        plan = launchers.PLANS[name]
        stage = self._transfers.staging.stage
        staged = [
            stage(a) if type(a) is np.ndarray and not plan.first <= k < plan.stop else a
            for k, a in enumerate(arguments)
        ]
        grouped = [tuple(staged[: plan.first])]
        if plan.stop > plan.first:
            grouped += [*self._scratch(name, most, staged[plan.first : plan.stop]), tuple(staged[plan.stop :])]
        order = 0
        if plan.busy is not None and self._launch_lists.fill_the_card(most):
            order = self._compaction.busy_first(launches, staged[plan.busy], plan.summed, most, self._cell_of(n))
        launches.append(Launch(name, n, sizes, cell, tuple(grouped), order))

    def fetch(self, tables: Sequence[Table]) -> list[tuple[Any, ...]]:
        """Launch what has been recorded, wait for it, and return the columns of tables.

        Raises
        ------
        LostCardError
            The device failed: the tick, and all arrays on the device, are lost.
        """
        columns = self.finish(tables)()
        self.begin()
        return columns

    def finish(self, tables: Sequence[Table]) -> Callable[[], list[tuple[Any, ...]]]:
        """Launch what has been recorded; return a function that waits for it and returns the columns of tables.

        Raises
        ------
        LostCardError
            The device failed: the tick, and all arrays on the device, are lost. The function raises it as well.
        """
        transfers, used, event = self._transfers, self._cells_used, None
        fetched = [FetchedTable(table.total, self._buffers.existing_columns(table.key)) for table in tables]
        if self._immediate or self._deferred or used:
            transfers.add_segments(fetched, self._cells, used)
            with self._failures():
                self._launch([transfers.copy_launch()])
                event = self.card.record_event()
            transfers.pending = True
            self.copies += transfers.staging.copies + 1

        def columns() -> list[tuple[Any, ...]]:
            if event is not None:
                with self._failures():
                    self.card.wait(event)
            transfers.pending = False
            return transfers.columns(fetched, used)

        return columns

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Raise an error of the device as LostCardError."""
        try:
            yield
        except Exception as error:
            failure = self.card.failure(error)
            if failure is None:
                raise
            raise LostCardError(f"gpu: the card failed: {failure}") from error

    def _launch(self, last: list[Launch]) -> None:
        """Launch what has been recorded, and ``last`` after it."""
        launches = [*self._immediate, *self._deferred, *last]
        number = self._launch_lists.number_of(launches)  # before the copies: the host computes while the device waits
        self._transfers.staging.copy_rest()
        self._launch_lists.run(launches, number)
        self._immediate.clear()
        self._deferred.clear()

    def _scratch(self, name: str, n: int, examples: Sequence[Any]) -> list[Any]:
        """Return scratch for each team, in the shape of host arrays; only the shape where shared memory has room."""
        width = self._launch_lists.width(name, n)
        if (shape := launchers.shared_shape(width, examples)) is not None:
            return shape
        blocks = self._launch_lists.blocks(name, n) * self._launch_lists.parts(name, n)
        return self._buffers.scratch(name, launchers.teams(blocks, width), examples)
