"""Where remarks go that the caller takes no part in."""

import sys


def on_stderr(text: str) -> None:
    """Print a remark on standard error."""
    sys.stderr.write(f"beatwire: {text}\n")
