"""A file, a WFDB record, ``synthetic`` or numbers in memory become a recording.

In:  the name or address of a source, or an object in memory; and the options of the user: rate, columns, lead, gain
Out: samples, int16 ``[leads, n]`` on one scale, -32768 where there is no value

A source that cannot be used raises ``UserError`` here, before anything else runs: one line with the file, the line or
column, the expected and the actual value.

Names are imported when they are first used.
"""

from typing import TYPE_CHECKING

from beatwire.lazy import lazily

if TYPE_CHECKING:
    from beatwire.recordings.blocks import read_blocks as read_blocks
    from beatwire.recordings.read import as_recording as as_recording
    from beatwire.recordings.read import read_recording as read_recording
    from beatwire.recordings.record import MAX_LEADS as MAX_LEADS
    from beatwire.recordings.record import MAX_RATE_HZ as MAX_RATE_HZ
    from beatwire.recordings.record import MIN_RATE_HZ as MIN_RATE_HZ
    from beatwire.recordings.record import NO_VALUE as NO_VALUE
    from beatwire.recordings.record import Recording as Recording
else:
    __getattr__ = lazily(
        __name__,
        blocks="read_blocks",
        read="as_recording read_recording",
        record="MAX_LEADS MAX_RATE_HZ MIN_RATE_HZ NO_VALUE Recording",
    )
