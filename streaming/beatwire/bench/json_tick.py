"""A tick of JSON sample messages read as one table by cuDF and by pyarrow, and message by message."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from beatwire.bench.row import Row, median_s
from beatwire.tables import read_json_lines
from beatwire.wire.avro import json_to_avro

SIZES = (100, 1000, 10_000)
SAMPLES = 64
REPEATS = 7


def messages(n: int) -> list[bytes]:
    """Return ``n`` messages of ``SAMPLES`` samples."""
    rng = np.random.default_rng(n)
    return [
        json.dumps({"stream": f"bed-{k}", "first": SAMPLES * k, "rate_hz": 250, "samples": one.tolist()}).encode()
        for k, one in enumerate(rng.integers(-2000, 2000, (n, SAMPLES)))
    ]


def measure_on_gpu(xp: Any, say: Callable[[str], None]) -> Iterator[Row]:
    """Time both parsers on joined ticks; they say the same."""
    for n in SIZES:
        values = messages(n)
        text = b"\n".join(values)
        by_cudf, by_pyarrow = (partial(read_json_lines, text, n, there) for there in (xp, np))
        here, there = by_cudf(), by_pyarrow()
        if here is None or there is None or here.fields != there.fields or not (here.values == there.values).all():
            raise ValueError(f"JSON, {n} messages: cuDF and pyarrow do not say the same")
        taken_ms = [1000 * median_s(parse, REPEATS) for parse in (by_cudf, by_pyarrow)]
        one_by_one = 1000 * median_s(partial(lambda values: list(map(json_to_avro, values)), values), REPEATS)
        say(
            f"gpu: JSON tick of {n} messages: read by cuDF in {taken_ms[0]:.1f} ms, by pyarrow in {taken_ms[1]:.1f}; "
            f"to Avro one by one in {one_by_one:.1f}"
        )
        yield Row(f"gpu, JSON tick of {n} read by cuDF", taken_ms[0], "ms", "pyarrow", taken_ms[1])
