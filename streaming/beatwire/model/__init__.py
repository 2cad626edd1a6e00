"""The shipped models on disk: the scoring VAE (``checkpoint``) and the detector's trees (``trees``).

``beatwire.training`` makes them; the stages ``history``, ``score``, ``drift`` and ``classify`` use them.
"""
