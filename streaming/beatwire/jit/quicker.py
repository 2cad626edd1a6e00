"""Numba compiles kernels in less time when it remembers what it resolves; the machine code is the same.

For each ``+`` Numba tries a dozen implementations, for strings, sets and dates too, and formats an error for each that
does not fit, with a terminal for its colours. To find what it has compiled before it compares all options of the
compiler by name. It searches all that an instruction refers to for variables. And Python's cycle collector searches the
trees of instructions again and again. Numba has no options for these: functions of it are replaced while a kernel is
compiled. That they exist is checked by ``tests/kernels/test_canary.py``.
"""

from __future__ import annotations

import contextlib
import functools
import gc
from collections.abc import Iterator
from typing import Any

from numba.core import errors, ir, types
from numba.core.targetconfig import TargetConfig
from numba.core.types.functions import BaseFunction

_OBJECTS = 100_000  # new objects between two collections: a kernel takes no more memory with it
_NO_VARIABLES = {str, int, float, bool, complex, type(None), ir.Loc}
_PLAIN = (types.Number, types.Boolean, types.Array, types.NumberClass, types.Literal)
_resolve = BaseFunction.get_call_type
_resolved: dict[tuple[Any, ...], tuple[Any, Any]] = {}


@contextlib.contextmanager
def quicker() -> Iterator[None]:
    """Let Numba remember what it resolves, and Python collect cycles rarely, while a kernel is compiled."""
    replaced = {
        (BaseFunction, "get_call_type"): get_call_type,
        (TargetConfig, "__eq__"): equal,
        (TargetConfig, "__hash__"): hashed,
        (ir.Inst, "_rec_list_vars"): variables,
        (errors, "ColorShell"): contextlib.nullcontext,  # there where colorama is installed
    }
    originals = {(owner, name): vars(owner)[name] for owner, name in replaced if name in vars(owner)}
    threshold = gc.get_threshold()
    try:
        gc.set_threshold(max(_OBJECTS, threshold[0]), *threshold[1:])
        for owner, name in originals:
            setattr(owner, name, replaced[owner, name])
        yield
    finally:
        gc.set_threshold(*threshold)
        for (owner, name), function in originals.items():
            setattr(owner, name, function)


def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """Return the signature of a function of Numba for these types, as ``BaseFunction.get_call_type``.

    That of a function which Numba generates itself depends on the types alone. One that Numba compiles depends on the
    options of the compiler too, and is resolved each time.
    """
    if kws or not all(isinstance(one, _PLAIN) for one in args):
        return _resolve(self, context, args, kws)
    key = id(self), id(context), args
    if key not in _resolved:
        signature = _resolve(self, context, args, kws)
        if self._impl_keys[signature.args] != self.typing_key:
            return signature
        _resolved[key] = signature, (self, context)  # kept, so that no other object has their ids
    return _resolved[key][0]


def equal(self: Any, other: object) -> Any:
    """Compare options, as ``TargetConfig.__eq__``; where the same are given, the others need no look."""
    if not isinstance(other, TargetConfig):
        return NotImplemented
    return self is other or self._values == other._values or self.values() == other.values()  # noqa: SLF001


def hashed(self: Any) -> int:
    """Return the hash of ``TargetConfig.__hash__``, which is that of the names of all options."""
    return _hash_of(tuple(self.options))


@functools.cache
def _hash_of(names: tuple[str, ...]) -> int:
    return hash(tuple(sorted(names)))


def variables(self: Any, value: Any) -> list[Any]:
    """Return the variables of what an instruction refers to, as ``Inst._rec_list_vars``."""
    if isinstance(value, ir.Var):
        return [value]
    if isinstance(value, ir.Inst):
        return value.list_vars()  # type: ignore[no-any-return]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [variable for one in parts if type(one) not in _NO_VARIABLES for variable in variables(self, one)]
