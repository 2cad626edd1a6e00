"""The command ``beatwire monitor``: connect graph, source and sink, and run them until a signal.

In: the settings of the command. Out: beats, alerts and dead letters in their topics, and the counters of the run.
"""

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.backends.patient import PatientCpu
from beatwire.kafka import topics
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.other_groups import GroupWatch
from beatwire.kafka.publishing.sink import Sink
from beatwire.kafka.reading.staff import StaffReader
from beatwire.kafka.rights import check_writable
from beatwire.kafka.schemas.registry import Registry
from beatwire.kafka.schemas.writer_schemas import WriterSchemas
from beatwire.kafka.topic_kinds import unfit_topics
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.service.fingerprint import fingerprint
from beatwire.service.monitor import Monitor
from beatwire.service.observing.alike_log import AlikeLog
from beatwire.service.observing.counters import Counters
from beatwire.service.observing.health import Health, LoopState
from beatwire.service.observing.instruments import Instruments
from beatwire.service.observing.logs import log_event, writes_json
from beatwire.service.observing.metrics import MonitorAnswers
from beatwire.service.observing.reject_log import RejectLog
from beatwire.service.observing.scatter_log import ScatterLog
from beatwire.service.observing.scorer_log import ScorerLog
from beatwire.service.observing.server import Server
from beatwire.service.observing.watchdog import Watchdog
from beatwire.service.observing.worker_answers import HOST as LOCALHOST
from beatwire.service.warmup import BEGINNING, warm_up
from beatwire.signals import stop_on_signals
from beatwire.wire import names

_UNPUBLISHED = "the last tick may not be published: a successor reads it again"


def run_monitor(
    cluster: Cluster,
    group: str,
    backend: Backend = CPU,
    delivery: str = "exactly-once",
    *,
    settings: Settings | None = None,
    score_within_s: float = 30.0,
    metrics_port: int | None = None,
    metrics_address: str = LOCALHOST,
    worker: int | None = None,
    registry: Registry | None = None,
) -> Counters:
    """Run the monitor until SIGINT or SIGTERM.

    Parameters
    ----------
    cluster, group
        The cluster, and the consumer group whose members share the streams.
    backend
        Runs the array stages of the graph: CPU or GPU.
    delivery
        ``exactly-once`` or ``at-least-once``.
    settings
        Of the graph; None: the defaults.
    score_within_s
        Beats that are further behind the broker, in seconds, are not scored; 0: all beats are scored.
    metrics_port, metrics_address
        TCP port for metrics and probes; 0: a free one; None: nothing is served. The address to listen on.
    worker
        Its number, if it is one of several workers, which serves its parent alone.
    registry
        Has the writers' schemas of framed messages; None: framed messages of any schema id are read as SampleChunk.

    Returns
    -------
    Counters
        What the monitor has done.

    Raises
    ------
    UserError
        No broker or no registry answers at the address, a topic is missing or may not be written, the model cannot be
        used, or the port is taken.
    FatalError
        The broker or the GPU has failed, or another process took the transactional id.
    """
    topics.check_broker(cluster, topics.TOPICS)
    if delivery == "exactly-once":  # otherwise the first message that is refused names its topic
        check_writable(cluster, names.OUTPUT)
    backend = patient(backend, score_within_s)
    pipeline = Pipeline(settings or Settings(), backend)
    pipeline.subscribe(pipeline.rejects, RejectLog().add)
    pipeline.subscribe(pipeline.aligned, ScatterLog(lambda: pipeline.directory).note)
    pipeline.subscribe(pipeline.aligned, AlikeLog(lambda: pipeline.directory).note)
    if pipeline.model.network.scorer is not None:
        pipeline.subscribe(pipeline.scored, ScorerLog(pipeline.model.network.scorer).note)
    log_event("backend", backend.reason, backend=backend.name)
    digests = fingerprint(pipeline.settings, delivery=delivery, score_within_s=score_within_s)
    check_kinds(cluster)
    counters, loop = Counters(), LoopState()
    with _served((metrics_address, metrics_port), worker, counters, loop, pipeline) as instruments:
        warm_up(
            lambda text: log_event("warm-up", text), backend, detector=pipeline.settings.detector,
            on_progress=_log_progress if writes_json() else None,
        )  # fmt: skip
        with (
            stop_on_signals() as stop,
            GroupWatch(cluster, group, partial(_log_groups, group)),
            Sink(cluster, exactly_once=delivery == "exactly-once", stop=stop) as sink,
            _answers_of(registry, cluster) as schemas,
            Source(cluster, group, schemas=schemas, settings=digests) as source,
            StaffReader(cluster, tuple(pipeline.limits.defaults)) as staff,
            Watchdog(Health(loop)),
        ):
            monitor = Monitor(
                pipeline, source, sink, staff=staff,
                score_within_s=score_within_s, instruments=instruments, counters=counters, loop=loop,
                keep_ended_s=pipeline.settings.lifecycle.keep_ended_s,
            )  # fmt: skip
            log_event(
                "monitoring",
                f"monitoring {cluster} as group {group!r}, {delivery}, model {pipeline.model.name}; Ctrl-C stops",
                bootstrap=cluster.bootstrap, group=group, delivery=delivery, model=pipeline.model.name,
            )  # fmt: skip
            monitor.run(stop)
    log_event(
        "stopped",
        f"stopped: {counters.messages} messages, {counters.beats} beats, {counters.alerts} alerts, "
        f"{counters.rejects} rejects; " + ("all published" if monitor.is_published else _UNPUBLISHED),
        messages=counters.messages, beats=counters.beats, alerts=counters.alerts, rejects=counters.rejects,
    )  # fmt: skip
    return counters


def patient(backend: Backend, score_within_s: float) -> Backend:
    """Return a CPU backend that does not wait for a stalled model, unless all beats have to be scored."""
    return PatientCpu(reason=backend.reason) if backend.in_order and score_within_s > 0 else backend


@contextmanager
def _answers_of(registry: Registry | None, cluster: Cluster) -> Iterator[WriterSchemas | None]:
    """Yield the answers of a registry, those about the topic of samples first; None without a registry."""
    if registry is None:
        yield None
        return
    with registry:
        known = registry.versions(names.SAMPLES, cluster.topic(names.SAMPLES))
        text = f"schema registry {registry.url}: {len(known)} versions of {names.SAMPLES}"
        log_event("registry", text, url=registry.url, versions=len(known))
        report = partial(log_event, "registry", level=logging.WARNING)
        with WriterSchemas(registry, known, report) as schemas:
            yield schemas


def check_kinds(cluster: Cluster) -> None:
    """Log a warning for each topic with which the broker does not do what the monitor depends on."""
    for unfit in unfit_topics(cluster):
        log_event(unfit.event, str(unfit), level=logging.WARNING)


def _log_groups(group: str, others: Sequence[str]) -> None:
    """Log a warning that other groups monitor the same topics."""
    log_event(
        "other groups",
        f"expected one group of monitors on these topics; got {group!r} and {', '.join(map(repr, others))}: each "
        "ends alerts of the other (another group needs topics of its own: kafka.prefix)",
        level=logging.WARNING, groups=others,
    )  # fmt: skip


def _log_progress(done: int, of: int) -> None:
    """Log that kernels are compiled, in place of a progress bar."""
    if done == 0:
        log_event("warm-up", f"{BEGINNING}: {of} kernels", kernels=of)


@contextmanager
def _served(
    place: tuple[str, int | None], worker: int | None, counters: Counters, loop: LoopState, pipeline: Pipeline
) -> Iterator[Instruments | None]:
    """Serve metrics and probes while the block runs; yield the instruments that they need, None without a port."""
    host, port = place
    if port is None:
        yield None
        return
    instruments = Instruments(pipeline)
    if worker is not None:  # its parent serves for all workers
        host, port = LOCALHOST, 0
    with Server(MonitorAnswers(counters, loop, pipeline, instruments), host, port) as server:
        if worker is None:
            log_event("serving", f"metrics and health on {server.place}", port=server.port)
        else:
            sys.stdout.write(f"{server.port}\n")
            sys.stdout.flush()
        yield instruments
