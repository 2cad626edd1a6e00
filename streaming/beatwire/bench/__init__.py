"""``beatwire bench``: the bars, each measured in the same run as what it is compared with.

A benchmark is a function that yields rows; it asserts nothing. Which there are: ``BENCHMARKS``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from beatwire.bench import accuracy, archive, detection, gpu, graph, live, memory, preloaded
from beatwire.bench.row import Row
from beatwire.errors import UserError
from beatwire.service.warmup import warm_up

Say = Callable[[str], None]
BENCHMARKS: dict[str, Callable[[Say], Iterator[Row]]] = {
    "detection": detection.measure,
    "graph": graph.measure,
    "memory": memory.measure,
    "archive": archive.measure,
    "accuracy": accuracy.measure,
    "gpu": gpu.measure,
    "preloaded": preloaded.measure,
    "live": live.measure,
}
ONE_CORE = {"detection", "graph", "memory"}


def run_benchmarks(names: Sequence[str], *, say: Say = print) -> list[Row]:
    """Run some benchmarks, all by default; returns their rows.

    Raises
    ------
    UserError
        There is no such benchmark.
    """
    for name in names:
        if name not in BENCHMARKS:
            raise UserError(f"bench: expected one of {', '.join(BENCHMARKS)}; got {name!r}")
    warm_up(say)
    rows: list[Row] = []
    for name in names or BENCHMARKS:
        say(f"{name}: running")
        with on_one_core(name in ONE_CORE):
            for row in BENCHMARKS[name](say):
                what, value, against, ratio, verdict = row.cells
                say(f"{what}: {value} ({against}; ratio {ratio}{verdict and ', ' + verdict})")
                rows.append(row)
    return rows


@contextmanager
def on_one_core(wanted: bool) -> Iterator[None]:
    """Keep this process on one core while the block runs, where the system can do that."""
    if not wanted or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
