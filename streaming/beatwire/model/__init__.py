"""The shipped models on disk, read and checked.

``beatwire.training`` makes them; the stages ``history``, ``score``, ``drift`` and ``classify`` use them.
"""
