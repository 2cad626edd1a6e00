"""How the priorities of alerts look on a terminal: stars, as on bedside monitors, and a colour."""

from __future__ import annotations

STARS = {"high": "***", "medium": "**", "low": "*"}
STYLES = {"high": "bold red", "medium": "yellow", "low": "cyan"}
