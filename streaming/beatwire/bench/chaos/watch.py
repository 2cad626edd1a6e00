"""What a run does to its processes: for how long a probe fails, and how their memory grows.

In: the workers, and a page beside them. Out: a line for whatever exceeds its limit. State: a thread that looks once a
second; the page is a process that ends with it.

A worker that takes partitions over needs memory for the replay, and once loads code that only large backlogs need. So
its memory is compared while it has as many partitions, from the third time on, and in three parts of that time: what
grows in each of them is kept by mistake.
"""

import http.client
import json
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, groupby, pairwise
from operator import attrgetter
from pathlib import Path
from statistics import median
from typing import NamedTuple, Self

from beatwire.bench.chaos.workers import Workers

FAILS_S = 15.0  # for which /healthz of a worker may fail in a row; one that does not answer fails, too
GROWTH = 0.15  # of the memory of a process, from each third of what is compared to the next
COMPARED_S = 150.0  # at least
SETTLED_S = 20.0  # after a change of the partitions: a worker returns freed memory at most every 10 s
CAUGHT_UP_S = 90.0  # from the last message to its commit
_INTERVAL_S = 1.0
_ANSWER_S = 2.0


class Look(NamedTuple):
    """What is seen of a process: resident memory, and the partitions that it covers; 0: it is not ready."""

    memory_mb: float
    partitions: int


class Watch:
    """Watches while the block runs.

    Attributes
    ----------
    worst_s : float
        The longest time for which a probe failed in a row.
    page_ended : int or None
        The exit code of a page that ended by itself.
    answers : int
        Probes that were answered with yes.
    looks : dict
        Process -> what is seen of it, once a second.
    """

    def __init__(self, workers: Workers, folder: Path) -> None:
        self._workers, self._folder, self._stop = workers, folder, threading.Event()
        self._failing_since_s: dict[int, float] = {}
        self._thread = threading.Thread(target=self._run, name="chaos-watch", daemon=True)
        self.worst_s, self.answers, self.looks = 0.0, 0, dict[str, list[Look]]()
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
        found += ["no worker has answered a probe"] * (not self.answers)
        found += [f"the page ended with code {self.page_ended}"] * (self.page_ended is not None)
        for name, thirds_mb in self.growth().items():
            if all(after_mb > before_mb * (1 + GROWTH) for before_mb, after_mb in pairwise(thirds_mb)):
                grown = " MB became ".join(f"{mb:.0f}" for mb in thirds_mb)
                found.append(f"{name}: {grown} MB, the limit is {GROWTH:.0%} more twice")
        return found

    def growth(self) -> dict[str, list[float]]:
        """Return the memory of each process that can be compared, in each third of that time, MB: see `compared`."""
        found = {name: compared(looks) for name, looks in self.looks.items()}
        return {
            name: [median(mb[len(mb) * k // 3 : len(mb) * (k + 1) // 3]) for k in range(3)]
            for name, mb in found.items()
            if mb
        }

    def look(self) -> None:
        """Look at the workers, once."""
        for worker in self._workers.free():
            self._note(f"worker {worker.number}", worker.process.pid, _covered(worker.port) if worker.port else 0)
            if not (worker.port and worker.ready):
                continue
            healthy = _is_healthy(worker.port)
            self.answers += healthy
            if healthy or worker not in self._workers.running:
                self._failing_since_s.pop(worker.number, None)
            else:
                since_s = self._failing_since_s.setdefault(worker.number, time.monotonic())
                self.worst_s = max(self.worst_s, time.monotonic() - since_s)

    def _run(self) -> None:
        while not self._stop.wait(_INTERVAL_S):
            self._note("page", self._page.pid, 1)
            self.look()

    def _note(self, name: str, process: int, partitions: int) -> None:
        """Note the memory of a process, where the machine says it; of one that has ended it is 0, and not counted."""
        try:
            pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        except OSError:
            return
        if pages:
            self.looks.setdefault(name, []).append(Look(pages * 4096 / 1e6, partitions))


def compared(looks: Sequence[Look]) -> list[float]:
    """Return the memory of a process at comparable times, MB; []: they are too few.

    These are the times with the number of partitions that it had most often, from the third time on. Where there was
    none, they are the latter half.
    """
    times: dict[int, list[list[float]]] = defaultdict(list)
    for partitions, same in groupby(looks, attrgetter("partitions")):
        times[partitions].append([look.memory_mb for look in same][round(SETTLED_S / _INTERVAL_S) :])
    times.pop(0, None)
    found = list[float]()
    for several in times.values():
        every = list(chain.from_iterable(several))
        found = max(found, list(chain(*several[2:])) if len(several) > 2 else every[len(every) // 2 :], key=len)
    return found if len(found) * _INTERVAL_S >= COMPARED_S else []


def _is_healthy(port: int) -> bool:
    return _answer(port, "/healthz") is not None


def _covered(port: int) -> int:
    """Return the partitions that a worker covers; 0 if it is not ready."""
    answer = _answer(port, "/readyz")
    return 0 if answer is None else int(json.loads(answer)["partitions"])


def _answer(port: int, path: str) -> bytes | None:
    """Return what a probe answers; None if that is no, or nothing."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_ANSWER_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.read() if answer.status == 200 else None
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
