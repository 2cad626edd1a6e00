"""Names of the Kafka topics."""

from __future__ import annotations

SAMPLES = "ecg.samples"
BEATS = "ecg.beats"
ALERTS = "ecg.alerts"
ACKS = "ecg.acks"
DEAD_LETTERS = "ecg.samples.dlq"
