"""The streamz graph, its settings, and how far back a replay begins."""

from beatwire.pipeline.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.settings import HORIZON_S

__all__ = ["HORIZON_S", "Pipeline", "Settings"]
