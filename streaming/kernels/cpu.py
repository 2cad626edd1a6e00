"""The bodies compiled for the CPU: ``name(n, *arrays)`` runs items 0..n-1 without the GIL.

``compiled`` turns a body and the bodies it calls into machine code and leaves their text alone,
so the same functions stay callable as Python: oracle, debugger and this file share one text.

Machine code is kept between runs in a folder named by the text of all kernels, because Numba
notices a change of the caller's file only.
"""

from __future__ import annotations

import functools
import hashlib
import os
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import config

from streaming.kernels import align, avro, beats, cpu_vector, directory, nms, ricker, ring, rules

Kernel = Callable[..., Any]


def cache_folder() -> Path:
    """Return the folder for the machine code of exactly these kernels; make it where caches are, if that may be."""
    texts = sorted(Path(__file__).parent.glob("*.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in texts)).hexdigest()[:16]
    caches, home = os.environ.get("XDG_CACHE_HOME"), os.environ.get("HOME")
    places = [Path(caches)] if caches else []
    places += [Path(home) / ".cache"] if home else []
    for place in places:
        folder = place / "beatwire" / "kernels" / digest
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return Path(tempfile.gettempdir()) / f"beatwire-{os.getuid()}" / "kernels" / digest


# Numba counts who holds an array, in two locked instructions for every row that is passed on; to pass an array by
# value is eight words. Together that was two fifths of the machine code's time. Nothing is allocated in a kernel, so
# nothing is counted (``_nrt``), and every body stands where it is called.
SURROUNDINGS = 128  # samples around a peak
_LEAN = {"nogil": True, "cache": True, "_nrt": False}
launcher: Callable[[Any], Any] = numba.njit(**_LEAN)


@functools.cache
def compiled(body: Any) -> Kernel:
    """Compile a body and every body it calls, or what stands in their place (``kernels.cpu_vector``)."""
    scope = dict(body.__globals__)
    for name in body.__code__.co_names:
        callee = scope.get(name)
        if isinstance(callee, types.FunctionType) and callee.__module__.startswith("streaming.kernels"):
            own = cpu_vector.BODIES.get(callee) if body.__module__ != cpu_vector.__name__ else None
            scope[name] = compiled(own or callee)
    copy = types.FunctionType(body.__code__, scope, body.__name__, body.__defaults__)
    copy.__module__ = body.__module__
    copy.__qualname__ = body.__qualname__
    fast = {"reassoc", "contract", "nsz"} if body in cpu_vector.IN_ANY_ORDER else False
    return numba.njit(copy, **_LEAN, error_model="numpy", forceinline=True, fastmath=fast)  # type: ignore[no-any-return]


_previous = config.CACHE_DIR
config.CACHE_DIR = str(cache_folder())

# What an item works on is in the second cache at best: it is asked for while the item before is worked on.
_fetch = compiled(cpu_vector.fetch)
_fetch_ring = compiled(cpu_vector.fetch_ring)
_read_chunk = compiled(avro.read_chunk)
_write_beat = compiled(avro.write_beat)
align_rows = compiled(align.align_rows)
_device_time = compiled(align.device_time)
_find_slot = compiled(directory.find_slot)
enter = compiled(directory.enter)
_write_samples = compiled(ring.write_samples)
_respond = compiled(ricker.respond)
_suppress = compiled(nms.suppress)
_accept = compiled(beats.accept)
_apply_rules = compiled(rules.apply_rules)
_begin_lane = compiled(ring.begin_lane)
_remember_quiet = compiled(beats.remember_quiet)
_list_beats = compiled(beats.list_beats)
_list_blocks = compiled(beats.list_blocks)


@launcher
def read_chunk(n: int, payload: Any, start: Any, schema_id: Any, ints: Any, floats: Any, code: Any) -> None:
    """Decode ``n`` messages."""
    for i in range(n):
        _read_chunk(i, payload, start, schema_id, ints, floats, code)


@launcher
def write_beat(
    n: int,
    buffer: Any,
    stop: Any,
    width: Any,
    ids: Any,
    id_size: Any,
    ints: Any,
    floats: Any,
    absent: Any,
    labels: Any,
    label_size: Any,
    label: Any,
    model: Any,
) -> None:
    """Encode ``n`` beats."""
    for i in range(n):
        _write_beat(i, buffer, stop, width, ids, id_size, ints, floats, absent, labels, label_size, label, model)


@launcher
def device_time(
    n: int, slot: Any, session: Any, sample: Any, rate_hz: Any, slots: Any, clocks: Any, time_us: Any
) -> None:
    """Tell the device time of ``n`` samples."""
    for i in range(n):
        _device_time(i, slot, session, sample, rate_hz, slots, clocks, time_us)


@launcher
def find_slot(n: int, payload: Any, ints: Any, table: Any, ids: Any, id_size: Any, slot: Any) -> None:
    """Look up the slots of ``n`` chunks."""
    for i in range(n):
        _find_slot(i, payload, ints, table, ids, id_size, slot)


@launcher
def begin_lane(n: int, lanes: Any, base: Any, x: Any) -> None:
    """Begin ``n`` lanes."""
    for i in range(n):
        _begin_lane(i, lanes, base, x)


@launcher
def write_samples(n: int, place: Any, payload: Any, x: Any) -> None:
    """Write ``n`` placements into the rings."""
    for i in range(n):
        if i + 2 < n:
            _fetch_ring(x[place[i + 2, 0], 0], place[i + 2, 1], abs(place[i + 2, 2]))
        _write_samples(i, place, payload, x)


@launcher
def respond(
    n: int, lanes: Any, start: Any, stop: Any, base: Any, taps: Any, box: Any, shift: Any, x: Any, f: Any, work: Any
) -> None:
    """Filter the new samples of ``n`` lanes."""
    for i in range(n):
        if i + 1 < n:
            early = taps.shape[0] + box
            _fetch_ring(x[lanes[i + 1], 0], start[i + 1] - 2 * early, stop[i + 1] - start[i + 1] + 2 * early)
            _fetch_ring(f[lanes[i + 1]], start[i + 1] - early, stop[i + 1] - start[i + 1])
        _respond(i, lanes, start, stop, base, taps, box, shift, x, f, work)


@launcher
def suppress(
    n: int,
    lanes: Any,
    start: Any,
    stop: Any,
    base: Any,
    delay: Any,
    left: Any,
    right: Any,
    block: Any,
    f: Any,
    maxima: Any,
    work: Any,
    found: Any,
    peaks: Any,
    closed: Any,
    blocks: Any,
) -> None:
    """Find the peaks of ``n`` lanes."""
    for i in range(n):
        if i + 1 < n:
            early = delay + left + right
            _fetch_ring(f[lanes[i + 1]], start[i + 1] - early, stop[i + 1] - start[i + 1] + early - delay)
            _fetch(maxima[lanes[i + 1]], 0, maxima.shape[1])
        _suppress(i, lanes, start, stop, base, delay, left, right, block, f, maxima, work, found, peaks, closed, blocks)


@launcher
def accept(
    n: int,
    lanes: Any,
    start: Any,
    base: Any,
    found: Any,
    peaks: Any,
    quiet: Any,
    uv_per_unit: Any,
    floor: Any,
    logits: Any,
    probability: Any,
    durations: Any,
    marking: Any,
    taps: Any,
    x: Any,
    state: Any,
    work: Any,
    count: Any,
    samples: Any,
    floats: Any,
) -> None:
    """Find the beats of ``n`` lanes."""
    for i in range(n):
        if i + 1 < n and found[i + 1] > 0:
            _fetch_ring(x[lanes[i + 1], 0], peaks[i + 1, 0, 0] - SURROUNDINGS // 2, SURROUNDINGS)
            _fetch(state[lanes[i + 1]], 0, state.shape[1])
        _accept(
            i, lanes, start, base, found, peaks, quiet, uv_per_unit, floor, logits, probability, durations, marking,
            taps, x, state, work, count, samples, floats,
        )  # fmt: skip


@launcher
def remember_quiet(n: int, quiet: Any, margin: Any, state: Any) -> None:
    """Take ``n`` quiet stretches into the state of their lanes."""
    for i in range(n):
        _remember_quiet(i, quiet, margin, state)


@launcher
def list_beats(
    n: int,
    first: Any,
    count: Any,
    lanes: Any,
    slots: Any,
    base: Any,
    samples: Any,
    floats: Any,
    rate_hz: Any,
    waited: Any,
    lane: Any,
    slot: Any,
    begin: Any,
    row: Any,
    sample: Any,
    decided: Any,
    rr_s: Any,
    median_rr_s: Any,
    response: Any,
    quality: Any,
    expected_errors: Any,
    restart: Any,
) -> None:
    """List the beats of ``n`` lanes."""
    for i in range(n):
        _list_beats(
            i, first, count, lanes, slots, base, samples, floats, rate_hz, waited, lane, slot, begin, row, sample,
            decided, rr_s, median_rr_s, response, quality, expected_errors, restart,
        )  # fmt: skip


@launcher
def list_blocks(
    n: int,
    first: Any,
    count: Any,
    blocks: Any,
    uv_per_unit: Any,
    unit: Any,
    flat_uv: Any,
    flat_units: Any,
    row: Any,
    end: Any,
    flat: Any,
) -> None:
    """List the blocks of ``n`` lanes."""
    for i in range(n):
        _list_blocks(i, first, count, blocks, uv_per_unit, unit, flat_uv, flat_units, row, end, flat)


@launcher
def apply_rules(
    n: int,
    run: Any,
    events: Any,
    rr_s: Any,
    median_rr_s: Any,
    anomalous: Any,
    early: Any,
    durations: Any,
    limits_bpm: Any,
    state: Any,
    count: Any,
    out: Any,
    values: Any,
) -> None:
    """Run the rules over ``n`` streams."""
    for i in range(n):
        _apply_rules(
            i,
            run,
            events,
            rr_s,
            median_rr_s,
            anomalous,
            early,
            durations,
            limits_bpm,
            state,
            count,
            out,
            values,
        )


config.CACHE_DIR = _previous
