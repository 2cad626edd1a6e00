"""Training of the beat classes."""
