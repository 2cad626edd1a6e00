"""The bodies compiled for the CPU: ``name(n, *arguments)`` runs items 0..n-1 without the GIL.

``compiled`` turns a body and the bodies it calls into machine code and leaves their text alone, so the same functions
stay callable as Python: oracle, debugger and this file share one text. ``kernel`` is the loop over items; where
there is something to ask for ahead (``jit.x86.prefetch``) it does that for the next item first.

Machine code is kept between runs in a folder named by the text of all kernels, because Numba
notices a change of the caller's file only. Folders of other texts go when no start has used them for KEPT_S.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numba
from numba.core import config

from beatwire.jit.cache import cache_folder
from beatwire.jit.x86 import prefetch, shuffle, vector
from beatwire.kernels import (
    arrivals,
    avro,
    beats,
    classify,
    clock,
    directory,
    drift,
    files,
    flutter,
    fusion,
    history,
    nms,
    ordering,
    ricker,
    ring,
    rules,
    scoring,
    vae,
    windows,
)

Kernel = Callable[..., Any]
BODIES_OF = ("beatwire.kernels.", "beatwire.jit.x86.")


_INSTEAD = {**vector.BODIES, **shuffle.BODIES, **files.BODIES}  # of a body

# Numba counts who holds an array, in two locked instructions for every row that is passed on; to pass an array by
# value is eight words. Together that was two fifths of the machine code's time. Nothing is allocated in a kernel, so
# nothing is counted (``_nrt``), and every body stands where it is called.
_LEAN = {"nogil": True, "cache": True, "_nrt": False}


@functools.cache
def compiled(body: Any) -> Kernel:
    """Compile a body and every body it calls, or what stands in their place (``_INSTEAD``)."""
    scope = dict(body.__globals__)
    for name in body.__code__.co_names:
        callee = scope.get(name)
        if isinstance(callee, types.FunctionType) and callee.__module__.startswith(BODIES_OF):
            own = None if body in _INSTEAD.values() else _INSTEAD.get(callee)
            scope[name] = compiled(own or callee)
    copy = types.FunctionType(body.__code__, scope, body.__name__, body.__defaults__)
    copy.__module__ = body.__module__
    copy.__qualname__ = body.__qualname__
    fast = {"reassoc", "contract", "nsz"} if body in vector.IN_ANY_ORDER else False
    return numba.njit(copy, **_LEAN, error_model="numpy", forceinline=True, fastmath=fast)  # type: ignore[no-any-return]


def _launch(n, *arguments):  # type: ignore[no-untyped-def]
    for i in range(n):
        body(i, *arguments)  # type: ignore[name-defined]  # noqa: F821


def _launch_ahead(n, *arguments):  # type: ignore[no-untyped-def]
    for i in range(n):
        if i + 1 < n:
            ahead(i + 1, *arguments)  # type: ignore[name-defined]  # noqa: F821
        body(i, *arguments)  # type: ignore[name-defined]  # noqa: F821


def _launch_together(n, *arguments):  # type: ignore[no-untyped-def]
    for i in prange(n):  # type: ignore[name-defined]  # noqa: F821
        body(i, *arguments)  # type: ignore[name-defined]  # noqa: F821


def kernel(body: Any, ahead: Any = None, *, together: bool = False) -> Kernel:
    """Compile the loop over the items of a body; each says ``ahead`` what it will work on.

    With ``together`` several threads share the items (``numba.set_num_threads``); one caller at a time then.
    """
    loop = _launch_together if together else _launch if ahead is None else _launch_ahead
    scope = {"body": compiled(body), "ahead": ahead and compiled(ahead), "range": range, "prange": numba.prange}
    own = types.FunctionType(loop.__code__, scope, body.__name__)
    own.__module__ = body.__module__
    own.__qualname__ = f"{body.__name__}_of_all"  # machine code is kept by this name
    return numba.njit(own, **_LEAN, parallel=together)  # type: ignore[no-any-return]


_previous = config.CACHE_DIR
config.CACHE_DIR = str(cache_folder())

align_rows = compiled(arrivals.align_rows)
enter = compiled(directory.enter)
merge_pass = compiled(ordering.merge_pass)
by_stream = compiled(ordering.by_stream)
find_runs = compiled(ordering.find_runs)

read_chunk = kernel(avro.read_chunk)
find_slot = kernel(directory.find_slot)
find_bank = kernel(directory.find_bank)
device_time = kernel(clock.device_time)
begin_lane = kernel(ring.begin_lane)
write_samples = kernel(ring.write_samples, prefetch.write_samples)
respond = kernel(ricker.respond, prefetch.respond)
respond_leads = kernel(fusion.respond_leads)
suppress = kernel(nms.suppress, prefetch.suppress)
level_peaks = kernel(fusion.level_peaks)
classify_peaks = kernel(classify.classify_peaks, prefetch.classify_peaks)
select_beats = kernel(beats.select_beats, prefetch.select_beats)
remember_quiet = kernel(beats.remember_quiet)
list_beats = kernel(beats.list_beats)
list_blocks = kernel(beats.list_blocks)
find_waves = kernel(flutter.find_waves, prefetch.find_waves)
cut_window = kernel(windows.cut_window, prefetch.cut_window)
place_in_time = kernel(history.place_in_time)
find_usual_size = kernel(history.find_usual_size, prefetch.find_usual_size)
in_usual_size = kernel(history.in_usual_size)
is_known = kernel(history.is_known)
forward = kernel(vae.forward)
compare_with_history = kernel(history.compare_with_history, prefetch.compare_with_history)
in_terms = kernel(history.in_terms)
weigh_beat = kernel(scoring.weigh_beat)
score_beat = kernel(scoring.score_beat)
is_answered = kernel(scoring.is_answered)
tell_beat = kernel(scoring.tell_beat)
take_stretch = kernel(ring.take_stretch, together=True)
read_piece = kernel(files.read_piece, together=True)
find_bins = kernel(drift.find_bins)
watch = kernel(drift.watch)
apply_rules = kernel(rules.apply_rules)
write_beat = kernel(avro.write_beat)

config.CACHE_DIR = _previous
