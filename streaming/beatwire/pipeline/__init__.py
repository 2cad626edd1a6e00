"""The streamz graph: all of it (``graph``), its parts (``parts``), its settings, and how far back a replay begins."""
