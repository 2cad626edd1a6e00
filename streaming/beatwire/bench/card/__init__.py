"""Benchmarks of a card."""
