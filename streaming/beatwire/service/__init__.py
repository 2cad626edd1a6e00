"""The running monitor: its loop, its workers, metrics and the demo."""
