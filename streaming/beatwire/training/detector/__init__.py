"""Training of the detector's trees."""
