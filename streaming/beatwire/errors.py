"""The two families of errors that end a command.

A message that cannot be used raises nothing: it becomes a row of the reject branch and a dead letter. What it contains
may be part of a line: `printable` keeps it from controlling a terminal.
"""

import html


class UserError(Exception):
    """Input from the user cannot be used; exit code 2. The text is one line: where, expected, got."""


class FatalError(Exception):
    """The process cannot continue; exit code 1. The text is one line. Finished ticks have been published."""


class FullMemoryError(FatalError):
    """The memory that a GPU may use is full."""


class LostCardError(FatalError):
    """The GPU has failed; neither its memory nor its libraries can be used any more in this process."""


LONGEST_SHOWN = 40  # characters of a value in a reason


def shown(value: object) -> str:
    """Return a value that was not expected, short enough for a reason; it never fails.

    >>> shown("a" * 50), shown(10**400), shown(None)
    ("'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...", '1000000000000000000000000000000000000000...', 'None')
    """
    try:
        text = f"{value:g}" if isinstance(value, float) else repr(value)
    except (ValueError, RecursionError):  # an integer of more than 4300 digits; lists in lists
        text = type(value).__name__
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def reason(error: BaseException) -> str:
    """Return the message of an error; for a system error without its number and path."""
    return getattr(error, "strerror", None) or str(error)


def printable(text: str) -> str:
    r"""Return text on one line that cannot control a terminal.

    >>> printable("a\x1b[2J\nb")
    'a\\x1b[2J\\nb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def escape(text: str) -> str:
    r"""Return text as HTML; what would not be seen of it, or turn the text around it, is written as an escape.

    >>> escape("<b>\u202eb")
    '&lt;b&gt;\\u202eb'
    """
    return html.escape(printable(text))
