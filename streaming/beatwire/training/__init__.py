"""Training of the shipped models, with cross-validated figures and cards.

``train_vae`` and ``train_detector`` are the entry points. torch and LightGBM are needed here only and are installed by
the extra ``train``.
"""
