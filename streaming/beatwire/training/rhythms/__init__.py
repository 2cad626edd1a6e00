"""Training of the judges of fibrillation."""
