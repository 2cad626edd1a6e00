"""Speed, latency and memory, each beside another program or a limit of the same run.

A benchmark is a function that takes a logger and yields :class:`Result`; it asserts nothing. ``BENCHMARKS`` lists them.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from beatwire_producers.bundles import check_bundle

from beatwire.bench import accuracy, archive, detection, graph, hours, memory, recording
from beatwire.bench.broker import feed, garbage, handover, live, live_many, preloaded
from beatwire.bench.card import gpu
from beatwire.bench.pages import page
from beatwire.bench.result import Log, Result
from beatwire.errors import UserError
from beatwire.service.warmup import warm_up

BENCHMARKS: dict[str, Callable[[Log], Iterator[Result]]] = {
    "detection": detection.measure,
    "graph": graph.measure,
    "memory": memory.measure,
    "hours": hours.measure,
    "recording": recording.measure,
    "archive": archive.measure,
    "accuracy": accuracy.measure,
    "gpu": gpu.measure,
    "preloaded": preloaded.measure,
    "garbage": garbage.measure,
    "live": live.measure,
    "feed": feed.measure,
    "handover": handover.measure,
    "page": page.measure,
}
SINGLE_CORE = {"detection", "graph", "memory"}


def run_benchmarks(
    names: Sequence[str], *, log: Log = print, live_streams: live_many.Plan | None = None
) -> list[Result]:
    """Run the named benchmarks, all if there are no names, and return their results.

    Parameters
    ----------
    live_streams
        What ``live`` sends in place of its 2,000 streams.

    Raises
    ------
    UserError
        There is no benchmark of that name.
    """
    for name in names:
        if name not in BENCHMARKS:
            raise UserError(f"bench: expected one of {', '.join(BENCHMARKS)}; got {name!r}")
    benchmarks = dict(BENCHMARKS)
    if live_streams is not None:
        check_bundle(live_streams.bundle)
        benchmarks["live"] = partial(live_many.measure, plan=live_streams)
    warm_up(log)
    results: list[Result] = []
    for name in names or BENCHMARKS:
        log(f"{name}: running")
        with on_one_core(name in SINGLE_CORE):
            for result in benchmarks[name](log):
                measurement, value, against, ratio, target = result.cells
                log(f"{measurement}: {value} ({against}; ratio {ratio}{target and ', target ' + target})")
                results.append(result)
    return results


@contextmanager
def on_one_core(active: bool) -> Iterator[None]:
    """Pin this process to one core during the block if ``active`` and if the system supports it."""
    if not active or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
