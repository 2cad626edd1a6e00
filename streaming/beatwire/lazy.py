"""A package whose names are imported when they are first used: a command loads no compiler to find a wrong path."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
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
