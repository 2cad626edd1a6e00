"""Training of the shipped models, with cross-validated figures and cards.

``specs.fit`` trains each of ``specs.SPECS``. torch and LightGBM are needed here only and are installed by
the extra ``train``.
"""
