"""Brokers that run on this machine: Apache Kafka as a process, and librdkafka's mock cluster."""
