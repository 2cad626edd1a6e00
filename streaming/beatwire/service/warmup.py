"""Have the machine code of all kernels, and memory, ready before the first sample comes."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.jit.cache import cache_folder
from beatwire.pipeline.graph import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import RawTick
from beatwire.service.process_tuning import keep_freed_memory, spare_collector
from beatwire.wire.avro import encode_chunk


def warm_up(say: Callable[[str], None], backend: Backend = CPU) -> None:
    """Take a few made-up chunks through a graph of their own; says so when that takes a while.

    A sawtooth with a spike a second and a gap to bridge reaches every kernel: beats, windows, scores, rules.
    """
    keep_freed_memory()
    say_if_compiling(say)
    begin = time.perf_counter()
    for _ in backend.rehearsals():
        _rehearse(backend)
    spare_collector()
    took_s = time.perf_counter() - begin
    if took_s > 5:
        say(f"kernels compiled in {took_s:.0f} s; the next start takes a second")


def say_if_compiling(say: Callable[[str], None]) -> None:
    """Say that kernels have to be compiled first, where none are kept."""
    folder = cache_folder()
    if not folder.is_dir() or not any(folder.rglob("*.nbc")):
        say("compiling the kernels, once for this version: one to two minutes")


def _rehearse(backend: Backend) -> None:
    pipeline = Pipeline(Settings(), backend)
    signal = (np.arange(2500) % 50).astype(np.int16)
    signal[::250] = 2000
    for first in range(0, 2500, 125):
        part = signal[first : first + (100 if first == 1500 else 125)]
        values = [
            encode_chunk(f"warm-up {bed} {len(leads)}", 1, first, 0, 250.0, leads, np.stack([part] * len(leads)))
            for bed in range(1 if first < 1250 else 2)  # to a kernel one row is not like several
            for leads in (["I"], ["I", "II"])
        ]
        pipeline.emit(RawTick.of(values, now_us=first))
