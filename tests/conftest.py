"""Fixtures of all tests: the annotated recordings, the local Kafka broker, the GPU, a ward, a random generator."""

import gc
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beatwire.backends.choose import choose
from beatwire.kafka.local import broker
from beatwire.service import warmup
from beatwire.service.observing import logs
from beatwire.service.process_tuning import glibc_trim
from bedside import Ward, device_chunk
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from skips import skip_unless_ci

# The same draws in every run: a commit passes or fails by what it changes. Others: HYPOTHESIS_PROFILE=random. All of
# them, in place of a sixth: HYPOTHESIS_PROFILE=all. Nothing depends on how fast the machine is at the moment.
ANY_SPEED: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", derandomize=True, max_examples=16, **ANY_SPEED)
settings.register_profile("all", derandomize=True, **ANY_SPEED)
settings.register_profile("random", derandomize=False, **ANY_SPEED)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
if settings.default.derandomize:
    # Hypothesis also draws the constants of the modules of this project that happen to be loaded: with them the draws
    # would change with each number of the code, and with the tests that ran before in the same process.
    providers._get_local_constants = providers.Constants

LOGGERS = logs.LOGGER, logs.WAITING, logs.KAFKA
ECG = Path(__file__).parents[2] / "shared" / "ecg"


# What runs in the background of a shell ignores Ctrl-C, and so do its processes; tests end some of those by it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

WAITING = {"devices", "integration", "kafka", "page"}  # folders whose tests wait for brokers, browsers and clocks


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Let the first of several processes import all modules before the others: in a new clone it compiles them."""
    given = getattr(session.config, "workerinput", None)  # of a process of xdist; not of one that a test starts
    if given is None:
        return (yield)
    imported, latest = Path(session.config.option.basetemp).with_name("imported"), time.monotonic() + 60.0
    while given["workerid"] != "gw0" and not imported.exists() and time.monotonic() < latest:
        time.sleep(0.05)
    try:
        return (yield)
    finally:
        imported.touch()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let files that wait and files that calculate take turns: processes that share them leave no processor idle."""
    files = list(dict.fromkeys(item.path for item in items))
    waiting = [file for file in files if WAITING & set(file.parts)]
    kinds = waiting, [file for file in files if file not in set(waiting)]
    place = {file: (k + 0.5) / len(kind) for kind in kinds for k, file in enumerate(kind)}
    items.sort(key=lambda item: place[item.path])


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what the modules hold: they take three quarters of each full collection."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def memory_as_before() -> Iterator[None]:
    """Keep services that tests run in this process from tuning its memory: freed blocks and cycles would stay in it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warmup, "keep_freed_memory", lambda: False)
        patch.setattr(warmup, "spare_collector", lambda: None)
        yield


@pytest.fixture(autouse=True, scope="module")
def freed_memory_returned() -> Iterator[None]:
    """Return to the system what the tests of a file have freed."""
    yield
    if trim := glibc_trim():
        trim()


@pytest.fixture(autouse=True)
def logs_as_before() -> Iterator[None]:
    """Restore the loggers after a test: a command that it runs in this process configures them."""
    before = [(list(one.handlers), one.level, one.propagate) for one in LOGGERS]
    yield
    for one, (handlers, level, propagate) in zip(LOGGERS, before, strict=True):
        one.handlers[:] = handlers
        one.setLevel(level)
        one.propagate = propagate


@pytest.fixture(scope="session")
def ecg_folder() -> Path:
    """Return the folder of annotated recordings beside the checkout."""
    if not (ECG / "mitdb").is_dir():
        skip_unless_ci("expected annotated recordings in ../shared/ecg; the folder mitdb is missing there")
    return ECG


@pytest.fixture(scope="session")
def need_kafka() -> None:
    """Require a local Kafka broker."""
    missing = broker.unavailable_reason()
    if missing is not None:
        skip_unless_ci(f"expected a local Kafka broker: {missing}")


@pytest.fixture(scope="session")
def device() -> Any:
    """Return the GPU backend; all tests share one memory pool, because torch accepts an allocator only once."""
    return choose("gpu")


@pytest.fixture
def ward() -> Ward:
    """Return a ward whose one stream, ``bed``, has begun without an alert."""
    one = Ward()
    assert one.tick(device_chunk()) == []
    return one


@pytest.fixture
def rng() -> np.random.Generator:
    """Return a seeded generator."""
    return np.random.default_rng(20261121)
