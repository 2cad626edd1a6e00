"""The bodies compiled for the CPU: ``name(n, *arguments)`` runs items 0..n-1 without the GIL.

``compiled`` turns a body and the bodies it calls into machine code and leaves their text alone, so the same functions
stay callable as Python: oracle, debugger and this file share one text. ``kernel`` is the loop over items; where
there is something to ask for ahead (``kernels.cpu_ahead``) it does that for the next item first.

Machine code is kept between runs in a folder named by the text of all kernels, because Numba
notices a change of the caller's file only. Folders of other texts go when no start has used them for KEPT_S.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import stat
import tempfile
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import config

from streaming.kernels import accept as acceptance
from streaming.kernels import (
    answer,
    arrivals,
    avro,
    beats,
    clock,
    cpu_ahead,
    cpu_shuffle,
    cpu_vector,
    directory,
    drift,
    files,
    flutter,
    fuse,
    history,
    nms,
    order,
    ricker,
    ring,
    rules,
    windows,
)
from streaming.kernels import forward as network

Kernel = Callable[..., Any]


KEPT_S = 30 * 86400.0


def cache_folder() -> Path:
    """Return the folder for the machine code of exactly these kernels; make it where caches are, if that may be.

    Its time becomes now, so that whoever makes a folder of another text knows which are in use.
    """
    texts = sorted(Path(__file__).parent.glob("*.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in texts)).hexdigest()[:16]
    caches, home = os.environ.get("XDG_CACHE_HOME"), os.environ.get("HOME")
    places = [Path(caches)] if caches else []
    places += [Path(home) / ".cache"] if home else []
    for place in places:
        folder = place / "beatwire" / "kernels" / digest
        if _made(folder):
            return folder
    folder = _temporary(tempfile.gettempdir()) / "kernels" / digest
    _made(folder)
    return folder


@functools.cache
def _temporary(where: str) -> Path:
    """Return a folder that nobody else can write to: what lies there is run."""
    folder = Path(where) / f"beatwire-{os.getuid()}"
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700)
    there = folder.lstat() if folder.is_dir() else None
    if there is None or not stat.S_ISDIR(there.st_mode) or there.st_uid != os.getuid() or there.st_mode & 0o022:
        return Path(tempfile.mkdtemp(prefix="beatwire-", dir=where))
    return folder


def _made(folder: Path) -> bool:
    """Make a folder, or mark it as used; tell whether it may be written to."""
    try:
        is_new = not folder.is_dir()
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
    except OSError:
        return False
    if is_new:
        _forget_unused(folder.parent)
    return os.access(folder, os.W_OK)


def _forget_unused(kernels: Path) -> None:
    """Remove folders whose time is more than KEPT_S ago.

    A process that has run for longer loses nothing: Numba makes a folder that is missing again. Each folder is moved
    away first, so that one who comes for it now finds all of it or none.
    """
    for folder in kernels.iterdir():
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime > KEPT_S:
                gone = folder.rename(kernels / f"gone-{os.getpid()}-{folder.name}")
                shutil.rmtree(gone, ignore_errors=True)


_INSTEAD = {**cpu_vector.BODIES, **cpu_shuffle.BODIES, **files.BODIES}  # of a body

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
        if isinstance(callee, types.FunctionType) and callee.__module__.startswith("streaming.kernels"):
            own = None if body in _INSTEAD.values() else _INSTEAD.get(callee)
            scope[name] = compiled(own or callee)
    copy = types.FunctionType(body.__code__, scope, body.__name__, body.__defaults__)
    copy.__module__ = body.__module__
    copy.__qualname__ = body.__qualname__
    fast = {"reassoc", "contract", "nsz"} if body in cpu_vector.IN_ANY_ORDER else False
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
merge_pass = compiled(order.merge_pass)
by_stream = compiled(order.by_stream)
find_runs = compiled(order.find_runs)

read_chunk = kernel(avro.read_chunk)
find_slot = kernel(directory.find_slot)
find_bank = kernel(directory.find_bank)
device_time = kernel(clock.device_time)
begin_lane = kernel(ring.begin_lane)
write_samples = kernel(ring.write_samples, cpu_ahead.write_samples)
respond = kernel(ricker.respond, cpu_ahead.respond)
respond_leads = kernel(fuse.respond_leads)
suppress = kernel(nms.suppress, cpu_ahead.suppress)
level_peaks = kernel(fuse.level_peaks)
judge = kernel(acceptance.judge, cpu_ahead.judge)
accept = kernel(beats.accept, cpu_ahead.accept)
remember_quiet = kernel(beats.remember_quiet)
list_beats = kernel(beats.list_beats)
list_blocks = kernel(beats.list_blocks)
find_waves = kernel(flutter.find_waves, cpu_ahead.find_waves)
cut_window = kernel(windows.cut_window, cpu_ahead.cut_window)
place_in_time = kernel(history.place_in_time)
recall_size = kernel(history.recall_size, cpu_ahead.recall_size)
in_usual_size = kernel(history.in_usual_size)
is_known = kernel(history.is_known)
forward = kernel(network.forward)
recall_beats = kernel(history.recall_beats, cpu_ahead.recall_beats)
in_terms = kernel(history.in_terms)
weigh_beat = kernel(answer.weigh_beat)
score_beat = kernel(answer.score_beat)
is_answered = kernel(answer.is_answered)
tell_beat = kernel(answer.tell_beat)
take_stretch = kernel(ring.take_stretch, together=True)
read_piece = kernel(files.read_piece, together=True)
find_bins = kernel(drift.find_bins)
watch = kernel(drift.watch)
apply_rules = kernel(rules.apply_rules)
write_beat = kernel(avro.write_beat)

config.CACHE_DIR = _previous
