"""Body of the network that scores: four windows at a time, so that a weight is read once for them.

``network.Layers`` says what is multiplied by what; a matrix has a row for each input. A window's reconstruction is
never written out: its distance from the window follows from products of window and output weights.
"""

from __future__ import annotations

import math

from numpy import float32

from beatwire.records import F32

TOGETHER = 4
LANES = 16  # of a matrix: its columns are filled up with zeros to a multiple
PRODUCTS, HIDDEN, OUT = range(3)  # of the scratch
SCRATCH = 3


def multiply(x: F32, n: int, matrix: F32, out: F32) -> None:
    """Write ``x[:, :n] @ matrix`` to ``out``: of four rows, and a multiple of ``LANES`` columns."""
    for k in range(TOGETHER):
        for column in range(matrix.shape[1]):
            total = float32(0.0)
            for j in range(n):
                total += x[k, j] * matrix[j, column]
            out[k, column] = total


def inner(x: F32, y: F32, n: int) -> float:
    """Return the inner product of ``x[:n]`` and ``y[:n]``."""
    total = float32(0.0)
    for j in range(n):
        total += x[j] * y[j]
    return total  # type: ignore[return-value]


def forward(
    i: int, windows: F32, scale: F32, first: F32, encode_bias: F32, latent: F32, latent_bias: F32, decode: F32,
    decode_bias: F32, gram: F32, crossed: F32, bias: F32, constants: F32, work: F32, latents: F32,
    reconstruction_error: F32,
) -> None:  # fmt: skip
    """Write the latents and the log reconstruction error of windows ``4 i`` to ``4 i + 3`` times their scale.

    Parameters
    ----------
    windows, scale : float32 [n, points], [n]
        A scale of NaN gives NaN.
    first ... bias : float32
        See ``network.Layers``.
    constants : float32 [2]
        Squared length of the output's bias, half of one over the variance.
    work : float32 [SCRATCH, 4, points, or columns of ``first`` if these are more]
        Scratch.
    latents, reconstruction_error : float32 [n, latents], [n], written
    """
    last = scale.shape[0] - 1
    size, codes = encode_bias.shape[0], latent_bias.shape[0]
    products, hidden, out = work[PRODUCTS], work[HIDDEN], work[OUT]
    four = TOGETHER * i
    if four + TOGETHER - 1 <= last:
        multiply(windows[four:], windows.shape[1], first, products)
    else:
        for k in range(TOGETHER):
            for j in range(windows.shape[1]):
                hidden[k, j] = windows[min(four + k, last), j]
        multiply(hidden, windows.shape[1], first, products)
    for k in range(TOGETHER):
        one = scale[min(four + k, last)]
        for h in range(2 * size):
            products[k, h] *= one
        for h in range(size):
            value = products[k, h] + encode_bias[h]
            hidden[k, h] = float32(0.0) if value < 0.0 else value
    multiply(hidden, size, latent, out)
    for k in range(TOGETHER):
        for h in range(codes):
            out[k, h] += latent_bias[h]
            latents[min(four + k, last), h] = out[k, h]
        reconstruction_error[min(four + k, last)] = float32(0.5) * inner(out[k], out[k], codes)
    multiply(out, codes, decode, hidden)
    for k in range(TOGETHER):
        for h in range(size):
            value = hidden[k, h] + decode_bias[h]
            hidden[k, h] = float32(0.0) if value < 0.0 else value
    multiply(hidden, size, gram, out)
    for k in range(min(TOGETHER, last + 1 - four)):
        row = four + k
        for h in range(size):
            out[k, h] += crossed[h] - products[k, size + h]
        x, one = windows[row], scale[row]
        of_window = one * one * inner(x, x, len(x)) - one * inner(x, bias, len(x))
        squares = inner(hidden[k], out[k], size) + of_window + constants[0]
        if squares < 0.0:
            squares = float32(0.0)
        reconstruction_error[row] = math.log(squares * constants[1] + reconstruction_error[row])
