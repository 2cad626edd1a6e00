"""The order of stream ids: numbers in them are numbers, large and small letters are alike. No state."""

import re

Key = tuple[tuple[bool, int, str], ...]


def natural(stream: str) -> Key:
    """Return a key that sorts numbers in stream ids as numbers.

    >>> sorted(["bed-10", "bed-9", "Bed-1"], key=natural)
    ['Bed-1', 'bed-9', 'bed-10']
    """
    parts = re.findall(r"[0-9]+|[^0-9]+", stream.casefold())
    return tuple((False, int(part), part) if part[0] in "0123456789" else (True, 0, part) for part in parts)
