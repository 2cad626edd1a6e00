"""Names of the Kafka topics; keys, formats and retention are in the table of `beatwire.wire`."""

SAMPLES = "ecg.samples"
BEATS = "ecg.beats"
ALERTS = "ecg.alerts"
ACKS = "ecg.acks"
SETTINGS = "ecg.settings"
AUDIT = "ecg.audit"
DEAD_LETTERS = "ecg.samples.dlq"
