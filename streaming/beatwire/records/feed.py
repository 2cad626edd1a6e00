"""When chunks of the feed arrived, by one clock."""

from typing import NamedTuple


class Watched(NamedTuple):
    """What is known of the feed, by a clock that advances only while a broker answers: microseconds from any origin.

    now_us      the time
    newest_us   when the newest chunk of any stream arrived, whoever reads it; 0: unknown
    resumed_us  when a broker answered again after it had not, or after this process stood still; 0: never
    """

    now_us: int
    newest_us: int = 0
    resumed_us: int = 0
