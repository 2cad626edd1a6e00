"""Synthetic ECG with its ground truth."""
