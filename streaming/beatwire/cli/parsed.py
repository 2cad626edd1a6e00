"""A command whose usage errors state what was given, as all other errors do."""

from typing import Any

import typer
from typer.core import TyperCommand

from beatwire.errors import shown

_PREFIX = "Value error, "  # of the checks of Typer


class ParsedCommand(TyperCommand):
    """A command of `beatwire.cli.main`."""

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
