"""Evaluation of beats: detection, classes, confidence, noise, movement, and the peers."""
