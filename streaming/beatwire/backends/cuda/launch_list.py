"""Launch lists: the kernel calls of a tick, recorded, compared with those of other ticks, and launched together.

In:    launches: a kernel, its number of items and its arguments, which are arrays of a device and numbers
Out:   launches on a card
State: the numbers of the launch lists that have been run

Lists of the same kernels on the same addresses have the same number; a card may replay such a list as a CUDA graph.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, SupportsIndex

from beatwire.backends.cuda.protocols import LaunchCard
from beatwire.jit.arguments import flattened
from beatwire.jit.cuda import launchers
from beatwire.jit.cuda.scan import SCANNED, SCANS
from beatwire.kernels.table import Kernel, Kernels

MOST_PARTS = 16  # largest number of teams that share an item
MOST_LISTS = 4096  # launch lists that keep their number: ticks of all sizes would have too many


class Total(NamedTuple):
    """A number of items that only the device has: its cell there, and its upper limit, which is its ``int()``."""

    cell: int
    most: int

    def __index__(self) -> int:
        return self.most


def rounded(n: int) -> int:
    """Return ``n`` rounded up to one of eight sizes an octave, at least 16.

    >>> [rounded(n) for n in (0, 17, 100, 1000, 100_000)]
    [16, 18, 104, 1024, 106496]
    """
    step = 1 << max(n.bit_length() - 4, 0)
    return max(16, -(-n // step) * step)


@dataclass(slots=True)
class Launch:
    """A kernel call: at most ``n`` items; ``sizes[cell]`` on the device is their number.

    The name ``copy_to_host`` stands for a copy of segments, ``embed`` for a network, whose number is the first
    argument. ``order`` is an array of the items in the order in which they are run; 0: in their own order.
    """

    name: str
    n: SupportsIndex
    sizes: Any
    cell: int
    arguments: tuple[Any, ...]
    order: Any = 0


@dataclass(slots=True)
class LaunchLists:
    """Numbers launch lists and launches them on a card.

    many_items    number of items from which on a kernel has its narrow teams
    block_items   largest number of items that have a block each; None: the blocks of the card
    """

    card: LaunchCard
    many_items: int = launchers.MANY_ITEMS
    block_items: int | None = None
    _numbers: dict[Hashable, int] = field(default_factory=dict)
    _next_number: itertools.count[int] = field(default_factory=itertools.count)

    def number_of(self, launches: list[Launch]) -> int:
        """Return the number of a launch list; equal for the same kernels on the same addresses and numbers."""
        key: list[Hashable] = []
        for launch in launches:
            key += (launch.name, launch.cell, self.card.address(launch.sizes))
            for argument in (launch.order, *launch.arguments):
                for one in argument if isinstance(argument, tuple) else (argument,):
                    key += (one,) if isinstance(one, int | float) else (self.card.address(one), one.shape)
        if len(self._numbers) > MOST_LISTS:
            self._numbers.clear()
        return self._numbers.setdefault(tuple(key), next(self._next_number))

    def run(self, launches: list[Launch], number: int) -> None:
        """Launch a list; ``number`` is that of ``number_of``."""
        items = [launch.n.__index__() for launch in launches]
        self.card.run((number, *map(rounded, items)), lambda: self._launch_all(launches, items))

    def _launch_all(self, launches: list[Launch], items: list[int]) -> None:
        for launch, n in zip(launches, items, strict=True):
            if launch.name == "copy_to_host":
                self.card.copy_to_host(launch.arguments[0])
            elif launch.name == "embed":
                self.card.embed(launch.arguments[0], n, launch.sizes, launch.cell, *launch.arguments[1:])
            elif launch.name in SCANS:
                kernel, arguments = SCANS[launch.name], (launch.sizes, launch.cell, *launch.arguments)
                self.card.launch(launch.name, kernel, ((self.blocks(launch.name, n), 1), SCANNED, 0), arguments)
            else:
                self._launch(launch, n)

    def _launch(self, launch: Launch, n: int) -> None:
        """Launch the kernel of a body."""
        width, shared_bytes = self.width(launch.name, n), 0
        if len(launch.arguments) > 1 and isinstance(launch.arguments[1], int):
            shared_bytes = launchers.shared_bytes(width, launch.arguments[1:-1])
        ordered = not isinstance(launch.order, int)
        kernel = launchers.launcher(launch.name, width, shared_bytes > 0, ordered)
        blocks = self.blocks(launch.name, n), self.parts(launch.name, n)
        arguments = (launch.sizes, launch.cell, launch.order, *launch.arguments)
        self.card.launch(launch.name, kernel, (blocks, launchers.threads(width), shared_bytes), arguments)

    def blocks(self, name: str, n: int) -> int:
        """Return the number of blocks of a kernel for ``n`` items."""
        if name in SCANS:
            return rounded(n) // SCANNED + 1
        each, most_teams = launchers.teams(1, self.width(name, n)), launchers.PLANS[name].most_teams
        most = self.card.blocks if most_teams is None else min(self.card.blocks, most_teams // each)
        return min(-(-rounded(n) // each), most)

    def parts(self, name: str, n: int) -> int:
        """Return the number of teams that share an item of a kernel."""
        if not launchers.PLANS[name].divisible:
            return 1
        return max(1, min(MOST_PARTS, self.card.blocks // self.blocks(name, n)))

    def width(self, name: str, n: int) -> int:
        """Return the number of threads in a team of a kernel for ``n`` items."""
        plan = launchers.PLANS[name]
        block_items = self.card.blocks if self.block_items is None else self.block_items
        if plan.block_registers is not None and rounded(n) <= block_items:
            return launchers.BLOCK_TEAM
        return plan.narrow if self.fill_the_card(n) else plan.wide

    def fill_the_card(self, n: int) -> bool:
        """Return True if ``n`` items occupy the whole card."""
        return rounded(n) >= self.many_items


class RecordedKernels(Kernels):
    """The kernels of a device: a call is appended to a launch list.

    Parameters
    ----------
    append
        ``append(name, n, *arguments)`` appends a call; NamedTuples among the arguments are taken apart before
        (``jit.arguments``).
    """

    def __init__(self, append: Callable[..., None]) -> None:
        self._append = append

    def prepare(self, kernel: Kernel) -> Callable[..., None]:
        """Return the function that appends a call."""
        flat, name = flattened(kernel.body).arguments, kernel.name

        def append(n: SupportsIndex, *arguments: Any, **named: Any) -> None:
            self._append(name, n, *flat(*arguments, **named))

        return append
