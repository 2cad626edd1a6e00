"""What every reader of JSON does first: an object of plain fields, each checked.

In: bytes or text from anybody. Out: a value, or ValueError with what was expected and what was found. Invariant: no
other exception is raised, whatever the bytes are, and no reason is longer than a line.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, NoReturn

from beatwire.errors import LONGEST_SHOWN, shown

LARGEST = 2**63 - 1  # of an integer: columns are int64
LATEST_US = 2**54  # the year 2540: what samples may have, and room for what follows from it; before 1970 as much


class Unusable(NamedTuple):
    """A message that is none of its topic: where it was read, its key, and why."""

    topic: str
    key: bytes | None
    reason: str

    def __str__(self) -> str:
        """Return one line.

        >>> print(Unusable("ecg.acks", b"a", "expected a JSON object; got b'{'"))
        ecg.acks: message with key b'a' is ignored: expected a JSON object; got b'{'
        """
        key = (
            repr(self.key) if self.key is None or len(self.key) <= LONGEST_SHOWN else f"{self.key[:LONGEST_SHOWN]!r}..."
        )
        return f"{self.topic}: message with key {key} is ignored: {self.reason}"


class Field(NamedTuple):
    """A field of an object: its name, whether a value is good, what is expected; one that is optional may be null."""

    name: str
    good: Callable[[Any], bool]
    expected: str
    optional: bool = False


def json_object(value: bytes | str, *, has_nan: bool = False) -> dict[str, Any]:
    """Return the object that a message is.

    Parameters
    ----------
    value
        The message.
    has_nan
        Read NaN and infinity, which JSON does not have, and which Python and C write where there is no number.

    Raises
    ------
    ValueError
        It is not UTF-8, not JSON, no object, nested too deeply, or has a number that JSON does not have.
    """
    try:
        decoder = _DECODER_OF_NAN if has_nan else _DECODER
        found = decoder.decode(value.decode() if isinstance(value, bytes) else value)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"expected a JSON object; got {value[:LONGEST_SHOWN]!r}") from error
    if not isinstance(found, dict):
        raise ValueError(f"expected a JSON object; got {value[:LONGEST_SHOWN]!r}")
    return found


def checked(found: Mapping[str, Any], fields: Iterable[Field]) -> dict[str, Any]:
    """Return the fields of an object that are known, in their order; what else it has is left out.

    Raises
    ------
    ValueError
        A field is missing or not what it should be.
    """
    good = {}
    for name, is_good, expected, optional in fields:
        value = found.get(name)
        if not optional or value is not None or (name in found and is_good(value)):
            if not is_good(value):
                raise ValueError(f"expected {name}: {expected}; got {shown(value)}")
            good[name] = value
    return good


def is_integer(value: Any, least: int = -LARGEST - 1, most: int = LARGEST) -> bool:
    """Return True for an integer of a range; a truth value is none."""
    return type(value) is int and least <= value <= most


def is_number(value: Any) -> bool:
    """Return True for a finite number, and for an integer only if a float can be it.

    >>> is_number(5), is_number(1e308), is_number(10**400), is_number(float("inf")), is_number(True)
    (True, True, False, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def is_text(value: Any, most: int) -> bool:
    """Return True for text of 0 to ``most`` characters that UTF-8 has: no half of a surrogate pair."""
    if not isinstance(value, str) or len(value) > most:
        return False
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse(constant: str) -> NoReturn:
    """Refuse NaN and infinity: JSON has neither."""
    raise ValueError(f"expected a number; got {constant}")


_DECODER = json.JSONDecoder(parse_constant=_refuse)  # made once: json.loads makes one for each message
_DECODER_OF_NAN = json.JSONDecoder()
