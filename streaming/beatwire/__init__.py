"""beatwire: a streaming ECG monitor.

ECG chunks come in from Kafka, from a recording or from your own program; heartbeats, anomaly scores and alerts go out.

From Python::

    ecg, fs = beatwire.example()                # a minute of synthetic ECG
    result = beatwire.analyze(ecg, fs=fs)       # an array, a path, a wfdb.Record, a DataFrame
    result.beats, result.alerts, result.quality
    live = beatwire.Live(fs=250, leads=["II"])  # live.push(chunk) returns what is decided

``analyze``, ``archive``, ``iterate``, ``Live``, ``evaluate``, ``train``: docs/how-to/python.md. ``UserError`` says what
was expected and what came.

Where to start in the code:

- ``beatwire.pipeline.graph``: the whole signal path as one graph, from decoding to publishing.
- ``beatwire.stages``: the stages of that graph, one file each; their loops are in ``beatwire.kernels``.
- ``beatwire.pipeline.settings``: every setting of the graph, with its unit and default.
- ``beatwire --help`` or ``python -m beatwire --help``: the commands.

Importing this package imports nothing else and writes nothing to disk; a function is imported when it is first used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from beatwire.api.analyze import analyze as analyze
    from beatwire.api.archive import archive as archive
    from beatwire.api.commands import evaluate as evaluate
    from beatwire.api.commands import train as train
    from beatwire.api.example import example as example
    from beatwire.api.iterate import iterate as iterate
    from beatwire.api.live import Events as Events
    from beatwire.api.live import Live as Live
    from beatwire.api.result import Result as Result
    from beatwire.errors import UserError as UserError
    from beatwire.model.scorer import save_scorer as save_scorer
    from beatwire.offline.results.beat import Beat as Beat

    __version__: str

_MODULES = {
    "analyze": "api.analyze", "archive": "api.archive", "example": "api.example", "iterate": "api.iterate",
    "Live": "api.live", "Beat": "offline.results.beat", "Events": "api.live", "Result": "api.result",
    "evaluate": "api.commands", "save_scorer": "model.scorer", "train": "api.commands", "UserError": "errors",
}  # fmt: skip

__all__ = [
    "Beat", "Events", "Live", "Result", "UserError", "__version__", "analyze", "archive", "evaluate", "example",
    "iterate", "save_scorer", "train",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # type checkers see the imports above, and still report names that do not exist

    def __getattr__(name: str) -> Any:
        """Return a function or class, imported when it is first asked for; or ``__version__``."""
        from importlib import import_module, metadata

        if name == "__version__":
            return metadata.version("beatwire")
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value = getattr(import_module(f"beatwire.{_MODULES[name]}"), name)
        return value
