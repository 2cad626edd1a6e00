"""Training of the scoring VAE."""
