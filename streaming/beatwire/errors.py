"""Two families of errors: theirs and ours.

A message that cannot be used is no exception at all: it is a row on the reject branch.
"""


class UserError(Exception):
    """What the user gave cannot be used: one line that says where, expected, got; exit code 2."""


class FatalError(Exception):
    """We cannot go on: one line, exit code 1, after what was finished has been published."""


class LostCardError(FatalError):
    """A GPU failed: nothing that is left of it, its libraries included, can be relied on."""
