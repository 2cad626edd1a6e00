"""Training of the two shipped models, the scoring VAE and the detector's trees, with cross-validated figures.

``train_vae`` and ``train_detector`` are the entry points. torch and LightGBM are needed here only and are installed by
the extra ``train``.
"""
