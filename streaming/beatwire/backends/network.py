"""The VAE that scores: its weights, and how it embeds windows.

In:    windows float32 [b, 256] and their scale, float32 [b]
Out:   latents float32 [b, 8], and the logarithm of the reconstruction error, float32 [b]
State: none

``kernels.scores.vae`` is the network. The reconstruction is never computed: the score needs only its squared distance
from the window, which follows from products of window and output weights (``records.scoring.Layers``). These are
computed together with the products of the encoder.
"""

import functools
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from beatwire.jit import cpu
from beatwire.kernels.scores.history import LATENTS
from beatwire.kernels.scores.vae import COLUMNS_AT_ONCE, SCRATCH_ROWS, WINDOWS_AT_ONCE
from beatwire.records import F32
from beatwire.records.scoring import Layers


class WindowScorer(Protocol):
    """What replaces the reconstruction error; see ``model.scorer``.

    failure  why it gave no values, or not all of them, the last time; None: it gave all
    """

    failure: str | None

    def score_into(self, windows: Any, scale: Any, out: Any, count: Any = None) -> bool:
        """Write values [b] of windows [b, 256] times their scale; NaN everywhere and False if it failed."""


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """The weights of a VAE, float32: a layer is ``x @ weights + bias``; rectifiers follow the ``hidden`` layers."""

    encode: F32  # [256, hidden]
    encode_bias: F32  # [hidden]
    latent: F32  # [hidden, 8]
    latent_bias: F32  # [8]
    decode: F32  # [8, hidden]
    decode_bias: F32  # [hidden]
    output: F32  # [hidden, 256]
    output_bias: F32  # [256]
    map: F32  # [8, 2] projection of the latents that people look at; no part of the score
    variance: float  # of a window's points, in units of the usual size squared
    scorer: WindowScorer | None = None  # of the user, in place of the reconstruction error


@functools.lru_cache(maxsize=16)
def layers_of(w: Network) -> Layers:
    """Return the matrices that ``kernels.scores.vae`` multiplies by: all products that do not depend on windows."""
    output, bias = w.output.astype(np.float64), w.output_bias.astype(np.float64)
    return Layers(
        first=_padded(np.concatenate((w.encode, 2 * output.T), 1)),
        encode_bias=w.encode_bias,
        latent=_padded(w.latent),
        latent_bias=w.latent_bias,
        decode=_padded(w.decode),
        decode_bias=w.decode_bias,
        gram=_padded(output @ output.T),
        crossed=(2 * output @ bias).astype(np.float32),
        bias=(2 * bias).astype(np.float32),
        constants=np.array([bias @ bias, 0.5 / w.variance], np.float32),
    )


def _padded(matrix: np.ndarray[Any, Any]) -> F32:
    """Return a matrix with columns of zeros up to a multiple of ``COLUMNS_AT_ONCE``."""
    rows, columns = matrix.shape
    padded = np.zeros((rows, -(-columns // COLUMNS_AT_ONCE) * COLUMNS_AT_ONCE), np.float32)
    padded[:, :columns] = matrix
    return padded


def embed_into(w: Network, windows: F32, scale: F32, latents: F32, reconstruction_error: F32) -> bool:
    """Write the latents [b, 8] and the logarithm of the reconstruction error [b] of windows times their scale.

    A scale of NaN gives NaN. Returns False if the scorer of the user has failed.
    """
    layers = layers_of(w)
    work = np.empty((SCRATCH_ROWS, WINDOWS_AT_ONCE, max(layers.first.shape)), np.float32)
    cpu.kernels.embed_windows(
        -(-len(scale) // WINDOWS_AT_ONCE), windows, scale, layers, work, latents, reconstruction_error
    )
    return w.scorer is None or not len(scale) or w.scorer.score_into(windows, scale, reconstruction_error)


def embed(w: Network, windows: F32, scale: F32) -> tuple[F32, F32]:
    """Return what ``embed_into`` writes."""
    latents, reconstruction_error = np.empty((len(scale), LATENTS), np.float32), np.empty(len(scale), np.float32)
    embed_into(w, np.ascontiguousarray(windows), np.ascontiguousarray(scale), latents, reconstruction_error)
    return latents, reconstruction_error
