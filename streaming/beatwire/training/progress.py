"""Progress of a training run: a callable that takes the share done, 0 to 1, and the step being worked on."""

from collections.abc import Callable

Progress = Callable[[float, str], None]


def ignore(done: float, step: str) -> None:
    """Ignore progress."""
