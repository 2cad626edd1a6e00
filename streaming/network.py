"""The VAE that scores: its weights, and what it makes of windows.

``forward`` is the text of the network. The reconstruction is never written out: of 256 points only their squared
distance from the window is wanted, and that follows from 33 products of window and output weights (``Layers``), which
come with those of the encoder.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from streaming.kernels.history import LATENTS
from streaming.records import F32

TILE = 512  # windows at a time: what of them is worked on stays in the cache


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """The weights of a VAE, float32, ``x @ into + bias`` each; rectifiers after ``hidden`` layers."""

    encode: F32  # [256, hidden]
    encode_bias: F32  # [hidden]
    latent: F32  # [hidden, 8]
    latent_bias: F32  # [8]
    decode: F32  # [8, hidden]
    decode_bias: F32  # [hidden]
    output: F32  # [hidden, 256]
    output_bias: F32  # [256]
    map: F32  # [8, 2] a picture of the latents for people, no part of the score
    variance: float  # of a window's points, in units of the usual size squared


@dataclass(frozen=True, slots=True)
class Layers:
    """What ``forward`` multiplies by.

    ``|h output + bias - x|^2 = h (gram h + crossed - 2 output x) + |bias|^2 - 2 bias x + |x|^2``.
    """

    first: F32  # [256, 2 hidden + 1] encode, twice the transposed output, twice its bias
    encode_bias: F32  # [hidden]
    latent: F32  # [hidden, 8]
    latent_bias: F32  # [8]
    decode: F32  # [8, hidden]
    decode_bias: F32  # [hidden]
    gram: F32  # [hidden, hidden] of the output
    crossed: F32  # [hidden] twice the output times its bias
    constant: float  # |bias|^2
    variance: float


@functools.lru_cache(maxsize=16)
def layers_of(w: Network) -> Layers:
    """Multiply what does not depend on windows."""
    output, bias = w.output.astype(np.float64), w.output_bias.astype(np.float64)
    first = np.concatenate((w.encode, 2 * output.T, 2 * bias[:, None]), 1).astype(np.float32)
    gram, crossed = (output @ output.T).astype(np.float32), (2 * output @ bias).astype(np.float32)
    return Layers(
        first, w.encode_bias, w.latent, w.latent_bias, w.decode, w.decode_bias, gram, crossed, float(bias @ bias),
        w.variance,
    )  # fmt: skip


def forward(w: Layers, windows: F32, scale: F32, z: F32, misfit: F32) -> None:
    """Write the latents ``z`` [n, 8] of windows [n, 256] times their ``scale`` [n], and the log of the misfit [n].

    ``kernels.embed`` is the same for a GPU.
    """
    size = len(w.encode_bias)
    products = windows @ w.first  # [n, 2 hidden + 1]
    products *= scale[:, None]
    hidden = np.maximum(products[:, :size] + w.encode_bias, 0.0)  # [n, hidden]
    np.add(hidden @ w.latent, w.latent_bias, out=z)
    hidden = np.maximum(z @ w.decode + w.decode_bias, 0.0)  # [n, hidden]
    of_output = hidden @ w.gram + w.crossed - products[:, size : 2 * size]  # [n, hidden]
    misfit[:] = inner(hidden, of_output) - products[:, 2 * size] + scale * scale * inner(windows, windows) + w.constant
    np.maximum(misfit, 0.0, out=misfit)
    misfit *= 0.5 / w.variance
    misfit += 0.5 * inner(z, z)
    np.log(misfit, out=misfit)


def inner(x: F32, y: F32) -> F32:
    """Return the inner product of each row."""
    product: F32 = np.einsum("ij,ij->i", x, y)
    return product


def embed_into(w: Network, windows: F32, scale: F32, latents: F32, misfit: F32) -> None:
    """Write the latents [b, 8] and the logarithm of the misfit [b] of windows times their scale, tile by tile.

    A scale of NaN gives NaN.
    """
    layers = layers_of(w)
    for begin in range(0, len(scale), TILE):
        some = slice(begin, begin + TILE)
        forward(layers, windows[some], scale[some], latents[some], misfit[some])


def embed(w: Network, windows: F32, scale: F32) -> tuple[F32, F32]:
    """Return what ``embed_into`` writes."""
    latents, misfit = np.empty((len(scale), LATENTS), np.float32), np.empty(len(scale), np.float32)
    embed_into(w, windows, scale, latents, misfit)
    return latents, misfit
