"""Readers of one format each, by a library that is imported when a file of that format is read."""
