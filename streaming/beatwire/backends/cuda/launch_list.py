"""A tape: the kernel calls of a tick, written down, so that they can be told from others and run at once.

In: lines, each a kernel, how many items it has and its arguments. Arguments are arrays of a device and plain numbers;
a tape with the same kernels on the same addresses is the same tape, which a card may keep as a graph.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, SupportsIndex

from beatwire.jit.arguments import flattened
from beatwire.jit.cuda import launchers
from beatwire.jit.cuda.scan import SCANNED, SCANS
from beatwire.kernels.table import Kernel, Kernels

MOST_PARTS = 16
MOST_KEPT = 4096  # tapes that are remembered: as many as ticks of all sizes can have would be too many


class Launches(Protocol):
    """What a tape needs of a card."""

    blocks: int  # the most that a kernel is worth starting with

    def address(self, array: Any) -> int:
        """Return where an array stands."""

    def launch(
        self, name: str, kernel: Any, grid: tuple[tuple[int, int], int, int], arguments: tuple[Any, ...]
    ) -> None:
        """Start a kernel on ``grid``: blocks, two axes, threads, bytes of shared memory; tuples hold arrays as well."""

    def run(self, key: Hashable, tape: Callable[[], None]) -> None:
        """Do what ``tape`` does, which is the same whenever ``key`` is, after all that goes up has arrived."""

    def embed(self, network: int, most: int, sizes: Any, cell: int, *arrays: Any) -> None:
        """Start a network that ``network`` gave its number: ``sizes[cell]`` windows, and its arrays."""

    def bring(self, segments: Any) -> None:
        """Start copying segments of memory to the host: int64 [n, 4], see ``staging.Segments``."""


class Total(NamedTuple):
    """A number on the device: in which cell it stands, and what it is at most, which is its ``int()``."""

    cell: int
    most: int

    def __index__(self) -> int:
        return self.most


def rounded(n: int) -> int:
    """Return ``n`` rounded up to one of eight sizes an octave, 16 at least.

    >>> [rounded(n) for n in (0, 17, 100, 1000, 100_000)]
    [16, 18, 104, 1024, 106496]
    """
    step = 1 << max(n.bit_length() - 4, 0)
    return max(16, -(-n // step) * step)


@dataclass(slots=True)
class Line:
    """A kernel call: ``n`` items at most, ``sizes[cell]`` on the device.

    ``bring`` copies segments to the host, ``embed`` runs a network, whose number is its first argument. ``order``: an
    array of the items as they come; 0 where they come as they are.
    """

    name: str
    n: SupportsIndex
    sizes: Any
    cell: int
    arguments: tuple[Any, ...]
    order: Any = 0


@dataclass(slots=True)
class LaunchLists:
    """Tells tapes apart and plays them on a card.

    many   items from which on teams are narrow
    few    items up to which each may have a block; None: as many as the card has room for
    """

    card: Launches
    many: int = launchers.MANY
    few: int | None = None
    _known: dict[Hashable, int] = field(default_factory=dict)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def sameness(self, tape: list[Line]) -> int:
        """Return a number for what the lines of a tape do: kernels, and what they see of their arguments."""
        seen: list[Hashable] = []
        for line in tape:
            seen += (line.name, line.cell, self.card.address(line.sizes))
            for argument in (line.order, *line.arguments):
                for one in argument if isinstance(argument, tuple) else (argument,):
                    seen += (one,) if isinstance(one, int | float) else (self.card.address(one), one.shape)
        if len(self._known) > MOST_KEPT:
            self._known.clear()
        return self._known.setdefault(tuple(seen), next(self._numbers))

    def run(self, tape: list[Line], sameness: int) -> None:
        """Run a tape whose ``sameness`` is known."""
        items = [line.n.__index__() for line in tape]
        self.card.run((sameness, *map(rounded, items)), lambda: self._play(tape, items))

    def _play(self, tape: list[Line], items: list[int]) -> None:
        for line, n in zip(tape, items, strict=True):
            if line.name == "bring":
                self.card.bring(line.arguments[0])
            elif line.name == "embed":
                self.card.embed(line.arguments[0], n, line.sizes, line.cell, *line.arguments[1:])
            elif line.name in SCANS:
                kernel, given = SCANS[line.name], (line.sizes, line.cell, *line.arguments)
                self.card.launch(line.name, kernel, ((self.blocks(line.name, n), 1), SCANNED, 0), given)
            else:
                width, inside = self.width(line.name, n), 0
                if len(line.arguments) > 1 and isinstance(line.arguments[1], int):
                    inside = launchers.shared_bytes(width, line.arguments[1:-1])
                ordered = not isinstance(line.order, int)
                kernel = launchers.launcher(line.name, width, inside > 0, ordered)
                grid = (self.blocks(line.name, n), self.parts(line.name, n)), launchers.threads(width), inside
                given = (line.sizes, line.cell, line.order, *line.arguments)
                self.card.launch(line.name, kernel, grid, given)

    def blocks(self, name: str, n: int) -> int:
        """Return the blocks of a kernel for ``n`` items."""
        if name in SCANS:
            return rounded(n) // SCANNED + 1
        return min(-(-rounded(n) // launchers.teams(1, self.width(name, n))), self.card.blocks)

    def parts(self, name: str, n: int) -> int:
        """Return how many teams share an item of a kernel."""
        return max(1, min(MOST_PARTS, self.card.blocks // self.blocks(name, n))) if launchers.PLANS[name].shared else 1

    def width(self, name: str, n: int) -> int:
        """Return the threads of a team of a kernel for ``n`` items."""
        plan = launchers.PLANS[name]
        if plan.whole is not None and rounded(n) <= (self.card.blocks if self.few is None else self.few):
            return launchers.WHOLE
        return plan.narrow if self.are_many(n) else plan.wide

    def are_many(self, n: int) -> bool:
        """Tell whether ``n`` items fill a card."""
        return rounded(n) >= self.many


class Calls(Kernels):
    """The kernels of a device: each is a function that appends the call to a launch list.

    Parameters
    ----------
    call
        ``call(name, n, *arguments)`` appends a call; NamedTuples among the arguments are taken apart before
        (``jit.arguments``).
    """

    def __init__(self, call: Callable[..., None]) -> None:
        self._call = call

    def prepare(self, kernel: Kernel) -> Callable[..., None]:
        """Return the function that appends a call."""
        flat, name = flattened(kernel.body).arguments, kernel.name

        def append(n: SupportsIndex, *arguments: Any, **named: Any) -> None:
            self._call(name, n, *flat(*arguments, **named))

        return append
