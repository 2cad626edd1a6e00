"""Bodies that select the beats that shards of a recording own: a shard owns the samples ``[begin, end)``.

In:    the beats of a pass, with their scores; the range of each row's shard
Out:   the columns of the owned beats, without holes
State: none
"""

from beatwire.records import I64
from beatwire.records.scoring import ShardBeats


def mark_owned(i: int, row: I64, sample: I64, begin: I64, end: I64, owned: I64) -> None:
    """Write 1 for beat ``i`` if the shard of its row owns it, else 0.

    Parameters
    ----------
    row, sample : int64 [b]
        Row of the beat's lane, and its R.
    begin, end : int64 [n]
        What the shard of each row owns.
    owned : int64 [b], written
    """
    owned[i] = begin[row[i]] <= sample[i] < end[row[i]]


def copy_owned(i: int, owned: I64, first: I64, beats: ShardBeats, out: ShardBeats) -> None:
    """Copy beat ``i`` to row ``first[i]`` of ``out`` if it is owned."""
    if owned[i] == 0:
        return
    b = first[i]
    out.sample[b] = beats.sample[i]
    out.decided[b] = beats.decided[i]
    out.rr_s[b] = beats.rr_s[i]
    out.median_rr_s[b] = beats.median_rr_s[i]
    out.response[b] = beats.response[i]
    out.quality[b] = beats.quality[i]
    out.expected_errors[b] = beats.expected_errors[i]
    out.disturbance[b] = beats.disturbance[i]
    out.score[b] = beats.score[i]
    out.prematurity[b] = beats.prematurity[i]
    out.scored_by[b] = beats.scored_by[i]
    out.anomalous[b] = beats.anomalous[i]
    out.reconstruction_error[b] = beats.reconstruction_error[i]
    for j in range(beats.latent.shape[1]):
        out.latent[b, j] = beats.latent[i, j]
    for lead in range(beats.shape.shape[1]):
        for k in range(beats.shape.shape[2]):
            out.shape[b, lead, k] = beats.shape[i, lead, k]
