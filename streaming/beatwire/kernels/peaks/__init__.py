"""Peaks: whether a peak of the response is a heartbeat."""
