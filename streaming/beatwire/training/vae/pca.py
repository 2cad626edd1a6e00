"""Principal components: a linear network of the VAE's size for comparison, and the 2-D projection of the latents."""

import numpy as np

from beatwire.backends.network import Network
from beatwire.kernels.scores.history import LATENTS
from beatwire.records import F32


def pca(windows: F32, variance: float) -> Network:
    """Return the PCA of windows [n, 256] with 8 components as a network: the baseline of the VAE.

    A linear map is expressed with rectifiers by having each unit twice, with either sign.
    """
    mean = windows.mean(0)
    variances, directions = np.linalg.eigh(np.cov(windows, rowvar=False))
    axes = directions[:, -LATENTS:]  # the largest last
    scale = 1 / np.sqrt(variances[-LATENTS:].mean())  # latents of unit variance, as those of the VAE
    signed = np.concatenate([axes, -axes], 1).astype(np.float32)
    merge = np.concatenate([np.eye(LATENTS), -np.eye(LATENTS)]).astype(np.float32)
    return Network(
        encode=signed, encode_bias=(-mean @ signed).astype(np.float32),
        latent=(merge * scale).astype(np.float32), latent_bias=np.zeros(LATENTS, np.float32),
        decode=np.ascontiguousarray((merge / scale).T, np.float32), decode_bias=np.zeros(2 * LATENTS, np.float32),
        output=np.ascontiguousarray(signed.T), output_bias=mean.astype(np.float32),
        map=np.eye(LATENTS, dtype=np.float32)[:, :-3:-1], variance=variance,
    )  # fmt: skip


def principal_plane(latent: F32) -> F32:
    """Return the two orthogonal directions [8, 2] along which latents [n, 8] vary most, with a fixed sign."""
    axes = np.linalg.svd(latent - latent.mean(0), full_matrices=False)[2][:2].T
    signs = np.sign(axes[np.argmax(np.abs(axes), axis=0), [0, 1]])
    directions: F32 = np.round(axes * signs, 4).astype(np.float32)  # rounded: sums depend on the number of threads
    return directions
