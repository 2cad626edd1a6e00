"""A run of ``beatwire chaos``: disturb, wait until everything is published, compare.

In: `Settings`. Out: `Report`. The broker, the workers and their logs live as long as the run; the logs and the
data of the broker are kept if something differs.
"""

import contextlib
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from beatwire.bench.chaos.compare import Comparison, Output, compare_outputs
from beatwire.bench.chaos.disturb import disturb
from beatwire.bench.chaos.feed import LiveFeed, feeds_for
from beatwire.bench.chaos.plan import Counts, Kind, counted, endless
from beatwire.bench.chaos.undisturbed import undisturbed_output
from beatwire.bench.chaos.watch import Watch
from beatwire.bench.chaos.workers import Workers
from beatwire.errors import FatalError, UserError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.commits import group_lag
from beatwire.kafka.local import broker
from beatwire.kafka.reading.readers import read_letters_by_message, read_to_end
from beatwire.records.letters import Letter
from beatwire.service.warmup import warm_up
from beatwire.wire import names

GROUP = "chaos"
_START_S = 120.0  # until the first workers have joined
_SETTLE_S = 300.0  # until everything that was sent is published
_RETRY_S = 1.0  # before a disturbance for which there was no worker is tried again

Log = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Settings:
    """What is played, and what is disturbed.

    sources     recordings; none: a synthetic ward
    streams     number of streams
    seconds     signal of each stream; None: as the time allows
    speed       multiple of real time
    bundle      streams of a gateway, which sends their chunks in one message; 1: no gateways
    garbage     unusable messages between the others, for each of them
    faults      of devices and networks, as `beatwire_producers.faults.parse_faults` takes them
    workers     at the start
    partitions  of the topics
    events      a name of ``plan.SETS``; used without `counts`
    counts      the disturbances to make; the run ends after the last one
    minutes     duration of the disturbances without `counts`
    every_s     mean time between two disturbances, seconds
    seed        of everything random
    """

    sources: tuple[str, ...] = ()
    streams: int = 40
    seconds: float | None = None
    speed: float = 5.0
    bundle: int = 1
    garbage: float = 0.0
    faults: str | None = None
    workers: int = 2
    partitions: int = 8
    events: str = "all"
    counts: Counts = field(default_factory=Counts)
    minutes: float = 2.0
    every_s: float = 5.0
    seed: int = 1


@dataclass(slots=True)
class Report:
    """What was disturbed, and what came of it.

    events       kind of disturbance -> how often it was made
    output       beats, alerts, dead letters: see `Comparison`
    letters      messages with dead letters, one or many in each
    ended        workers that ended by themselves, a line each
    exit_codes   of the workers that were stopped
    unpublished  messages that were not published in time
    messages     sample messages
    seconds      duration of the disturbances
    settled_s    from the last message to its commit
    exceeded     what exceeds its limit in a soak, a line each: see `Watch`
    memory_mb    of the processes of a soak, in each third of comparable times: see `Watch`
    unhealthy_s  for which a probe failed in a row, in a soak
    logs         folder of the workers' logs and of the broker's data, if something differs
    """

    events: dict[str, int]
    output: dict[str, Comparison]
    letters: int
    ended: list[str]
    exit_codes: list[int]
    unpublished: int
    messages: int
    seconds: float
    settled_s: float
    exceeded: list[str] = field(default_factory=list)
    memory_mb: dict[str, list[float]] = field(default_factory=dict)
    unhealthy_s: float = 0.0
    logs: str | None = None

    @property
    def equal(self) -> bool:
        """Return True if nothing is lost, twice or different, no worker failed, and no limit is exceeded."""
        outputs = all(comparison.equal for comparison in self.output.values())
        return outputs and not (self.ended or self.unpublished or any(self.exit_codes) or self.exceeded)

    def as_dict(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints."""
        return {
            "equal": self.equal,
            "events": self.events,
            **{kind.replace(" ", "_"): comparison.as_dict() for kind, comparison in self.output.items()},
            "dead_letter_messages": self.letters,
            "messages": self.messages,
            "unpublished": self.unpublished,
            "workers_ended": self.ended,
            "exit_codes": self.exit_codes,
            "seconds": round(self.seconds, 1),
            "settled_s": round(self.settled_s, 1),
            "exceeded": self.exceeded,
            "memory_mb": self.memory_mb,
            "unhealthy_s": round(self.unhealthy_s, 1),
            "logs": self.logs,
        }


def run_chaos(settings: Settings, log: Log = lambda _: None) -> Report:
    """Disturb monitors on a real Kafka, and compare their output with that of an undisturbed run.

    Parameters
    ----------
    settings
        See `Settings`.
    log
        Called with a line for each disturbance.

    Raises
    ------
    UserError
        Kafka cannot be started on this machine, or a recording cannot be read.
    FatalError
        The workers do not start.
    """
    missing = broker.unavailable_reason()
    if missing is not None:
        raise UserError(f"chaos: expected a local Kafka; {missing}")
    feeds = feeds_for(settings.sources, settings.streams, settings.seed)
    warm_up(log)
    folder = Path(tempfile.mkdtemp(prefix="beatwire-chaos-"))
    with broker.LocalKafka(folder / "kafka", partitions=settings.partitions, behind_network=True) as kafka:
        workers = Workers(kafka.cluster, GROUP, folder)
        feed = LiveFeed(
            feeds, kafka.cluster, settings.speed, settings.seconds, bundle=settings.bundle, garbage=settings.garbage,
            faults=settings.faults, seed=settings.seed,
        )  # fmt: skip
        watch = Watch(workers, folder) if settings.events == "soak" else None
        try:
            for _ in range(settings.workers):
                workers.start()
            if not workers.wait_ready(_START_S):
                raise FatalError(f"chaos: expected {settings.workers} workers within {_START_S:g} s; see {folder}")
            feed.start()
            workers.wait_until(lambda: feed.begun or feed.over, _START_S)
            began_s = time.monotonic()
            with watch or contextlib.nullcontext():
                events = _disturb(settings, workers, kafka, feed, log)
                seconds = time.monotonic() - began_s
                unpublished, settled_s = _settle(workers, feed, log)
        finally:
            workers.close()
        log("reading what was published, and what an undisturbed run publishes")
        letters = list(read_letters_by_message(kafka.cluster))
        output = compare_outputs(undisturbed_output(kafka.cluster), published_output(kafka.cluster, letters))
    report = Report(
        dict(events), output, len(letters), workers.ended, workers.exit_codes, unpublished, feed.messages, seconds,
        settled_s, watch.exceeded(settled_s) if watch else [], watch.growth() if watch else {},
        watch.worst_s if watch else 0.0, str(folder),
    )  # fmt: skip
    if report.equal:
        shutil.rmtree(folder, ignore_errors=True)
        report.logs = None
    return report


def _disturb(settings: Settings, workers: Workers, kafka: broker.LocalKafka, feed: LiveFeed, log: Log) -> Counter[str]:
    """Make the disturbances; return how many of each kind."""
    rng = random.Random(settings.seed)  # noqa: S311
    made: Counter[str] = Counter()
    began_s = time.monotonic()

    def over() -> bool:
        return feed.over or _time_is_over(settings, time.monotonic() - began_s)

    for kind in _plan(settings):
        workers.pause(rng.uniform(0.5, 1.5) * settings.every_s)
        while not over() and not disturb(kind, workers, kafka, feed, rng):
            workers.pause(_RETRY_S)
        if over():
            break
        made[kind.value] += 1
        log(f"{time.monotonic() - began_s:6.1f} s  {kind.value}, {len(workers.running)} workers")
    if settings.counts:
        workers.pause(settings.every_s)
    else:
        workers.wait_until(over, float("inf"))
    return made


def _plan(settings: Settings) -> Iterator[Kind]:
    if settings.counts:
        return counted(settings.counts, settings.seed)
    return endless(settings.events, settings.seed)


def _time_is_over(settings: Settings, seconds: float) -> bool:
    """Return True if the disturbances have lasted long enough; neither counts nor a length of signal have a time."""
    return not settings.counts and settings.seconds is None and seconds > 60.0 * settings.minutes


def _settle(workers: Workers, feed: LiveFeed, log: Log) -> tuple[int, float]:
    """Stop the feed, wait until all is published, stop the workers.

    Returns
    -------
    unpublished : int
        Messages that were not published.
    seconds : float
        For which was waited.
    """
    feed.stop()
    log(f"{feed.messages} messages are sent; waiting until they are published")
    workers.tend(all_frozen=True)
    began_s = time.monotonic()
    workers.wait_until(lambda: _lag(workers) == 0, _SETTLE_S)
    settled_s = time.monotonic() - began_s
    unpublished = group_lag(workers.cluster, GROUP)
    workers.wait_ready(_START_S)  # before it has joined, a worker ends by the signal itself
    for worker in list(workers.running):
        workers.stop(worker)
    return unpublished, settled_s


def _lag(workers: Workers) -> int:
    """Return the messages that are not published, -1 if the broker does not answer."""
    try:
        return group_lag(workers.cluster, GROUP)
    except FatalError:
        return -1


def published_output(cluster: Cluster, letters: Iterable[list[Letter]]) -> Output:
    """Return what has been published; ``letters`` are the dead letters by message."""
    published = {
        topic: [value for _, value in read_to_end(cluster, topic) if value] for topic in (names.BEATS, names.ALERTS)
    }
    return published | {names.DEAD_LETTERS: list(chain.from_iterable(letters))}
