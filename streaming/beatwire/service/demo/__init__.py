"""The demo: a synthetic ward with planted events, and its page."""
