"""Readers of devices: each yields packets of one kind of source."""
