"""beatwire: a streaming ECG monitor.

ECG chunks come in from Kafka or from a recording; heartbeats, anomaly scores and alerts go out.

Where to start:

- ``beatwire.pipeline.graph``: the whole signal path as one graph, from decoding to publishing.
- ``beatwire.stages``: the stages of that graph, one file each; their loops are in ``beatwire.kernels``.
- ``beatwire.pipeline.settings``: every setting of the graph, with its unit and default.
- ``beatwire.offline.analyze``: run a recording through the graph from Python.
- ``beatwire --help`` or ``python -m beatwire --help``: the commands.

Importing this package imports nothing else and writes nothing to disk.
"""

from typing import TYPE_CHECKING

__version__: str

if not TYPE_CHECKING:  # type checkers see the annotation above, and still report names that do not exist

    def __getattr__(name: str) -> str:
        """Return ``__version__``, read from the metadata of the installed package when it is first asked for."""
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib.metadata import version

        return version("beatwire")
