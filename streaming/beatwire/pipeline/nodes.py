"""``Stream`` of streamz, imported without Dask: that import takes longer than all others of a start together.

Where Dask is installed, streamz imports it to ask for its client. It finds the client here once somebody else has
imported Dask. ``streamz.dask``, which adds ``scatter``, can be imported as before.

streamz logs what a node raises, and passes it on. An error that ends a command is a line of its own there, or somebody
gets over it: its traceback is not logged.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from beatwire.errors import FatalError, UserError

OF_DASK = ("dask", "distributed")


@contextmanager
def _missing(*packages: str) -> Iterator[None]:
    """Let packages that nobody has imported appear as not installed."""
    hidden = [name for name in packages if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: an import fails
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


with _missing(*OF_DASK):
    from streamz import Stream, core


def _client() -> Any:
    """Return Dask's default client; raise ValueError if there is none, as Dask does."""
    dask = sys.modules.get("distributed.client")
    if dask is None:
        raise ValueError("Dask is not imported")
    return dask.default_client()


core._dask_default_client = _client  # noqa: SLF001
core.logger.addFilter(lambda record: not isinstance(record.msg, FatalError | UserError))

__all__ = ["Stream"]
