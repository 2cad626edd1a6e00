"""An archive of the classes that a node loads: a node starts with it in half the time.

``make`` writes it, once for a Java and a folder of jars, into the user's cache. Java checks that it fits, and loads the
classes from the jars where it does not.
"""

import contextlib
import hashlib
from collections.abc import Sequence
from pathlib import Path

from beatwire.kafka.local.jvm import find_jars, find_java, own_cache
from beatwire.locks import locked


def archive_of(java: Path, jars: Path) -> Path:
    """Return the path of the archive for a Java and a folder of jars; it need not exist."""
    real = java.resolve()
    status = real.stat()
    key = hashlib.sha256(f"{real} {status.st_size} {status.st_mtime_ns} {jars.resolve()}".encode()).hexdigest()[:16]
    return own_cache() / "java" / f"{key}.jsa"


def from_archive(java: Path, jars: Path) -> Sequence[str]:
    """Return the options of a Java that loads classes from their archive, where there is one."""
    archive = archive_of(java, jars)
    return (f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", "-Xlog:cds*=off") if archive.exists() else ()


def write_archive() -> None:
    """Run a node once, and keep an archive of the classes that it has loaded; a Java that cannot do so keeps none."""
    from beatwire.kafka.local.broker import LocalKafka  # it imports this module

    class Recorded(LocalKafka):
        options: Sequence[str]

        def _format(self, properties: Path) -> None:
            node, self.options = self.options, from_archive(self.java, self.jars)
            super()._format(properties)
            self.options = node

    java, jars = find_java(), find_jars()
    archive = archive_of(java, jars)
    if not any((java.resolve().parents[1] / "lib" / "server").glob("classes*.jsa")):
        return  # this Java has no archive of its own classes, which ours would build on
    archive.parent.mkdir(parents=True, exist_ok=True)
    with locked(archive.with_suffix(".lock")):
        if archive.exists():
            return
        written = archive.with_suffix(".part")
        kafka = Recorded(partitions=1)
        kafka.options = (f"-XX:ArchiveClassesAtExit={written}", "-Xlog:cds*=off")
        with kafka:
            kafka.stop(120.0)
        with contextlib.suppress(FileNotFoundError):
            written.rename(archive)
