"""The variational autoencoder in torch, its training, and its way into ``stages.score.Network``.

256 -> hidden -> 8 latents -> hidden -> 256, rectified, Gaussian likelihood of one fixed variance:
small on purpose, 17,000 multiply-adds a beat with 32 hidden.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from beatwire.backends.network import Network
from beatwire.kernels.history import LATENTS
from beatwire.kernels.windows import WINDOW
from beatwire.records import F32, F64


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """What a training run depends on, besides its data."""

    seed: int = 0
    steps: int = 3000
    batch: int = 512
    hidden: int = 32
    variance: float = 4.0
    learning_rate: float = 3e-3
    size_jitter: float = 0.1


class Vae(nn.Module):
    """Encoder to mean and log variance of 8 latents, decoder back to 256 points."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.encode = nn.Linear(WINDOW, hidden)
        self.latent = nn.Linear(hidden, LATENTS)
        self.log_variance = nn.Linear(hidden, LATENTS)
        self.decode = nn.Linear(LATENTS, hidden)
        self.output = nn.Linear(hidden, WINDOW)

    def loss(self, x: Tensor, noise: Tensor, variance: float) -> Tensor:
        """Return minus the evidence lower bound of windows [b, 256], without constants."""
        hidden = torch.relu(self.encode(x))  # [b, hidden]
        mean = self.latent(hidden)  # [b, 8]
        log_variance = self.log_variance(hidden).clamp(-10, 4)  # [b, 8]
        z = mean + noise * torch.exp(0.5 * log_variance)
        y = self.output(torch.relu(self.decode(z)))  # [b, 256]
        reconstruction_error = (y - x).square().sum(1) / (2 * variance)
        divergence = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(1)
        loss: Tensor = (reconstruction_error + divergence).mean()
        return loss


def fit(windows: F32, weight: F64, settings: TrainSettings, progress: Callable[[int], None] | None = None) -> Network:
    """Train on windows [n, 256], drawn in proportion to ``weight`` [n]; the same seed gives the same network."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    rng = torch.Generator().manual_seed(settings.seed)
    with torch.random.fork_rng():
        torch.manual_seed(settings.seed)
        net = Vae(settings.hidden).to(device)
    optimizer = torch.optim.Adam(net.parameters(), settings.learning_rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, settings.learning_rate, settings.steps)
    x, w = torch.from_numpy(windows), torch.from_numpy(weight)
    for step in range(settings.steps):
        rows = torch.multinomial(w, settings.batch, replacement=True, generator=rng)
        size = torch.exp(settings.size_jitter * torch.randn(settings.batch, 1, generator=rng))
        noise = torch.randn(settings.batch, LATENTS, generator=rng)
        loss = net.loss((x[rows] * size).to(device), noise.to(device), settings.variance)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        schedule.step()
        if progress is not None and step % 100 == 99:
            progress(step + 1)
    torch.set_num_threads(threads)
    return export(net, windows[:: max(1, len(windows) // 20000)], settings.variance)


def export(net: Vae, windows: F32, variance: float) -> Network:
    """Turn a trained module into arrays; the 2-D map is the plane of most variance of ``windows``' latents."""

    def of(layer: nn.Linear) -> tuple[F32, F32]:
        return (
            np.ascontiguousarray(layer.weight.detach().cpu().numpy().T, np.float32),
            layer.bias.detach().cpu().numpy().astype(np.float32),
        )

    encode, latent, decode, output = (of(k) for k in (net.encode, net.latent, net.decode, net.output))
    z = np.maximum(windows @ encode[0] + encode[1], 0) @ latent[0] + latent[1]
    return Network(*encode, *latent, *decode, *output, plane(z), variance)


def pca(windows: F32, variance: float) -> Network:
    """Return a linear network of the same 8 numbers: what the VAE is compared with.

    A linear map is a rectified one with each unit once with either sign.
    """
    mean = windows.mean(0)
    variances, directions = np.linalg.eigh(np.cov(windows, rowvar=False))
    axes = directions[:, : -LATENTS - 1 : -1]
    unit = 1 / np.sqrt(variances[-LATENTS:].mean())  # latents of variance 1, as the VAE's are
    both = np.concatenate([axes, -axes], 1).astype(np.float32)
    merge = np.concatenate([np.eye(LATENTS), -np.eye(LATENTS)]).astype(np.float32)
    return Network(
        encode=both, encode_bias=(-mean @ both).astype(np.float32),
        latent=(merge * unit).astype(np.float32), latent_bias=np.zeros(LATENTS, np.float32),
        decode=np.ascontiguousarray((merge / unit).T, np.float32), decode_bias=np.zeros(2 * LATENTS, np.float32),
        output=np.ascontiguousarray(both.T), output_bias=mean.astype(np.float32),
        map=np.eye(LATENTS, 2, dtype=np.float32), variance=variance,
    )  # fmt: skip


def plane(latent: F32) -> F32:
    """Return the two orthogonal directions [8, 2] along which latents vary most, with a fixed sign."""
    axes = np.linalg.svd(latent - latent.mean(0), full_matrices=False)[2][:2].T
    signs = np.sign(axes[np.argmax(np.abs(axes), axis=0), [0, 1]])
    directions: F32 = np.round(axes * signs, 4).astype(np.float32)  # the same however many threads the sums had
    return directions
