"""The streamz graph and its settings."""

from beatwire.pipeline.graph import Pipeline
from beatwire.pipeline.settings import HORIZON_S, Settings

__all__ = ["HORIZON_S", "Pipeline", "Settings"]
