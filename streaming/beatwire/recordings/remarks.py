"""Remarks that may come without end: the first ones are said, and the last of these says that no more are."""

from collections.abc import Callable

MOST = 5


def few(notes: Callable[[str], None]) -> Callable[[str], None]:
    """Return a function that passes on the first ``MOST`` remarks.

    >>> say = few(print)
    >>> for k in range(9):
    ...     say(f"remark {k}")
    remark 0
    remark 1
    remark 2
    remark 3
    remark 4; more are not reported
    """
    said = 0

    def say(text: str) -> None:
        nonlocal said
        said += 1
        if said <= MOST:
            notes(text + ("; more are not reported" if said == MOST else ""))

    return say
