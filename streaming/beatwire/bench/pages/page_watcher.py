"""A browser without a screen that watches 64 beds until it is ended.

``python -m beatwire.bench.pages.page_watcher URL``. No module of the package imports this one: it is only run.
"""

import sys
from contextlib import suppress

from beatwire.bench.pages.page_browser import handle, watching

BEDS = 64


def watch(url: str, beds: int = BEDS) -> None:
    """Take what is sent until the connection closes."""
    from websockets.exceptions import ConnectionClosed

    with watching(url, beds) as socket, suppress(ConnectionClosed):
        for raw in socket:
            if isinstance(raw, bytes):
                handle(socket, raw)


if __name__ == "__main__":
    watch(sys.argv[1])
