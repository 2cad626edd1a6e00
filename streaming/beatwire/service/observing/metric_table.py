"""The metrics that a monitor serves: name, kind, labels, meaning. The page of metrics is made from this table."""

from typing import NamedTuple


class Kind(NamedTuple):
    """A metric; `text` is its help text, too."""

    name: str
    kind: str  # counter, gauge or histogram
    labels: tuple[str, ...]
    text: str


_KINDS = (
    Kind("beatwire_build_info", "gauge", ("version", "model", "backend"), "always 1"),
    Kind("beatwire_messages_total", "counter", (), "sample messages processed and published"),
    Kind("beatwire_beats_total", "counter", (), "heartbeats published"),
    Kind("beatwire_ticks_total", "counter", (), "ticks published, those without messages too"),
    Kind("beatwire_rejects_total", "counter", ("reason",), "messages sent to the dead-letter topic"),
    Kind(
        "beatwire_chunks_total", "counter", ("what",), "chunks by what happened to them, since the last assignment"
    ),
    Kind("beatwire_streams", "gauge", (), "streams with state in memory"),
    Kind("beatwire_latency_seconds", "histogram", (), "from arrival of a message at the broker to its publication"),
    Kind(
        "beatwire_lag_seconds", "gauge", (), "age of the newest message of the last tick; 0 if no more were waiting"
    ),
    Kind("beatwire_tick_seconds", "histogram", (), "from the beginning of a tick to its publication"),
    Kind("beatwire_stage_seconds", "histogram", ("stage",), "time of a stage in a tick; send: the transaction"),
    Kind(
        "beatwire_alert_transitions_total", "counter", ("rule", "state", "priority"),
        "alerts published, by the state that they changed to",
    ),
    Kind("beatwire_alerts_active", "gauge", ("rule", "priority"), "alerts that are on"),
    Kind("beatwire_healthy", "gauge", (), "1 while the loop turns, as the probe answers"),
    Kind("beatwire_ready", "gauge", (), "1 while partitions are assigned and none is replayed"),
    Kind("beatwire_assigned_partitions", "gauge", (), "partitions of this worker, 0 while the assignment changes"),
    Kind("beatwire_held_partitions", "gauge", (), "partitions that wait for the schema registry"),
    Kind("beatwire_interrupted", "gauge", (), "1 during the replay after an assignment: nothing is published"),
    Kind("beatwire_interrupted_seconds_total", "counter", (), "time of replays"),
    Kind("beatwire_interruption_duration_seconds", "histogram", (), "from an assignment to the end of its replay"),
    Kind("beatwire_assignments_total", "counter", (), "changes of the assignment of partitions"),
    Kind("beatwire_replayed_messages_total", "counter", (), "messages replayed after an assignment"),
    Kind("beatwire_stale_ticks_total", "counter", (), "ticks whose outcome was unknown, published or read again"),
    Kind(
        "beatwire_expired_messages_total", "counter", ("what",),
        "samples that retention deleted before they were read (unread) or replayed (replay)",
    ),
    Kind(
        "beatwire_unusable_messages_total", "counter", ("topic",),
        "messages on the topics of alerts, acknowledgements and settings that are none, since the start",
    ),
    Kind(
        "beatwire_ignored_acknowledgements_total", "counter", (),
        "acknowledgements of no alert in force, since the last assignment",
    ),
    Kind("beatwire_streams_with_limits", "gauge", (), "streams whose limits differ from the defaults"),
    Kind("beatwire_streams_with_hum", "gauge", (), "streams with mains hum of 0.05 mV or more in a lead; not of a GPU"),
    Kind("beatwire_gpu_memory_bytes", "gauge", ("what",), "memory pool of the GPU in use: now, most"),
    Kind("beatwire_gpu_allocations_total", "counter", (), "allocations by the memory pool"),
    Kind(
        "beatwire_drift_stability_index", "gauge", ("of",), "last minute of all streams against the model's reference"
    ),
    Kind("beatwire_stream_drift", "gauge", ("of", "quantile"), "drift of single streams, quantiles over streams"),
    Kind("beatwire_streams_drifting", "gauge", (), "streams whose drift is above the model's limit"),
    Kind("beatwire_stream_looks", "gauge", ("stream",), "distance of the furthest 20 of these"),
)  # fmt: skip

METRICS = {kind.name: kind for kind in _KINDS}
