"""Numba compiles kernels in less time when it remembers what it resolves; the machine code is the same.

For each ``+`` Numba tries a dozen implementations, for strings, sets and dates too, and formats an error for each
that does not fit, with a terminal for its colours. To find what it has compiled before it compares all options of the
compiler by name. It searches all that an instruction refers to for variables. For each array LLVM parses a module to
find the size of its parts. Each call of LLVM is an event for those that measure compilations. And Python's cycle
collector searches the trees of instructions again and again. Numba has no options for these: functions of it are
replaced while a kernel is compiled. That they exist is checked by ``tests/kernels/test_canary_compiler.py``.
"""

import contextlib
import functools
import gc
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from numba.core import base, errors, event, ir, types
from numba.core.targetconfig import TargetConfig
from numba.core.types.functions import BaseFunction

_OBJECTS = 100_000  # new objects between two collections: a kernel takes no more memory with it
_NO_VARIABLES = {str, int, float, bool, complex, type(None), ir.Loc}
_PLAIN = (types.Number, types.Boolean, types.Array, types.NumberClass, types.Literal)
_resolve = BaseFunction.get_call_type
_resolved: dict[tuple[Any, ...], tuple[Any, Any]] = {}
_size_of = base.BaseContext.get_abi_sizeof
_sizes: dict[tuple[str, str], int] = {}  # by layout and type


class _Replaced:
    """Whether functions of Numba are replaced: from the first of the threads that compile to the last one."""

    def __init__(self) -> None:
        self._lock, self._users = threading.Lock(), 0
        self._originals: dict[tuple[Any, str], Any] = {}
        self._threshold, self._raised = gc.get_threshold(), gc.get_threshold()

    def begin(self) -> None:
        """Replace them, and let the collector run rarely, where it runs at all."""
        with self._lock:
            self._users += 1
            if self._users > 1:
                return
            replaced: dict[tuple[Any, str], Any] = {
                (BaseFunction, "get_call_type"): get_call_type,
                (TargetConfig, "__eq__"): equal,
                (TargetConfig, "__hash__"): hashed,
                (ir.Inst, "_rec_list_vars"): variables,
                (base.BaseContext, "get_abi_sizeof"): size_of,
                (errors, "ColorShell"): contextlib.nullcontext,  # there where colorama is installed
            }
            if not any(event._registered.values()):  # noqa: SLF001  else somebody listens
                replaced |= {(event, "start_event"): no_event, (event, "end_event"): no_event}
            self._originals = {(owner, name): vars(owner)[name] for owner, name in replaced if name in vars(owner)}
            for owner, name in self._originals:
                setattr(owner, name, replaced[owner, name])
            self._threshold = self._raised = gc.get_threshold()
            if 0 < self._threshold[0] < _OBJECTS:
                gc.set_threshold(_OBJECTS, *self._threshold[1:])
                self._raised = gc.get_threshold()

    def end(self) -> None:
        """Put back what there was, if no other thread compiles; a threshold that somebody has set since stays."""
        with self._lock:
            self._users -= 1
            if self._users:
                return
            if gc.get_threshold() == self._raised:
                gc.set_threshold(*self._threshold)
            for (owner, name), function in self._originals.items():
                setattr(owner, name, function)


_replaced = _Replaced()


@contextlib.contextmanager
def quicker() -> Iterator[None]:
    """Let Numba remember what it resolves, and Python collect cycles rarely, while a kernel is compiled.

    Several threads may: all is as it was when the last of them has ended.
    """
    _replaced.begin()
    try:
        yield
    finally:
        _replaced.end()


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


def variables(_: Any, value: Any) -> list[Any]:
    """Return the variables of what an instruction refers to, as ``Inst._rec_list_vars``."""
    found: list[Any] = []
    _collect((value,), found)
    return found


def _collect(values: Iterable[Any], found: list[Any]) -> None:
    """Append the variables of several values."""
    for one in values:
        kind = type(one)
        if kind is ir.Var:
            found.append(one)
        elif kind in _NO_VARIABLES:
            continue
        elif isinstance(one, ir.Inst):
            found += one.list_vars()
        elif isinstance(one, list | tuple):
            _collect(one, found)
        elif isinstance(one, dict):
            _collect(one.values(), found)


def size_of(self: Any, kind: Any) -> int:
    """Return the size of a type in bytes, as ``BaseContext.get_abi_sizeof``."""
    text = str(kind)
    if "%" in text:  # its parts have names: these may mean something else in another module
        return _size_of(self, kind)  # type: ignore[no-any-return]
    key = str(self.target_data), text
    if key not in _sizes:
        _sizes[key] = _size_of(self, kind)
    return _sizes[key]


def no_event(*_: Any, **__: Any) -> None:
    """Do nothing, where nobody listens."""
