"""Arguments of kernels: NamedTuples are taken apart before a call and put together again in machine code.

The bodies in ``kernels`` take NamedTuples (``records.detection``, ...), so that a call reads well. Numba's dispatchers,
and the launch lists of a device, take arrays and numbers faster: one NamedTuple among the arguments of a dispatcher
costs as much as the rest of a call (1.6 us in place of 0.7 us, one Xeon core). So every kernel is compiled with flat
arguments, and the functions between are generated here from the annotations of the body.
"""

import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple


class Flattened(NamedTuple):
    """A body with flat arguments.

    names      of the flat arguments without the item: ``lanes.start`` is a field of the argument ``lanes``
    body       takes the item and the flat arguments; the original body where it has no NamedTuples
    arguments  takes the arguments of the original body without the item, returns the tuple of the flat ones
    """

    names: tuple[str, ...]
    body: Callable[..., Any]
    arguments: Callable[..., tuple[Any, ...]]


class Parameter(NamedTuple):
    """A parameter of a body: its name, and the type of it that is a NamedTuple, or None."""

    name: str
    record: Any


def parameters_of(body: Callable[..., Any]) -> list[Parameter]:
    """Return the parameters of a body."""
    hints = typing.get_type_hints(body)
    return [Parameter(name, _record(hints.get(name))) for name in inspect.signature(body).parameters]


@functools.cache
def flattened(body: Callable[..., Any], *, items: bool = True, like: Callable[..., Any] | None = None) -> Flattened:
    """Return a body with flat arguments.

    Parameters
    ----------
    items
        The first argument is the item; it stays the first one.
    like
        The body whose annotations hold for ``body``; None: its own.
    """
    parameters = parameters_of(body if like is None else like)
    leading = [one.name for one in parameters[: int(items)]]
    given = parameters[int(items) :]
    names = tuple(name for one in given for name in _names(one))
    gathering = _function("gather", [one.name for one in given], _tuple(_taken_apart(one) for one in given), {})
    if not any(one.record for one in given):
        return Flattened(names, body, gathering)
    scope: dict[str, Any] = {"_body": body}
    call = ", ".join(leading + [_put_together(one, scope) for one in given])
    flat = _function("flat", leading + [_identifier(name) for name in names], f"_body({call})", scope)
    flat.__module__ = body.__module__
    flat.__name__ = body.__name__
    flat.__qualname__ = f"{body.__module__.rpartition('.')[2]}_{body.__name__}_flat"  # machine code is stored by it
    return Flattened(names, flat, gathering)


def caller(
    body: Callable[..., Any], dispatcher: Callable[..., Any], run: Callable[..., Any], *, items: bool = True
) -> Callable[..., Any]:
    """Return a function with the arguments of ``body`` that calls ``run`` with the flat ones, after ``n`` of items.

    ``dispatcher``, Numba's, is its attribute of that name.
    """
    given = parameters_of(body)[int(items) :]
    names = ["n"] * items + [one.name for one in given]
    flat = ", ".join(["n"] * items + [_taken_apart(one) for one in given])
    call = _function(body.__name__, names, f"_run({flat})", {"_run": run})
    call.__doc__ = body.__doc__
    call.__dict__["dispatcher"] = dispatcher
    return call


def _record(hint: Any) -> Any:
    """Return a type that is a NamedTuple, None for another type."""
    return hint if isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields") else None


def _fields(one: Parameter) -> list[Parameter]:
    """Return the fields of a parameter that is a NamedTuple, by their full names."""
    hints = typing.get_type_hints(one.record)
    return [Parameter(f"{one.name}.{name}", _record(hints[name])) for name in one.record._fields]


def _names(one: Parameter) -> Iterator[str]:
    """Yield the names of the flat arguments of a parameter."""
    if one.record is None:
        yield one.name
    else:
        for field in _fields(one):
            yield from _names(field)


def _taken_apart(one: Parameter) -> str:
    """Return the text that lists the flat arguments of a parameter."""
    if one.record is None:
        return one.name
    fields = _fields(one)
    if any(field.record for field in fields):
        return ", ".join(map(_taken_apart, fields))
    return f"*{one.name}"


def _put_together(one: Parameter, scope: dict[str, Any]) -> str:
    """Return the text that makes a parameter of its flat arguments; write the types that it names to ``scope``."""
    if one.record is None:
        return _identifier(one.name)
    scope[one.record.__name__] = one.record
    return f"{one.record.__name__}({', '.join(_put_together(field, scope) for field in _fields(one))})"


def _identifier(name: str) -> str:
    return name.replace(".", "__")


def _tuple(parts: Iterator[str]) -> str:
    return f"({''.join(part + ', ' for part in parts)})"


def _function(name: str, parameters: list[str], result: str, scope: dict[str, Any]) -> types.FunctionType:
    """Return the function ``name(*parameters)`` that returns an expression; its text belongs to this file."""
    source = f"def {name}({', '.join(parameters)}):\n    return {result}\n"
    namespace = dict(scope)
    exec(compile(source, __file__, "exec"), namespace)  # noqa: S102  of names and types of this package only
    made: types.FunctionType = namespace[name]
    return made
