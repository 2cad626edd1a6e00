"""Recordings through the graph without a broker."""
