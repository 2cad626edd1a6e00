"""The streamz graph (``graph``), its parts (``parts``), its settings, and the start of a replay (``rewind``)."""

from beatwire.pipeline.graph import Pipeline
from beatwire.pipeline.settings import HORIZON_S, Settings

__all__ = ["HORIZON_S", "Pipeline", "Settings"]
