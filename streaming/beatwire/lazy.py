"""Modules that are imported late: a wrong path loads no compiler."""

import contextlib
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from threading import Thread
from typing import Any


def lazily(package: str, **modules: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package.

    Parameters
    ----------
    package
        Its name.
    modules
        Module of the package -> names in it that the package has too, separated by blanks.

    Examples
    --------
    >>> lazily("beatwire.tables", columns="arrow frame")("arrow").__module__
    'beatwire.tables.columns'
    """
    home = {name: module for module, names in modules.items() for name in names.split()}

    def attribute(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{home[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return attribute


@cache
def import_in_background(name: str) -> Thread:
    """Start a thread that imports a module, once a name; return the thread."""

    def work() -> None:
        with contextlib.suppress(ImportError):  # without cuDF, pyarrow parses the tables
            import_module(name)

    thread = Thread(target=work, daemon=True)
    thread.start()
    return thread
