"""Bodies that find a second sender of a session by chunks that are not used: it counts elsewhere, or says other things.

In:    the chunks of a stream in order of arrival
Out:   whether a second device sends them
State: columns ``SLOT_STRANGE_COUNT`` to ``SLOT_STRANGE_COVERED`` of ``records.slot_columns``

A chunk is *strange* if its samples are behind the lane, and did not come before, or if it does not fit the session: it
is rejected, or dropped like a repetition. One device sends such chunks late, by chance or at once, or changes its scale
by turns. Those of a second device follow each other as fast as time passes, without holes: ``IN_A_ROW`` such steps of
``SHORTEST_US`` to ``LONGEST_US`` are a conflict, if the stream goes on beside them. So it depends on ``IN_A_ROW`` times
``LONGEST_US``.

If the second device is more than a minute ahead, the stream jumps to it and is taken back by the next chunk of the
first one, which is strange as well.
"""

from beatwire.records import I64
from beatwire.records.slot_columns import (
    LIMIT_DUPLICATE,
    SLOT_BEFORE_JUMP,
    SLOT_EXPECTED,
    SLOT_STRANGE_COUNT,
    SLOT_STRANGE_COVERED,
    SLOT_STRANGE_TO,
    SLOT_STRANGE_US,
)

IN_A_ROW = 4
SHORTEST_US, LONGEST_US = 2_000_000, 20_000_000
LEAST_COVERED = 9  # tenths of the samples of a step


def undoes_jump(first: int, state: I64, limits: I64) -> bool:
    """Return True if a chunk goes on where the stream was before its last chunk, which then had a wrong place."""
    before = int(state[SLOT_BEFORE_JUMP])
    return bool(before >= 0 and before <= first <= before + limits[LIMIT_DUPLICATE])


def note_jump(first: int, state: I64, limits: I64, fresh_start: bool) -> None:
    """Remember where a stream is before a chunk skips more than can be repeated, until another goes on behind that."""
    if fresh_start or first - state[SLOT_EXPECTED] <= limits[LIMIT_DUPLICATE]:
        state[SLOT_BEFORE_JUMP] = -1
    elif state[SLOT_BEFORE_JUMP] < 0:
        state[SLOT_BEFORE_JUMP] = state[SLOT_EXPECTED]


def forget_strangers(state: I64) -> None:
    """Forget strange chunks: they repeat what came, or another session begins."""
    state[SLOT_STRANGE_COUNT] = 0


def note_stranger(state: I64, first: int, stop: int, whole: bool, step: int, arrived_us: int) -> None:
    """Note a strange chunk of samples ``[first, stop)``; ``whole``: what is between them came as well.

    Parameters
    ----------
    step
        Samples of a second.
    """
    passed_us = arrived_us - int(state[SLOT_STRANGE_US])
    state[SLOT_STRANGE_COVERED] += stop - first
    known = state[SLOT_STRANGE_COUNT] > 0 and 0 <= passed_us <= LONGEST_US
    if known and passed_us < SHORTEST_US:
        return
    advanced = stop - int(state[SLOT_STRANGE_TO])
    in_time = abs(advanced * 1e6 / step - passed_us) <= passed_us // 2
    covered = whole or 10 * state[SLOT_STRANGE_COVERED] >= LEAST_COVERED * advanced
    follows = known and in_time and covered
    state[SLOT_STRANGE_COUNT] = min(IN_A_ROW, int(state[SLOT_STRANGE_COUNT]) + 1) if follows else 1
    state[SLOT_STRANGE_US] = arrived_us
    state[SLOT_STRANGE_TO] = stop
    state[SLOT_STRANGE_COVERED] = 0


def has_stranger(state: I64, arrived_us: int) -> bool:
    """Return True while strange chunks follow each other."""
    recent = 0 <= arrived_us - state[SLOT_STRANGE_US] <= LONGEST_US
    return bool(recent and state[SLOT_STRANGE_COUNT] == IN_A_ROW)
