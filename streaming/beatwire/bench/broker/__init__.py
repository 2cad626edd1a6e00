"""Benchmarks with a broker."""
