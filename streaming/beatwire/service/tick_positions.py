"""The positions that a tick commits: by partition, the offset after it and that from which a successor replays.

In: the ticks of a source, and the graph that has processed them. State: the input offsets at the start of each tick
that may have to be replayed.

What rebuilds the state before a tick rebuilds that after it, too, if the replay goes on through the tick. So a tick can
be committed with the replay that was enough before it, which is known before the tick is computed.
"""

from collections.abc import Mapping, Sequence

from beatwire.kafka.consuming.batch import PolledTick
from beatwire.kafka.consuming.positions import Position
from beatwire.records import Outgoing
from beatwire.service.interfaces import Graph
from beatwire.service.observing.tick_log import TickLog


class TickPositions:
    """The positions of the ticks of one graph, since it was empty.

    Parameters
    ----------
    graph
        See `Graph`; its ticks are counted as those that `add` gets.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph, self._log = graph, TickLog()
        self._rewind: dict[int, int] = {}  # partition -> offset, before the tick in work

    def add(self, polled: PolledTick) -> None:
        """Add the next tick, before it is processed."""
        self._log.add(polled.start)
        if polled.replay:
            self._rewind.clear()

    def before(self, polled: PolledTick) -> dict[int, Position]:
        """Return the positions of the tick that is in work, as far as they are known before it is processed."""
        unknown = {p: self._graph.rewind_tick(p) for p in polled.positions if p not in self._rewind}
        self._rewind |= {p: self._log.offset(p, tick, polled.start[p]) for p, tick in unknown.items()}
        return self._positions(polled, polled.positions, self._rewind)

    def after(
        self, polled: PolledTick, outgoing: Sequence[Outgoing], before: Mapping[int, Position] | None = None
    ) -> Mapping[int, Position]:
        """Return the positions of a tick that was processed; they are those of `before`, if these hold.

        What a tick without messages publishes is committed with the positions that hold already: the broker then
        refuses it if another member has taken the partitions over.
        """
        ticks = {p: self._graph.rewind_tick(p) for p in polled.start}
        self._log.discard_before(min(ticks.values(), default=0))
        offsets = polled.positions or polled.start
        self._rewind = {p: self._log.offset(p, tick, offsets.get(p, polled.start[p])) for p, tick in ticks.items()}
        if not polled.positions and not outgoing:
            return {}
        after = self._positions(polled, offsets, self._rewind)
        return before if before is not None and _holds(before, after) else after

    def _positions(
        self, polled: PolledTick, offsets: Mapping[int, int], rewind: Mapping[int, int]
    ) -> dict[int, Position]:
        banks = self._graph.open_banks
        return {p: Position(at, rewind[p], banks=banks, leader=polled.leaders.get(p)) for p, at in offsets.items()}


def _holds(before: Mapping[int, Position], after: Mapping[int, Position]) -> bool:
    """Return True if a successor that begins as it was known before a tick rebuilds the state after it."""
    return all(before[p].rewind <= at.rewind and before[p].banks == at.banks for p, at in after.items())
