"""Brokers on this machine: Apache Kafka as a process (`broker`, `jvm`), and librdkafka's mock cluster (`mock`)."""
