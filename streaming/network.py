"""The VAE that scores: its weights, and what it makes of windows.

``forward`` is the text of the network; everything it writes to is given, so that nothing is allocated in it. The
reconstruction is never written out: of 256 points only their squared distance from the window is wanted, and that
follows from 33 products of window and output weights (``Layers``), which come with those of the encoder.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

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


def scratch_widths(w: Network) -> tuple[int, ...]:
    """Return how many numbers a window needs in each of the three arrays of scratch of ``forward``."""
    hidden = len(w.encode_bias)
    return 2 * hidden + 1, hidden, hidden


def forward(w: Layers, windows: Any, scale: Any, z: Any, misfit: Any, products: Any, hidden: Any, other: Any) -> None:
    """Work out the latents ``z`` [n, 8] of windows [n, 256] times their ``scale`` [n], and the log of the misfit [n].

    The last three are scratch, see ``scratch_widths``. ``kernels.embed`` is the same for a GPU.
    """
    m, size = InNumpy, w.encode_bias.shape[0]
    m.multiply(m.matmul(windows, w.first, out=products), scale[:, None], out=products)
    m.clip(m.add(products[:, :size], w.encode_bias, out=hidden), 0.0, None, out=hidden)
    m.affine(hidden, w.latent, w.latent_bias, z)
    m.clip(m.affine(z, w.decode, w.decode_bias, hidden), 0.0, None, out=hidden)
    m.subtract(m.affine(hidden, w.gram, w.crossed, other), products[:, size : 2 * size], out=other)
    m.inner(hidden, other, misfit)
    m.subtract(misfit, products[:, 2 * size], out=misfit)
    length, square = products[:, 0], products[:, 1]
    m.squares(windows, length)
    m.multiply(m.multiply(scale, scale, out=square), length, out=square)
    m.add(m.add(misfit, square, out=misfit), w.constant, out=misfit)
    m.multiply(m.clip(misfit, 0.0, None, out=misfit), 0.5 / w.variance, out=misfit)
    m.multiply(m.squares(z, length), 0.5, out=length)
    m.log(m.add(misfit, length, out=misfit), out=misfit)


class InNumpy:
    """NumPy, for ``forward``."""

    clip, subtract, multiply, matmul, add, log = np.clip, np.subtract, np.multiply, np.matmul, np.add, np.log

    @staticmethod
    def affine(x: Any, weight: Any, bias: Any, out: Any) -> Any:
        """Write ``x @ weight + bias``."""
        return np.add(np.matmul(x, weight, out=out), bias, out=out)

    @staticmethod
    def inner(x: Any, y: Any, out: Any) -> Any:
        """Write the inner product of each row; ``y`` is scratch then."""
        return np.einsum("ij,ij->i", x, y, out=out)

    @staticmethod
    def squares(x: Any, out: Any) -> Any:
        """Write the sum of squares of each row."""
        return np.einsum("ij,ij->i", x, x, out=out)


def embed_into(w: Network, windows: F32, scale: F32, latents: F32, misfit: F32) -> None:
    """Write the latents [b, 8] and the logarithm of the misfit [b] of windows times their scale, tile by tile.

    A scale of NaN gives NaN.
    """
    layers, b = layers_of(w), len(scale)
    scratch = [np.empty((min(b, TILE), width), np.float32) for width in scratch_widths(w)]
    for begin in range(0, b, TILE):
        some = slice(begin, min(begin + TILE, b))
        work = (part[: some.stop - begin] for part in scratch)
        forward(layers, windows[some], scale[some], latents[some], misfit[some], *work)


def embed(w: Network, windows: F32, scale: F32) -> tuple[F32, F32]:
    """Return what ``embed_into`` writes."""
    latents, misfit = np.empty((len(scale), LATENTS), np.float32), np.empty(len(scale), np.float32)
    embed_into(w, windows, scale, latents, misfit)
    return latents, misfit
