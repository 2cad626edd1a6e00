"""Streams: slots, banks, sessions, and the waiting room."""
