"""The kernels compiled for the CPU: ``kernels.NAME(n, *arguments)`` runs items 0 ... n - 1 without the GIL.

``compiled`` turns a body and the bodies that it calls into machine code and leaves their text alone, so the same
functions stay callable as Python: oracle and debugger. ``over_items`` compiles the loop over items; where a function
of ``jit.x86.prefetch`` belongs to the body, the loop first prefetches the memory of the next item. ``jit.tricks`` lists
what can be switched off. ``jit.threads`` shares the items among threads.

Nothing is compiled, and no folder is made, before a kernel is first used. Machine code is stored between runs in
the folder that ``jit.cache`` names by the text of all kernels, because Numba detects a change of the calling file only.
"""

import builtins
import functools
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import config

from beatwire.jit import bitcode, board, locator, threads
from beatwire.jit.arguments import caller, flattened
from beatwire.jit.cache import cache_folder
from beatwire.jit.loading import without_compiler
from beatwire.jit.sharing import entry_of
from beatwire.jit.tricks import enabled
from beatwire.jit.x86 import prefetch, shuffle, trees, vector
from beatwire.kernels import team
from beatwire.kernels.alerts import alert_state, rules
from beatwire.kernels.classes import beat_class
from beatwire.kernels.detection import beats, fast_rhythm, hidden_beats, jumps, nms, r_peak, ricker, windows
from beatwire.kernels.intake import align, bridges, directory, files, filling, hum, one_sine, ring, sines
from beatwire.kernels.peaks import classify, past_samples, peak_history
from beatwire.kernels.rhythms import flutter, rhythm, ventricular
from beatwire.kernels.scores import drift, history
from beatwire.kernels.table import HostKernels, Kernel, OverItems, Serial

BODIES_OF = ("beatwire.kernels.", "beatwire.jit.x86.")

PREFETCH: dict[Callable[..., Any], Callable[..., Any]] = {
    directory.find_slot: prefetch.find_slot,
    ring.write_samples: prefetch.write_samples,
    hum.take_out_hum: prefetch.take_out_hum,
    ricker.respond: prefetch.respond,
    nms.suppress: prefetch.suppress,
    past_samples.store_past: prefetch.store_past,
    classify.classify_peaks: prefetch.classify_peaks,
    beats.select_beats: prefetch.select_beats,
    flutter.find_waves: prefetch.find_waves,
    windows.cut_window: prefetch.cut_window,
    history.find_usual_size: prefetch.find_usual_size,
    history.compare_with_history: prefetch.compare_with_history,
    beat_class.classify_beats: prefetch.classify_beats,
    rhythm.judge_rhythm: prefetch.judge_rhythm,
    ventricular.judge_ventricular: prefetch.judge_ventricular,
    drift.track_drift: prefetch.track_drift,
    rules.apply_rules: prefetch.apply_rules,
}  # by body
PARALLEL = {ring.take_stretch, files.read_piece}  # bodies whose items threads share

# Bodies that work for long at each call, and are called from several places: with a copy at each place, and of what
# they call, half of the time of all compilations went into one kernel.
CALLED = {
    r_peak.mark_r,
    fast_rhythm.is_link,
    fast_rhythm.next_link,
    hidden_beats.add_hidden,
    alert_state.set_alert,
    rules.pass_time,
    align.place_run,
    peak_history.lower_median,
    bridges.bridge,
    filling.fill,
    hum.measure_holed,
    one_sine.compare_known,
    one_sine.write_sine,
    sines.add_sine,
    ricker.steady_magnitude,  # the path of a stream that is disturbed
    jumps.take_out_steps,
    trees.evaluate_trees,
}

# Without ``_nrt`` Numba does not count references to arrays: two locked instructions for every row that is passed on.
# With ``forceinline`` no array is passed by value, which is eight words. Together these were two fifths of the machine
# code's time. No kernel allocates, so nothing need be counted.
_LEAN = {"_nrt": False, "forceinline": True}
_FOR_PYTHON = {"nogil": True, "cache": True, "no_cfunc_wrapper": True}  # no C function is called back
_LOCK = threading.RLock()


def narrow(value: int) -> int:
    """Return ``team.narrow``: LLVM then multiplies and adds vectors of 32 bits."""
    return np.int32(value)  # type: ignore[return-value]


@functools.cache
def replacements() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return the functions that replace bodies, by body."""
    chosen = dict(files.BODIES) | {team.narrow: narrow}
    if enabled("prefetch"):
        chosen |= prefetch.BODIES
    if enabled("vector"):
        chosen |= vector.BODIES
    if enabled("shuffle"):
        chosen |= shuffle.BODIES
    return chosen


@functools.cache
def compiled(body: Any) -> Callable[..., Any]:
    """Compile a body, and every body that it calls or its replacement, for calls from Python."""
    with _stored():
        return without_compiler(numba.njit(_linked(body), **_options(body), **_FOR_PYTHON))  # type: ignore[no-any-return]


@functools.cache
def inlined(body: Any) -> Callable[..., Any]:
    """Compile the same for calls from machine code alone."""
    if not enabled("bitcode"):
        return compiled(body)
    given = bitcode.OPTIONS | _options(body)
    return bitcode.without_literals(numba.njit(_linked(body), **given, pipeline_class=bitcode.BitcodeCompiler))  # type: ignore[no-any-return]


def _linked(body: Any) -> types.FunctionType:
    """Return a copy of a body that calls compiled functions."""
    scope = dict(body.__globals__)
    for name in body.__code__.co_names:
        callee = scope.get(name)
        if isinstance(callee, types.FunctionType) and callee.__module__.startswith(BODIES_OF):
            own = None if body in replacements().values() else replacements().get(callee)
            scope[name] = inlined(own or callee)
    copy = types.FunctionType(body.__code__, scope, body.__name__, body.__defaults__)
    copy.__module__ = body.__module__
    copy.__qualname__ = body.__qualname__
    return copy


def _options(body: Any) -> dict[str, Any]:
    """Return Numba's options for a body."""
    any_order = enabled("vector") and body in vector.IN_ANY_ORDER
    fast = {"reassoc", "contract", "nsz"} if any_order else False
    lean = _LEAN | {"forceinline": body not in CALLED} if enabled("lean") else {}
    return {"error_model": "numpy", "fastmath": fast} | lean


def _items(n, size, board, *arguments):  # type: ignore[no-untyped-def]
    begin, end = (0, n) if size == 0 else take(n, size, board)  # type: ignore[name-defined]  # noqa: F821
    while begin < end:
        for i in range(begin, end):
            body(i, *arguments)  # type: ignore[name-defined]  # noqa: F821
        begin, end = take(n, size, board)  # type: ignore[name-defined]  # noqa: F821


def _prefetched_items(n, size, board, *arguments):  # type: ignore[no-untyped-def]
    begin, end = (0, n) if size == 0 else take(n, size, board)  # type: ignore[name-defined]  # noqa: F821
    while begin < end:
        for i in range(begin, end):
            if i + 1 < end:
                ahead(i + 1, *arguments)  # type: ignore[name-defined]  # noqa: F821
            body(i, *arguments)  # type: ignore[name-defined]  # noqa: F821
        begin, end = take(n, size, board)  # type: ignore[name-defined]  # noqa: F821


def _loop(n, size, board, *arguments):  # type: ignore[no-untyped-def]
    code, place = entry(n, size, board, arguments)  # type: ignore[name-defined]  # noqa: F821
    if size > 0:
        open_job(board, code, place)  # type: ignore[name-defined]  # noqa: F821
    failed = run_entry(code, 0, place)  # type: ignore[name-defined]  # noqa: F821
    if size > 0:
        close_job(board)  # type: ignore[name-defined]  # noqa: F821
    if failed:
        raise RuntimeError("a kernel has failed")


def _parallel_loop(n, _size, _board, *arguments):  # type: ignore[no-untyped-def]
    for i in prange(n):  # type: ignore[name-defined]  # noqa: F821
        body(i, *arguments)  # type: ignore[name-defined]  # noqa: F821


def over_items(kernel: OverItems[Any], ahead: Any = None, *, parallel: bool = False) -> Callable[..., Any]:
    """Compile the loop over the items of a kernel; ``ahead(i, ...)`` prefetches the memory of item ``i``.

    With ``parallel`` Numba's threads share the items (``numba.set_num_threads``); one caller at a time then.
    """
    body = kernel.body
    names = flattened(body).names
    scratch, kept = ([names.index(name) for name in listed] for listed in (kernel.scratch, kernel.kept))
    scope: dict[str, Any] = {"body": inlined(flattened(body).body), "take": inlined(board.take)}
    if ahead is not None:
        scope["ahead"] = inlined(flattened(ahead, like=body).body)
    loop, qualified = _parallel_loop, f"{body.__module__}.{body.__name__}"
    if not parallel:
        items = _named(_items if ahead is None else _prefetched_items, scope, f"{qualified}_items")
        scope = {one.__name__: inlined(one) for one in (board.open_job, board.close_job)}
        scope |= {"entry": entry_of(inlined(items), scratch, kept), "run_entry": board.run_entry}
        loop = _loop
    lean = {"_nrt": False} if enabled("lean") else {}
    with _stored():  # by the name
        own = _named(loop, scope | {"prange": numba.prange}, f"{qualified}_of_all")
        dispatcher = numba.njit(own, **lean, **_FOR_PYTHON, parallel=parallel)
    if not parallel:
        without_compiler(dispatcher)
    grain = None if parallel else kernel.grain
    return caller(body, dispatcher, threads.shared(dispatcher, grain, scratch, kept))


def _named(function: Any, scope: dict[str, Any], qualified: str) -> types.FunctionType:
    """Return a copy of a function with a scope of its own, and the name ``module.name``."""
    module, _, name = qualified.rpartition(".")
    copy = types.FunctionType(function.__code__, {"__builtins__": builtins} | scope, name)
    copy.__module__, copy.__qualname__ = module, name
    return copy


def serial(body: Any) -> Callable[..., Any]:
    """Compile a body that has no items."""
    run = compiled(flattened(body, items=False).body)
    return caller(body, run, run, items=False)


class CpuKernels(HostKernels):
    """All kernels, each compiled when it is first called with arguments of new types."""

    def prepare(self, kernel: Kernel) -> Callable[..., Any]:
        """Return the compiled kernel: its machine code is the attribute ``dispatcher``, a dispatcher of Numba."""
        if isinstance(kernel, Serial):
            return serial(kernel.body)
        ahead = PREFETCH.get(kernel.body) if enabled("prefetch") else None
        assert isinstance(kernel, OverItems)
        return over_items(kernel, ahead, parallel=kernel.body in PARALLEL)


@contextmanager
def _stored() -> Iterator[None]:
    """Let Numba store machine code in the folder of these kernels; it reads the settings when a dispatcher is made."""
    with _LOCK:
        before = config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES
        config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES = str(folder()), locator.CLASS
        try:
            yield
        finally:
            config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES = before


@functools.cache
def folder() -> Path:
    """Return the folder that stores the machine code of this process."""
    return _given_folder[0] if _given_folder else cache_folder()


def store_in(path: Path) -> None:
    """Store the machine code of this process in a folder; to be called before the first kernel is used."""
    _given_folder[:] = [path]


_given_folder: list[Path] = []
kernels = CpuKernels()
