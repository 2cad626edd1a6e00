"""The two families of errors that end a command; the command line turns them into one line and an exit code.

A message that cannot be used raises nothing: it becomes a row of the reject branch and a dead letter. What it contains
may be part of a line: `printable` keeps it from controlling a terminal.
"""


class UserError(Exception):
    """Input from the user cannot be used; exit code 2. The text is one line: where, expected, got."""


class FatalError(Exception):
    """The process cannot continue; exit code 1. The text is one line. Finished ticks have been published."""


class LostCardError(FatalError):
    """The GPU has failed; neither its memory nor its libraries can be used any more in this process."""


def printable(text: str) -> str:
    r"""Return text on one line that cannot control a terminal.

    >>> printable("a\x1b[2J\nb")
    'a\\x1b[2J\\nb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
