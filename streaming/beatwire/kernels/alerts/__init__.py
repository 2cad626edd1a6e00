"""Alerts: the rules, and the state of a stream's alerts."""
