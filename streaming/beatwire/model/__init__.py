"""The VAE: how it is trained, measured, stored and read back. Scoring with it is ``stages.score``."""
