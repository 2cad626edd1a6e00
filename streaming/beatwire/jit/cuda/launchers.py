"""The bodies compiled for CUDA: a launcher each, of the same name as on the CPU.

``compiled`` turns a body and the bodies it calls into device functions, as ``cpu.compiled`` does, with the
instructions of a team (``kernels.team``) of ``width`` threads put in, and with what a card does in another way
(``jit.cuda.overrides``). ``launcher`` is the kernel: one team an item,
items in a loop, so that any grid does any number of items, each team with scratch of its own.

How many items there are is read on the device, from ``sizes[cell]``: kernels that follow each other need no answer
from the host in between.

Under ``NUMBA_ENABLE_CUDASIM=1`` the same runs in Numba's simulator, a team a block.
"""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from beatwire.jit.arguments import flattened
from beatwire.jit.cuda import overrides, templates
from beatwire.jit.cuda.numba_patches import patched
from beatwire.jit.cuda.team import SIMULATED, THREADS, jit, team_functions
from beatwire.kernels import (
    beats,
    classify,
    flutter,
    fusion,
    history,
    nms,
    ricker,
    ring,
    scoring,
    shards,
    team,
    windows,
)

BODIES_OF = ("beatwire.kernels.", overrides.__name__)
BLOCK, LONG_BLOCK = 128, 512  # samples worked on at a time
MANY = 20_000
WHOLE = 2 if SIMULATED else 64  # threads of the team that is a block
SHARED_BYTES = 0 if SIMULATED else 47 << 10  # of a block, which has 48: a team that is one takes a little
SHARED_OF_THREE = 0 if SIMULATED else 12 << 10  # of a block of a kernel that lives on its cache
INLINED = {} if SIMULATED else {"forceinline": True}  # to pass an array is seven words on a stack


class Plan(NamedTuple):
    """A body, the threads of its team, and where its scratch arguments stand: from ``first`` up to ``stop``.

    Few items want ``wide`` teams, which are done sooner; from ``MANY`` on the card is full and ``narrow`` ones do more.
    ``registers`` is how many a thread of these may have, where more threads at a time gain more than they lose.
    ``busy`` is the argument that says which items have anything to do, by counts or (``summed``) their sums: of many
    items these come first, so that the teams of a warp do not wait for one of them. Of a body that may be ``shared``
    among teams a few long items get as many as fill the card. Where there is room for a block of each and it is known
    how many registers a thread of it may have, ``whole``, that is the team.
    """

    body: Any
    wide: int
    narrow: int
    first: int
    stop: int
    registers: int | None = None
    busy: int | None = None
    summed: bool = False
    shared: bool = False
    whole: int | None = None

    def most_registers(self, width: int) -> int | None:
        """Return how many registers a thread of a team may have; None: as many as it likes."""
        if width == self.narrow:
            return self.registers
        return None if width == self.wide else self.whole


def plan(
    body: Any, wide: int, narrow: int, *scratch: str, registers: int | None = None, busy: str = "",
    summed: bool = False, shared: bool = False, whole: int | None = None,
) -> Plan:  # fmt: skip
    """Return the plan of a body; scratch arguments and ``busy`` are found by name (``jit.arguments.Flattened``)."""
    names = flattened(body).names
    first = names.index(scratch[0]) if scratch else len(names)
    at = names.index(busy) if busy else None
    return Plan(body, wide, narrow, first, first + len(scratch), registers, at, summed, shared, whole)


PLANS = {
    "begin_lane": plan(ring.begin_lane, 1, 1),
    "write_samples": plan(ring.write_samples, 16, 8, shared=True),
    "write_in_turn": plan(ring.write_in_turn, 8, 8),
    "respond": plan(ricker.respond, 16, 8, "work", registers=96, shared=True),
    "respond_leads": plan(fusion.respond_leads, 32, 8, "work", registers=64, whole=96),
    "level_peaks": plan(fusion.level_peaks, 1, 1),
    "suppress": plan(nms.suppress, 32, 4, "work"),
    "classify_peaks": plan(
        classify.classify_peaks, 32, 4, "stretch", "numbers", "features", registers=64, busy="peaks.found"
    ),
    "select_beats": plan(beats.select_beats, 16, 4, "work", registers=96, busy="peaks.found"),
    "store_quiet": plan(beats.store_quiet, 1, 1),
    "list_beats": plan(beats.list_beats, 8, 1),
    "list_blocks": plan(beats.list_blocks, 1, 1),
    "find_waves": plan(flutter.find_waves, 16, 4, "work"),
    "cut_window": plan(windows.cut_window, 16, 4, "work"),
    "time_beat": plan(history.time_beat, 1, 1),
    "write_scale": plan(history.write_scale, 1, 1),
    "mark_embedded": plan(history.mark_embedded, 1, 1),
    "write_terms": plan(history.write_terms, 1, 1),
    "find_usual_size": plan(history.find_usual_size, 16, 4, busy="runs.run", summed=True),
    "compare_with_history": plan(history.compare_with_history, 32, 4, busy="runs.run", summed=True),
    "mark_owned": plan(shards.mark_owned, 1, 1),
    "score_beat": plan(scoring.score_beat, 1, 1),
    "copy_owned": plan(shards.copy_owned, 1, 1),
}


def threads(width: int) -> int:
    """Return the threads of a block."""
    if SIMULATED:
        return width if width > 1 else 10
    return THREADS if width <= 32 else width


def teams(blocks: int, width: int) -> int:
    """Return how many teams so many blocks have."""
    return blocks * threads(width) // width


@functools.cache
def compiled(body: Any, width: int) -> Any:
    """Turn a body and every body it calls into device functions for teams of ``width`` threads."""
    if body.__module__ == team.__name__:
        return team_functions(width)[body.__name__]
    scope = dict(body.__globals__)
    for name in body.__code__.co_names:
        callee = scope.get(name)
        if name in ("WIDTH", "BLOCK"):
            scope[name] = {"WIDTH": width, "BLOCK": BLOCK}[name]
        elif isinstance(callee, types.FunctionType) and callee.__module__.startswith(BODIES_OF):
            scope[name] = compiled(overrides.BODIES.get(callee, callee), width)
    copy = types.FunctionType(body.__code__, scope, body.__name__, body.__defaults__)
    copy.__module__ = body.__module__
    copy.__qualname__ = body.__qualname__
    return jit(copy, device=True, **INLINED)


@functools.cache
def launcher(name: str, width: int, shared: bool, ordered: bool) -> Callable[..., Any]:
    """Return the kernel of a body: ``launcher(sizes, cell, order, before, *scratch, after)``.

    ``before`` and ``after`` are the body's arguments around its scratch, as tuples; the first axis of scratch are the
    teams of the grid. Where it is ``shared``, scratch stands in the memory of the multiprocessor, and in its place its
    shape is given. ``order`` says which item comes when, if it is ``ordered``.
    """
    one = PLANS[name]
    kinds = {
        0: templates.without_scratch,
        1: templates.with_shared if shared else templates.with_scratch,
        3: templates.with_three,
    }
    template = templates.with_shared_three if shared and one.stop - one.first == 3 else kinds[one.stop - one.first]
    item = jit(templates.listed if ordered else templates.itself, device=True)
    scope = vars(templates) | {"_todo": compiled(flattened(one.body).body, width), "_item": item, "_WIDTH": width}
    own_name = f"{name}_{width}" + "_shared" * shared + "_ordered" * ordered
    made = types.FunctionType(template.__code__, scope, own_name)
    made.__module__, made.__qualname__ = templates.__name__, own_name  # machine code is stored by the latter
    few = None if SIMULATED else one.most_registers(width)
    kernel = jit(made, max_registers=few) if few else jit(made)
    return kernel if SIMULATED else patched(kernel)  # type: ignore[no-any-return]


def shared_bytes(width: int, shape: Sequence[int]) -> int:
    """Return the bytes of a block's shared memory that scratch takes, by what ``launcher`` is given of its shape."""
    if len(shape) == 3:
        return teams(1, width) * (8 * shape[1] + 4 * _even(shape[0] + shape[2]))
    return teams(1, width) * 4 * math.prod(shape)


def shared_shape(width: int, scratch: Sequence[Any]) -> list[int] | None:
    """Return what ``launcher`` wants to know of scratch that fits into shared memory; None where it does not."""
    if len(scratch) == 3:
        shape, most = [array.shape[1] for array in scratch], SHARED_OF_THREE
    else:
        rows, columns = scratch[0].shape
        shape, most = [rows, columns | 1], SHARED_BYTES  # teams that look at the same place look into other banks
    return shape if shared_bytes(width, shape) <= most else None


def _even(n: int) -> int:
    return n + (n & 1)
