"""The VAE that scores: its weights, and what it makes of windows.

``kernels.vae`` is the text of the network. The reconstruction is never written out: of 256 points only their
squared distance from the window is wanted, and that follows from products of window and output weights
(``Layers``), which come with those of the encoder.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from beatwire.jit import cpu
from beatwire.kernels.history import LATENTS
from beatwire.kernels.vae import LANES, SCRATCH, TOGETHER
from beatwire.records import F32


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
    """What ``kernels.vae`` multiplies by: a row for each input, columns filled up with zeros.

    ``|h output + bias - x|^2 = h (gram h + crossed - 2 output x) + |bias|^2 - 2 bias x + |x|^2``.
    """

    first: F32  # [256, 2 hidden] encode, twice the transposed output
    encode_bias: F32  # [hidden]
    latent: F32  # [hidden, 8]
    latent_bias: F32  # [8]
    decode: F32  # [8, hidden]
    decode_bias: F32  # [hidden]
    gram: F32  # [hidden, hidden] of the output
    crossed: F32  # [hidden] twice the output times its bias
    bias: F32  # [256] twice that of the output
    constants: F32  # [2] |bias|^2, half of one over the variance


@functools.lru_cache(maxsize=16)
def layers_of(w: Network) -> Layers:
    """Multiply what does not depend on windows."""
    output, bias = w.output.astype(np.float64), w.output_bias.astype(np.float64)
    first = np.concatenate((w.encode, 2 * output.T), 1)
    return Layers(
        _filled(first), w.encode_bias, _filled(w.latent), w.latent_bias, _filled(w.decode), w.decode_bias,
        _filled(output @ output.T), (2 * output @ bias).astype(np.float32), (2 * bias).astype(np.float32),
        np.array([bias @ bias, 0.5 / w.variance], np.float32),
    )  # fmt: skip


def _filled(matrix: np.ndarray[Any, Any]) -> F32:
    rows, columns = matrix.shape
    filled = np.zeros((rows, -(-columns // LANES) * LANES), np.float32)
    filled[:, :columns] = matrix
    return filled


def embed_into(w: Network, windows: F32, scale: F32, latents: F32, reconstruction_error: F32) -> None:
    """Write the latents [b, 8] and the logarithm of the reconstruction_error [b] of windows times their scale.

    A scale of NaN gives NaN.
    """
    one = layers_of(w)
    cpu.kernels.forward(
        -(-len(scale) // TOGETHER), windows, scale, one.first, one.encode_bias, one.latent, one.latent_bias, one.decode,
        one.decode_bias, one.gram, one.crossed, one.bias, one.constants,
        np.empty((SCRATCH, TOGETHER, max(one.first.shape)), np.float32), latents, reconstruction_error,
    )  # fmt: skip


def embed(w: Network, windows: F32, scale: F32) -> tuple[F32, F32]:
    """Return what ``embed_into`` writes."""
    latents, reconstruction_error = np.empty((len(scale), LATENTS), np.float32), np.empty(len(scale), np.float32)
    embed_into(w, np.ascontiguousarray(windows), np.ascontiguousarray(scale), latents, reconstruction_error)
    return latents, reconstruction_error
