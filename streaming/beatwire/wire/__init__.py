"""The wire format: Avro and JSON messages, names of topics and headers."""
