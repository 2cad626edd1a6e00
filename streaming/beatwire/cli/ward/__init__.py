"""Commands about a live ward."""
