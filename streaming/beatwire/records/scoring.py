"""Arguments of the kernels that score beats, grouped: the network, the tables of a score, scores and scored beats."""

from typing import NamedTuple

from beatwire.records.arrays import F32, F64, I16, I64, U8, Bool


class Layers(NamedTuple):
    """The matrices of the network, padded with columns of zeros, float32.

    With ``h`` the hidden layer of the decoder and ``x`` the window,
    ``|h output + bias - x|^2 = h (gram h + crossed - 2 output x) + |bias|^2 - 2 bias x + |x|^2``.

    first         [256, 2 hidden]   encode, and twice the transposed output
    encode_bias   [hidden]
    latent        [hidden, 8]
    latent_bias   [8]
    decode        [8, hidden]
    decode_bias   [hidden]
    gram          [hidden, hidden]  of the output
    crossed       [hidden]          twice the output times its bias
    bias          [256]             twice the bias of the output
    constants     [2]               |bias|^2, and half of one over the variance
    """

    first: F32
    encode_bias: F32
    latent: F32
    latent_bias: F32
    decode: F32
    decode_bias: F32
    gram: F32
    crossed: F32
    bias: F32
    constants: F32


class Calibration(NamedTuple):
    """Tables from a term, and from the weighted sum of levels, to minus log10 of the tail probability.

    level    float64 [k]     level of knot k in every table
    terms    float64 [4, k]  knots of each term, ascending
    weights  float64 [4]     of the levels of the terms in the sum
    sums     float64 [4, k]  knots of the sum, ascending, by what is known:
                             2 x (history is known) + (prematurity is known)
    errors   float64 [k]     knots of the reconstruction error, ascending: what a scorer's values become
    """

    level: F64
    terms: F64
    weights: F64
    sums: F64
    errors: F64


class Scores(NamedTuple):
    """The scores of ``b`` beats.

    score      float32 [b]  NaN: not scored
    scored_by  uint8 [b]    ``BY_HISTORY``, ``BY_POPULATION``, or why there is no score: ``OVERLOAD``, ``GAP``
    anomalous  bool [b]
    """

    score: F32
    scored_by: U8
    anomalous: Bool


class ShardBeats(NamedTuple):
    """Columns of scored beats: as in ``records.TickBeats``, [b] each, ``latent`` [b, 8], ``shape`` [b, 2, 60]."""

    sample: I64
    decided: I64
    rr_s: F64
    median_rr_s: F64
    response: F32
    quality: F32
    expected_errors: F32
    disturbance: F32
    score: F32
    prematurity: F32
    scored_by: U8
    anomalous: Bool
    latent: F32
    reconstruction_error: F32
    shape: I16
