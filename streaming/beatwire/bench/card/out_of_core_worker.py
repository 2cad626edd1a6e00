"""The process of ``out_of_core``: ``python -m beatwire.bench.card.out_of_core_worker FILE WAY OUT``.

No module of the package imports this one: it is only run.
"""

import ctypes
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.backends.base import Backend
from beatwire.backends.choose import choose
from beatwire.bench.card.out_of_core import LEADS, LIMIT, MANAGED, PREFETCHED, RATE_HZ, REPEATS, WARM
from beatwire.offline.analyzer import Analyzer
from beatwire.pipeline.settings import Settings
from beatwire.recordings import Recording
from beatwire.settings import bytes_of


def in_managed_memory(backend: Backend, samples: np.ndarray) -> Any:
    """Return a copy of an int16 array in managed memory, as an array of the card; its pages are on the host."""
    xp = backend.xp
    managed = xp.ndarray(samples.shape, samples.dtype, xp.cuda.malloc_managed(samples.nbytes))
    pages = (ctypes.c_int16 * samples.size).from_address(managed.data.ptr)
    np.ctypeslib.as_array(pages).reshape(samples.shape)[:] = samples
    return managed


def move_to_card(backend: Backend, managed: Any) -> None:
    """Move all pages of an array in managed memory to the card, and wait for it."""
    runtime, stream = backend.xp.cuda.runtime, backend.xp.cuda.get_current_stream()
    runtime.memPrefetchAsync(managed.data.ptr, managed.nbytes, runtime.getDevice(), stream.ptr)
    stream.synchronize()


def work(path: Path, way: str, out: Path) -> None:
    """Analyse the file in one way; print the seconds of each run as JSON, write the beats to ``out``."""
    limit_bytes = bytes_of(LIMIT) if way == LIMIT else None
    backend = choose("gpu", limit_bytes=limit_bytes)
    samples = np.asarray(np.memmap(path, np.int16, "r").reshape(LEADS, -1))
    leads = tuple(f"lead {k}" for k in range(LEADS))
    analyzer = Analyzer(Settings(), backend=backend, memory_bytes=limit_bytes, rules=False)
    taken_s: list[float] = []
    for _ in range(WARM + REPEATS):
        own = in_managed_memory(backend, samples) if way in (MANAGED, PREFETCHED) else samples
        recording = Recording("out-of-core", RATE_HZ, leads, 5.0, own)
        begin = time.perf_counter()
        if way == PREFETCHED:
            move_to_card(backend, own)
        beats = analyzer.analyze(recording, "out-of-core")[0].beats
        taken_s.append(time.perf_counter() - begin)
        del own, recording  # managed memory of one run at a time
    np.savez(out, sample=beats.sample, score=np.asarray(beats.score))
    memory = backend.memory
    summary = {"seconds": taken_s[WARM:], "peak_bytes": memory.peak_bytes if memory is not None else 0}
    print(json.dumps(summary))  # noqa: T201


if __name__ == "__main__":
    work(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
