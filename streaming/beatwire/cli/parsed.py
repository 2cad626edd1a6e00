"""Commands, and groups of them, whose help names no type of Python, and whose usage errors state what was given."""

from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from beatwire.errors import shown

_PREFIX = "Value error, "  # of the checks of Typer


def _without_types(params: list[Any]) -> list[Any]:
    """Return parameters; of a flag, and of an argument that is no choice, their help shows no type."""
    for one in params:
        if isinstance(one, TyperOption) and one.is_flag:
            one.metavar = ""
        if isinstance(one, TyperArgument) and not one.type_descriptor.is_choice:
            vars(one)["display_type_rich"] = lambda ctx: None  # noqa: ARG005
    return params


class ParsedGroup(TyperGroup):
    """The commands of `beatwire.cli.main`, or a group of them."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, without types."""
        return _without_types(super().get_params(ctx))


class ParsedCommand(TyperCommand):
    """A command of `beatwire.cli.main`."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, without types."""
        return _without_types(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments; the message of a value that cannot be used ends with that value."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix(_PREFIX)
            found: list[Any] = getattr(error.__cause__, "errors", list)()  # of pydantic, which Typer checks values with
            given = found[0].get("input") if found else None
            if given is not None and repr(given) not in error.message:
                error.message += f"; got {shown(given)}"
            raise
