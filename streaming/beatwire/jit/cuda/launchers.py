"""The bodies compiled for CUDA: one launcher for each kernel, of the same name as on the CPU.

``compiled`` turns a body and the bodies that it calls into device functions, as ``cpu.compiled`` does. The functions of
``kernels.team`` become instructions of a team of ``width`` threads, and ``jit.cuda.overrides`` replaces some bodies.
``launcher`` returns the kernel: a team runs an item, and items in a loop, so that any grid runs any number of items.
Each team has its own scratch.

The number of items is read on the device, from ``sizes[cell]``: one kernel follows another without the host.

With ``NUMBA_ENABLE_CUDASIM=1`` the same runs in Numba's simulator, where a team is a block.
"""

import functools
import importlib
import math
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from beatwire.jit.arguments import flattened
from beatwire.jit.cuda import overrides, templates
from beatwire.jit.cuda.numba_patches import patched
from beatwire.jit.cuda.team import SIMULATED, THREADS, jit, team_functions
from beatwire.kernels import team
from beatwire.kernels.classes import beat_shape
from beatwire.kernels.detection import beats, fusion, intervals, lead_choice, lead_levels, nms, ricker, windows
from beatwire.kernels.intake import hum, ring, shards
from beatwire.kernels.peaks import classify, doubt, past_samples
from beatwire.kernels.rhythms import flutter
from beatwire.kernels.scores import history, scoring

TILES = "beatwire.jit.cuda.tiles"  # the simulator has no tensor cores
REPLACED = overrides.BODIES if SIMULATED else overrides.BODIES | importlib.import_module(TILES).BODIES
BODIES_OF = ("beatwire.kernels.", overrides.__name__, TILES)
BLOCK, LONG_BLOCK = 128, 512  # samples that scratch holds at a time
MANY_ITEMS = 20_000  # items that fill a card
BLOCK_TEAM = 2 if SIMULATED else 64  # threads of a team that is a whole block
WAVEFORM_TEAM = 2 if SIMULATED else 256  # of one that reads a waveform: eight of 32 times 64 values each
MOST_TEAMS = 512  # of a kernel whose scratch is large: 490 kB for each team that reads a waveform
SHARED_BYTES = 0 if SIMULATED else 47 << 10  # for scratch, of the 48 kB of a block: ``team`` uses some of the rest
SHARED_BYTES_OF_THREE = 0 if SIMULATED else 12 << 10  # for three scratch arrays: their kernel needs the L1 cache
INLINED = {} if SIMULATED else {"forceinline": True}  # a call passes an array as seven words on the stack


class Plan(NamedTuple):
    """How a body is launched.

    wide, narrow      threads of a team for few items (which end sooner) and for ``MANY_ITEMS`` (which do more in all)
    first, stop       the scratch arguments: those from ``first`` up to ``stop``
    registers         limit for a thread of a narrow team, where more threads at a time gain more than spilling costs
    busy, summed      the argument that counts the work of each item, or (``summed``) has the sums of the counts. Of
                      many items those with work are run first, so that the teams of a warp do not wait for one of them
    divisible         teams may share an item: few long items then get as many teams as fill the card
    block_registers   limit for a thread of a team that is a whole block; such teams run as many items as there are
                      blocks. None: no such teams
    most_teams        limit for the teams of a launch, whose scratch is large; None: as many as the card runs
    """

    body: Any
    wide: int
    narrow: int
    first: int
    stop: int
    registers: int | None = None
    busy: int | None = None
    summed: bool = False
    divisible: bool = False
    block_registers: int | None = None
    most_teams: int | None = None

    def most_registers(self, width: int) -> int | None:
        """Return the limit of registers for a thread of a team; None: no limit."""
        if width == self.narrow:
            return self.registers
        return None if width == self.wide else self.block_registers


def plan(
    body: Any, wide: int, narrow: int, *scratch: str, registers: int | None = None, busy: str = "",
    summed: bool = False, divisible: bool = False, block_registers: int | None = None, most_teams: int | None = None,
) -> Plan:  # fmt: skip
    """Return the plan of a body; scratch arguments and ``busy`` are found by name (``jit.arguments.Flattened``)."""
    names = flattened(body).names
    first = names.index(scratch[0]) if scratch else len(names)
    at = names.index(busy) if busy else None
    return Plan(
        body, wide, narrow, first, first + len(scratch), registers, at, summed, divisible, block_registers, most_teams
    )


PLANS = {
    "put_back_hum": plan(hum.put_back_hum, 8, 8, divisible=True),
    "take_out_hum": plan(hum.take_out_hum, 16, 8, divisible=True),
    "begin_lane": plan(ring.begin_lane, 1, 1),
    "write_samples": plan(ring.write_samples, 16, 8, divisible=True),
    "write_in_turn": plan(ring.write_in_turn, 8, 8),
    "respond": plan(ricker.respond, 16, 8, "work", registers=96, divisible=True),
    "respond_leads": plan(fusion.respond_leads, 32, 8, "work", registers=64, block_registers=96),
    "level_peaks": plan(lead_levels.level_peaks, 16, 4, busy="table.found"),
    "suppress": plan(nms.suppress, 32, 4, "work"),
    "classify_peaks": plan(
        classify.classify_peaks, 32, 4, "stretch", "numbers", "features", registers=64, busy="peaks.found"
    ),
    "choose_peaks": plan(lead_choice.choose_peaks, 1, 1),
    "store_past": plan(past_samples.store_past, 16, 8, "work", divisible=True),
    "copy_logits": plan(doubt.copy_logits, 1, 1),
    "count_doubts": plan(doubt.count_doubts, 1, 1),
    "list_doubts": plan(doubt.list_doubts, 1, 1),
    "judge_doubt": plan(
        doubt.judge_doubt,
        WAVEFORM_TEAM,
        WAVEFORM_TEAM,
        "scratch.numbers",
        "scratch.frames",
        "scratch.rows",
        most_teams=MOST_TEAMS,
    ),
    "correct_errors": plan(doubt.correct_errors, 1, 1),
    "select_beats": plan(beats.select_beats, 16, 4, "work", registers=96, busy="peaks.found"),
    "store_quiet": plan(intervals.store_quiet, 1, 1),
    "list_beats": plan(beats.list_beats, 8, 1),
    "list_blocks": plan(beats.list_blocks, 1, 1),
    "find_waves": plan(flutter.find_waves, 32, 4, "work"),
    "cut_window": plan(windows.cut_window, 16, 4, "work"),
    "measure_shape": plan(beat_shape.measure_shape, 16, 4, "work"),
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
    """Return the number of threads of a block."""
    if SIMULATED:
        return width if width > 1 else 10
    return THREADS if width <= 32 else width


def teams(blocks: int, width: int) -> int:
    """Return the number of teams in a number of blocks."""
    return blocks * threads(width) // width


@functools.cache
def compiled(body: Any, width: int) -> Any:
    """Turn a body and the bodies that it calls into device functions for teams of ``width`` threads."""
    if body.__module__ == team.__name__:
        return team_functions(width)[body.__name__]
    scope = dict(body.__globals__)
    for name in body.__code__.co_names:
        callee = scope.get(name)
        if name in (own := {"WIDTH": width, "BLOCK": BLOCK}):
            scope[name] = own[name]
        elif isinstance(callee, types.FunctionType) and callee.__module__.startswith(BODIES_OF):
            scope[name] = compiled(REPLACED.get(callee, callee), width)
    copy = types.FunctionType(body.__code__, scope, body.__name__, body.__defaults__)
    copy.__module__ = body.__module__
    copy.__qualname__ = body.__qualname__
    return jit(copy, device=True, **INLINED)


@functools.cache
def launcher(name: str, width: int, shared: bool, ordered: bool) -> Callable[..., Any]:
    """Return the kernel of a body, which is called with ``(sizes, cell, order, before, *scratch, after)``.

    ``before`` and ``after`` are the body's arguments on either side of its scratch, as tuples; the first axis of
    scratch is the team. With ``shared``, scratch is in shared memory, and its shape is given instead. ``order`` is the
    order of the items if ``ordered``, else unused.
    """
    plan = PLANS[name]
    by_scratch = {
        0: templates.without_scratch,
        1: templates.with_shared if shared else templates.with_scratch,
        3: templates.with_three,
    }
    template = (
        templates.with_shared_three if shared and plan.stop - plan.first == 3 else by_scratch[plan.stop - plan.first]
    )
    item = jit(templates.listed if ordered else templates.itself, device=True)
    scope = vars(templates) | {"_body": compiled(flattened(plan.body).body, width), "_item": item, "_WIDTH": width}
    own_name = f"{name}_{width}" + "_shared" * shared + "_ordered" * ordered
    function = types.FunctionType(template.__code__, scope, own_name)
    function.__module__, function.__qualname__ = templates.__name__, own_name  # machine code is stored by the latter
    registers = None if SIMULATED else plan.most_registers(width)
    kernel = jit(function, max_registers=registers) if registers else jit(function)
    return kernel if SIMULATED else patched(kernel)  # type: ignore[no-any-return]


def shared_bytes(width: int, shape: Sequence[int]) -> int:
    """Return the bytes of shared memory that the scratch of a block occupies, by its shape as ``launcher`` takes it."""
    if len(shape) == 3:
        return teams(1, width) * (8 * shape[1] + 4 * _even(shape[0] + shape[2]))
    return teams(1, width) * 4 * math.prod(shape)


def shared_shape(width: int, scratch: Sequence[Any]) -> list[int] | None:
    """Return the shape of scratch as ``launcher`` takes it; None if shared memory has no room for it."""
    if any(array.ndim > 2 for array in scratch):
        return None
    if len(scratch) == 3:
        shape, most = [array.shape[1] for array in scratch], SHARED_BYTES_OF_THREE
    else:
        rows, columns = scratch[0].shape
        shape, most = [rows, columns | 1], SHARED_BYTES  # odd: teams at the same column use different banks
    return shape if shared_bytes(width, shape) <= most else None


def _even(n: int) -> int:
    return n + (n & 1)
