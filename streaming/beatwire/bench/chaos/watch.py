"""What a run does to its processes: for how long a probe fails, and how their memory grows.

In: the workers, and a page beside them. Out: a line for whatever exceeds its limit. State: a thread that looks once a
second; the page is a process that ends with it.
"""

import http.client
import subprocess
import sys
import threading
import time
from pathlib import Path
from statistics import median
from typing import Self

from beatwire.bench.chaos.workers import Workers

FAILS_S = 15.0  # for which /healthz of a worker may fail in a row; one that does not answer fails, too
GROWTH = 0.15  # of the memory of a process that is older than OLD_S, from its third quarter to its last
OLD_S = 360.0
CAUGHT_UP_S = 90.0  # from the last message to its commit
_INTERVAL_S = 1.0
_ANSWER_S = 2.0


class Watch:
    """Watches while the block runs.

    Attributes
    ----------
    worst_s : float
        The longest time for which a probe failed in a row.
    page_ended : int or None
        The exit code of a page that ended by itself.
    memory_mb : dict
        Process -> its resident memory at each look, MB.
    """

    def __init__(self, workers: Workers, folder: Path) -> None:
        self._workers, self._folder, self._stop = workers, folder, threading.Event()
        self._failing_since_s: dict[int, float] = {}
        self._thread = threading.Thread(target=self._run, name="chaos-watch", daemon=True)
        self.worst_s, self.memory_mb = 0.0, dict[str, list[float]]()
        self.page_ended: int | None = None

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "beatwire", "dashboard", "--port", "0"]
        command += ["--bootstrap-servers", self._workers.cluster.bootstrap]
        with (self._folder / "page.log").open("wb") as log:
            self._page = subprocess.Popen(command, stdout=log, stderr=log)  # noqa: S603
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.page_ended = self._page.poll()
        self._page.kill()
        self._page.wait()

    def exceeded(self, settled_s: float) -> list[str]:
        """Return what has exceeded its limit, a line each; ``settled_s``: from the last message to its commit."""
        found = [f"caught up after {settled_s:.0f} s, the limit is {CAUGHT_UP_S:g} s"] * (settled_s > CAUGHT_UP_S)
        found += [f"/healthz failed for {self.worst_s:.0f} s, the limit is {FAILS_S:g} s"] * (self.worst_s > FAILS_S)
        found += [f"the page ended with code {self.page_ended}"] * (self.page_ended is not None)
        for name, (before_mb, after_mb) in self.growth().items():
            if after_mb > before_mb * (1 + GROWTH):
                found.append(f"{name}: {before_mb:.0f} MB became {after_mb:.0f} MB, the limit is {GROWTH:.0%} more")
        return found

    def growth(self) -> dict[str, tuple[float, float]]:
        """Return the memory of each old process in the third and in the last quarter of its time, MB."""
        return {
            name: (median(found[len(found) // 2 : -(len(found) // 4)]), median(found[-(len(found) // 4) :]))
            for name, found in self.memory_mb.items()
            if len(found) * _INTERVAL_S > OLD_S
        }

    def look(self) -> None:
        """Look at the workers, once."""
        for worker in self._workers.free():
            self._note_memory(f"worker {worker.number}", worker.process.pid)
            if worker.port and worker.ready and not _is_healthy(worker.port) and worker in self._workers.running:
                since_s = self._failing_since_s.setdefault(worker.number, time.monotonic())
                self.worst_s = max(self.worst_s, time.monotonic() - since_s)
            else:
                self._failing_since_s.pop(worker.number, None)

    def _run(self) -> None:
        while not self._stop.wait(_INTERVAL_S):
            self._note_memory("page", self._page.pid)
            self.look()

    def _note_memory(self, name: str, process: int) -> None:
        """Note the memory of a process, where the machine says it; of one that has ended it is 0, and not counted."""
        try:
            pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        except OSError:
            return
        if pages:
            self.memory_mb.setdefault(name, []).append(pages * 4096 / 1e6)


def _is_healthy(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_ANSWER_S)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
