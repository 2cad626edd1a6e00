"""Readers outside the consumer group."""
