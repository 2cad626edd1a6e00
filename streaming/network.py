"""The VAE that scores: its weights, and what it makes of windows, on any array library.

``forward`` is the one text of the network, over functions that NumPy and torch have in common. Everything it writes
to is given, so that nothing is allocated in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from streaming.kernels.history import LATENTS
from streaming.kernels.windows import WINDOW
from streaming.records import F32

TILE, SMALL_TILE = 256, 64


@dataclass(frozen=True, slots=True)
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


def forward(m: Any, w: Network, x: Any, hidden: Any, z: Any, y: Any, squares: Any, misfit: Any) -> None:
    """Work out the latents ``z`` [n, 8] of ``x`` [n, 256], and the logarithm of their ``misfit`` [n].

    ``m`` is `InNumpy` or `InTorch`. ``hidden`` [n, .], ``y`` [n, 256] and ``squares`` [n, 8] are scratch.
    """
    m.clip(m.affine(x, w.encode, w.encode_bias, hidden), 0.0, None, out=hidden)
    m.affine(hidden, w.latent, w.latent_bias, z)
    m.clip(m.affine(z, w.decode, w.decode_bias, hidden), 0.0, None, out=hidden)
    m.subtract(m.affine(hidden, w.output, w.output_bias, y), x, out=y)
    m.multiply(m.sum(m.multiply(y, y, out=y), 1, out=misfit), 0.5 / w.variance, out=misfit)
    length = m.sum(m.multiply(z, z, out=squares), 1, out=y[:, 0])
    m.log(m.add(misfit, m.multiply(length, 0.5, out=length), out=misfit), out=misfit)


class InNumpy:
    """NumPy, for ``forward``."""

    clip, subtract, multiply, sum, add, log = np.clip, np.subtract, np.multiply, np.sum, np.add, np.log

    @staticmethod
    def affine(x: Any, weight: Any, bias: Any, out: Any) -> Any:
        """Write ``x @ weight + bias``."""
        return np.add(np.matmul(x, weight, out=out), bias, out=out)


def embed_into(w: Network, windows: F32, scale: F32, latents: F32, misfit: F32) -> None:
    """Write the latents [b, 8] and the logarithm of the misfit [b] of windows times their scale, tile by tile.

    A scale of NaN gives NaN. Tiles are full, so that how many windows there are changes a number by rounding only.
    """
    b = len(scale)
    tile = TILE if b > SMALL_TILE else SMALL_TILE
    x, y = np.empty((tile, WINDOW), np.float32), np.empty((tile, WINDOW), np.float32)
    hidden = np.empty((tile, w.encode.shape[1]), np.float32)
    z, squares = np.empty((tile, LATENTS), np.float32), np.empty((tile, LATENTS), np.float32)
    of_tile = np.empty(tile, np.float32)
    for begin in range(0, b, tile):
        n = min(tile, b - begin)
        np.multiply(windows[begin : begin + n], scale[begin : begin + n, None], out=x[:n])
        x[n:] = 0.0
        forward(InNumpy, w, x, hidden, z, y, squares, of_tile)
        latents[begin : begin + n] = z[:n]
        misfit[begin : begin + n] = of_tile[:n]


def embed(w: Network, windows: F32, scale: F32) -> tuple[F32, F32]:
    """Return what ``embed_into`` writes."""
    latents, misfit = np.empty((len(scale), LATENTS), np.float32), np.empty(len(scale), np.float32)
    embed_into(w, windows, scale, latents, misfit)
    return latents, misfit


def on_torch(w: Network, tensor: Callable[[Any], Any]) -> Callable[..., None]:
    """Return what runs the network with torch where its arrays are: ``tensor`` is a view of one, without a copy.

    It takes ``(rows, windows, scale, latents, misfit, x, y, hidden, squares)``, the last four scratch, and works on
    the first ``rows`` of each.
    """
    import torch

    class InTorch:
        """Torch, for ``forward``."""

        clip, subtract, multiply, sum = torch.clip, torch.subtract, torch.multiply, torch.sum
        add, log = torch.add, torch.log

        @staticmethod
        def affine(x: Any, weight: Any, bias: Any, out: Any) -> Any:
            """Write ``x @ weight + bias``."""
            return torch.addmm(bias, x, weight, out=out)

    arrays = {f.name: getattr(w, f.name) for f in fields(w)}
    weights = replace(w, **{name: tensor(a) for name, a in arrays.items() if isinstance(a, np.ndarray)})

    def run(rows: int, *given: Any) -> None:
        windows, scale, latents, misfit, x, y, hidden, squares = (tensor(a)[:rows] for a in given)
        torch.multiply(windows, scale[:, None], out=x)
        forward(InTorch, weights, x, hidden, latents, y, squares, misfit)

    return run
