"""How the priorities of alerts look on a terminal: stars, as on bedside monitors, and a colour."""

STARS = {"high": "***", "medium": "**", "low": "*"}
STYLES = {"high": "bold red", "medium": "yellow", "low": "cyan"}
