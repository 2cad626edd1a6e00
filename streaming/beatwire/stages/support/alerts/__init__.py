"""Alerts that are open, their messages, limits and reminders."""
