"""A tick of JSON sample messages, read as one table by cuDF and by pyarrow, and converted message by message."""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from beatwire.bench.result import Log, Result, median_s
from beatwire.tables import read_json_lines
from beatwire.wire.json_chunk import json_to_avro

SIZES = (100, 1000, 10_000)  # messages of a tick
SAMPLES = 64  # of a message
REPEATS = 7


def messages(n: int) -> list[bytes]:
    """Return ``n`` messages of ``SAMPLES`` samples."""
    rng = np.random.default_rng(n)
    return [
        json.dumps({"stream": f"bed-{k}", "first": SAMPLES * k, "rate_hz": 250, "samples": samples.tolist()}).encode()
        for k, samples in enumerate(rng.integers(-2000, 2000, (n, SAMPLES)))
    ]


def measure_on_gpu(xp: Any, log: Log) -> Iterator[Result]:
    """Compare cuDF with pyarrow on ticks of joined messages.

    Raises
    ------
    ValueError
        The two parsers give different tables.
    """
    for n in SIZES:
        values = messages(n)
        text = b"\n".join(values)
        by_cudf, by_pyarrow = (partial(read_json_lines, text, n, module) for module in (xp, np))
        found, expected = by_cudf(), by_pyarrow()
        if (
            found is None
            or expected is None
            or found.fields != expected.fields
            or not (found.values == expected.values).all()
        ):
            raise ValueError(f"JSON tick of {n} messages: expected the table of pyarrow; got another one from cuDF")
        taken_ms = [1000 * median_s(parse, REPEATS) for parse in (by_cudf, by_pyarrow)]
        each_ms = 1000 * median_s(partial(lambda values: list(map(json_to_avro, values)), values), REPEATS)
        log(
            f"gpu: JSON tick of {n} messages: {taken_ms[0]:.1f} ms by cuDF, {taken_ms[1]:.1f} ms by pyarrow, "
            f"{each_ms:.1f} ms message by message"
        )
        yield Result(f"gpu, JSON tick of {n} messages, cuDF", taken_ms[0], "ms", "pyarrow", taken_ms[1])
