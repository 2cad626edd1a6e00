"""Names of the Kafka topics; keys, formats and retention are in the table of `beatwire.wire`."""

SAMPLES = "ecg.samples"
BEATS = "ecg.beats"
ALERTS = "ecg.alerts"
ACKS = "ecg.acks"
SETTINGS = "ecg.settings"
AUDIT = "ecg.audit"
DEAD_LETTERS = "ecg.samples.dlq"
OUTPUT = (BEATS, ALERTS, AUDIT, DEAD_LETTERS)  # of the monitor


def is_of_service(stream: str) -> bool:
    """Return True if a name is that of the feed or of a partition, about which there are alerts, and no device's.

    >>> is_of_service("ecg.samples/3"), is_of_service("bed-3")
    (True, False)
    """
    return stream.partition("/")[0] == SAMPLES
