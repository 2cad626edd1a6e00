"""Who sends the messages of a tick that are turned away: rejected, or waiting for a bank.

In:    the rejects of a tick, its rows and what ids decode could read, and the streams of which samples were placed
Out:   the other streams, for ``stages.support.alerts.turned_away``
State: none

The id is that of the message, or of a message as a whole whose id is no text its key. It is read of ``MOST_NOTED``
messages of a tick at most: those whose ids are remembered, and of the others some by chance.
"""

import numpy as np

from beatwire.records import I64, Bool, RawTick, Rejects
from beatwire.records.columns import CHUNK_ID_HASH, CHUNK_ID_SIZE
from beatwire.records.slot_columns import SLOT_USED_US
from beatwire.stages import align
from beatwire.stages.support.alerts.turned_away import KEY_PAUSE_S, PAUSE_S, Turned, TurnedAway
from beatwire.stages.support.streams.read_ids import ReadIds, some_of
from beatwire.wire.dead_letters import Origin
from beatwire.wire.names import is_of_service

MOST_NOTED = 300
MOST_KEYS = 200


def note_turned_away(
    turned: TurnedAway, rejects: Rejects, tick: RawTick, ids: ReadIds, origin: Origin | None, streams: align.State,
    number: int,
) -> None:  # fmt: skip
    """Note the streams of a tick's messages that were turned away, but those of which samples were ever placed.

    Parameters
    ----------
    turned
        They are noted here.
    tick, ids
        The rows of the tick, one a chunk, and the ids of these.
    streams
        Where they are known, and the chunks that wait.
    number
        Of the tick.
    """
    kinds = [fault.kind for fault in rejects.faults]
    full = np.array([kind == "stream" for kind in kinds], np.bool_)[rejects.fault]
    unusable = np.array([kind != "no_memory" for kind in kinds], np.bool_)[rejects.fault]  # that is an alert already
    known = unusable & (rejects.number >= 0)
    waiting = list(streams.admission.waiting.entered.values())
    rows = np.concatenate([rejects.number[known], np.array(waiting, np.int64)])
    if not len(rows):
        return
    no_room = np.concatenate([full[known], np.zeros(len(waiting), np.bool_)])
    named = ids.ints[rows, CHUNK_ID_SIZE] > 0
    no_text = _note(turned, rows[named], tick, ids.some(rows[named]), no_room[named], streams, number, PAUSE_S)
    whole = np.concatenate([rows[~named], no_text])
    if tick.bundled is not None:
        whole = whole[tick.bundled.chunk[whole] < 0]
    if origin is not None and len(whole):
        whole = some_of(whole, MOST_KEYS, tick.now_us)
        keys = ReadIds.of([key or b"" for key in origin.addresses(tick.messages(whole)).keys])
        _note(turned, whole, tick, keys, np.zeros(len(whole), np.bool_), streams, number, KEY_PAUSE_S)


def _note(
    turned: TurnedAway, rows: I64, tick: RawTick, ids: ReadIds, no_room: Bool, streams: align.State, number: int,
    pause_s: float,
) -> I64:  # fmt: skip
    """Note messages by ids of one kind; return those of which the id is no text."""
    slot = streams.directory.look_up(ids.payload, ids.ints)
    unknown = np.flatnonzero(((slot < 0) | (streams.slots[slot, SLOT_USED_US] == 0)) & (ids.ints[:, CHUNK_ID_SIZE] > 0))
    hashes = ids.ints[unknown, CHUNK_ID_HASH]
    unknown = some_of(
        unknown, MOST_NOTED, tick.now_us, lambda: np.isin(hashes, [one.digest for one in turned.streams.values()])
    )
    rows, ids, no_room = rows[unknown], ids.some(unknown), no_room[unknown]
    digest = ids.ints[:, CHUNK_ID_HASH]
    columns = zip(
        rows.tolist(), ids.raw(), digest.tolist(), tick.arrival_us[rows].tolist(), tick.partition[rows].tolist(),
        no_room.tolist(), strict=True,
    )  # fmt: skip
    no_text = []
    for row, raw, own, arrived_us, partition, full in columns:
        name = raw.decode(errors="replace")
        if not name.isprintable() or "\ufffd" in name:
            no_text.append(row)
        elif not is_of_service(name):
            turned.note(name, Turned(arrived_us, arrived_us, own, partition, pause_s, full, number))
    return np.array(no_text, np.int64)
