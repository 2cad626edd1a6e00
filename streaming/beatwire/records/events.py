"""Kinds of events of a stream, in the order in which they travel within a pass."""

from __future__ import annotations

RESTART, GAP, LEADS_CHANGED, BEAT, BLOCK, WATERMARK, CLOCK, DRIFTED = range(8)
