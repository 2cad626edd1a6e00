"""Remarks that may come without end: the first ones are said, and the last of these says that no more are. Gaps."""

from collections.abc import Callable

MOST = 5


def few(notes: Callable[[str], None]) -> Callable[[str], None]:
    """Return a function that passes on the first ``MOST`` remarks, each once.

    >>> say = few(print)
    >>> for k in range(18):
    ...     say(f"remark {k // 2}")
    remark 0
    remark 1
    remark 2
    remark 3
    remark 4; more are not reported
    """
    said = list[str]()

    def say(text: str) -> None:
        if text not in said and len(said) < MOST:
            said.append(text)
            notes(text + ("; more are not reported" if len(said) == MOST else ""))

    return say


def gaps_note(gaps: int, seconds: float) -> str:
    """Return the remark on gaps in the times of a recording.

    >>> gaps_note(1, 3600.0), gaps_note(2, 0.0123)
    ('1 gap in its times, 3,600 s without samples', '2 gaps in its times, 0.0123 s without samples')
    """
    length = f"{seconds:,.0f}" if seconds >= 100 else f"{seconds:.3g}"
    return f"{gaps} {'gap' if gaps == 1 else 'gaps'} in its times, {length} s without samples"
