"""What staff enter: limits of a stream, and acknowledgements."""

from collections.abc import Mapping
from typing import NamedTuple


class LimitChange(NamedTuple):
    """The limits of a stream from a time on, as a message of ``ecg.settings`` has them.

    stream         its id
    limits         rule -> limit, of the rules whose limits differ from the defaults
    before         the same before the change
    by, at_us      who entered it and when, microseconds since 1970
    since_us       chunks that arrive at the broker from this time on are decided by them, microseconds since 1970
    """

    stream: str
    limits: Mapping[str, float]
    before: Mapping[str, float]
    by: str
    at_us: int
    since_us: int


class Acknowledgement(NamedTuple):
    """Who acknowledged an alert of a stream, and when (microseconds since 1970): as stated, and by the broker's clock.

    ``received_us`` 0: unknown.
    """

    alert: str
    stream: str
    by: str
    at_us: int
    received_us: int = 0
