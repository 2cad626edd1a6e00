"""The processes of benchmarks: they start without a warning, and what they do not deliver is an error."""

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from beatwire import bench
from beatwire.bench.broker.live_many import READY, printed_by, quantiles_ms, wait_until_ready
from beatwire.errors import FatalError


def started(program: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-S", "-c", program], stdout=subprocess.PIPE, text=True)


def imported_by(text: str) -> set[str]:
    """Return the full names of what a module imports, and of the modules from which it does."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}", *(f"{node.module}.{one.name}" for one in node.names)}
        elif isinstance(node, ast.Import):
            names |= {one.name for one in node.names}
    return names


def test_no_benchmark_imports_a_module_that_is_run_as_a_process() -> None:
    """Otherwise Python warns that the module is there twice, as the package imports all benchmarks."""
    folder = Path(bench.__file__).parent
    texts = {path.relative_to(folder.parents[1]): path.read_text() for path in folder.rglob("*.py")}
    run = {".".join(path.with_suffix("").parts) for path, text in texts.items() if "\nif __name__ ==" in text}
    assert {"beatwire.bench.broker.live_many_worker", "beatwire.bench.card.out_of_core_worker"} <= run
    assert run & set().union(*map(imported_by, texts.values())) == set()


def test_quantiles_of_no_latency_are_an_error() -> None:
    counts = np.zeros(10_001, np.int64)
    with pytest.raises(FatalError, match=r"expected latencies .*; got none"):
        quantiles_ms(counts)
    counts[[3, 70]] = 98, 2
    assert quantiles_ms(counts) == (3.0, 70.0)


def test_a_worker_that_is_not_ready_is_an_error() -> None:
    for program, within_s, expected in (
        ("input()", 0.05, "ready within"),
        ("raise SystemExit(3)", 30.0, "got '', exit code 3"),
    ):
        with subprocess.Popen(
            [sys.executable, "-S", "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as worker:
            with pytest.raises(FatalError, match=expected):
                wait_until_ready(worker, within_s)
            worker.kill()
    with started(f"print({READY!r})") as worker:
        wait_until_ready(worker, 30.0)


def test_a_process_that_fails_or_goes_on_is_an_error() -> None:
    with started("print(7)") as process:
        assert printed_by(process, "producer", 30.0) == "7\n"
    with (
        started("raise SystemExit(3)") as process,
        pytest.raises(FatalError, match="exit code 0 of each producer; got 3"),
    ):
        printed_by(process, "producer", 30.0)
    with started("import time; time.sleep(60)") as process:
        with pytest.raises(FatalError, match=r"each worker within 0\.05 s; one still runs"):
            printed_by(process, "worker", 0.05)
        process.kill()
