"""Kafka: topics, source, sink, readers and the embedded broker; the only importer of confluent_kafka."""
