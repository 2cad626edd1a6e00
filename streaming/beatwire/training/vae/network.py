"""The variational autoencoder in torch, its training, and its conversion to ``backends.network.Network``.

Layers: 256 -> hidden -> 8 latents -> hidden -> 256 with rectifiers and a Gaussian likelihood of fixed variance. With 32
hidden units a beat costs 17,000 multiply-adds. This module imports torch; others import it only while training.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from beatwire.backends.network import Network
from beatwire.kernels.detection.windows import WINDOW
from beatwire.kernels.scores.history import LATENTS
from beatwire.records import F32, F64
from beatwire.training.settings import VaeSettings
from beatwire.training.vae.pca import principal_plane

LOG_VARIANCE_LIMITS = (-10.0, 4.0)  # of a latent: keeps exp() finite early in training
MAP_WINDOWS = 20_000  # enough for the plane of largest variance


class Vae(nn.Module):
    """Encoder to mean and log variance of 8 latents, decoder to 256 points."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.encode = nn.Linear(WINDOW, hidden)
        self.latent = nn.Linear(hidden, LATENTS)
        self.log_variance = nn.Linear(hidden, LATENTS)
        self.decode = nn.Linear(LATENTS, hidden)
        self.output = nn.Linear(hidden, WINDOW)

    def loss(self, x: Tensor, noise: Tensor, variance: float) -> Tensor:
        """Return the negative evidence lower bound of windows [b, 256], without constants."""
        hidden = torch.relu(self.encode(x))  # [b, hidden]
        mean = self.latent(hidden)  # [b, 8]
        log_variance = self.log_variance(hidden).clamp(*LOG_VARIANCE_LIMITS)  # [b, 8]
        z = mean + noise * torch.exp(0.5 * log_variance)
        y = self.output(torch.relu(self.decode(z)))  # [b, 256]
        reconstruction_error = (y - x).square().sum(1) / (2 * variance)
        divergence = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(1)
        loss: Tensor = (reconstruction_error + divergence).mean()
        return loss


def fit(windows: F32, weight: F64, settings: VaeSettings, progress: Callable[[int], None]) -> Network:
    """Train a network; the same settings and windows give the same network on the same processor.

    Parameters
    ----------
    windows
        float32 [n, 256], in units of the usual size.
    weight
        float64 [n], relative probability of drawing each window.
    settings
        Settings of the training.
    progress
        Called with the number of steps done, every 100 steps.
    """
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
        if step % 100 == 99:
            progress(step + 1)
    torch.set_num_threads(threads)
    return export(net, windows[:: max(1, len(windows) // MAP_WINDOWS)], settings.variance)


def export(net: Vae, windows: F32, variance: float) -> Network:
    """Return a trained module as arrays, the latents that the decoder reads most last (``kernels.scores.history``).

    The 2-D map is the plane in which the latents of ``windows`` vary most.
    """

    def arrays(layer: nn.Linear) -> tuple[F32, F32]:
        return (
            np.ascontiguousarray(layer.weight.detach().cpu().numpy().T, np.float32),
            layer.bias.detach().cpu().numpy().astype(np.float32),
        )

    encode, latent, decode, output = (arrays(k) for k in (net.encode, net.latent, net.decode, net.output))
    order = np.argsort(np.linalg.norm(decode[0], axis=1), kind="stable")
    latent, decode = (latent[0][:, order].copy(), latent[1][order]), (decode[0][order], decode[1])
    z = np.maximum(windows @ encode[0] + encode[1], 0) @ latent[0] + latent[1]
    return Network(*encode, *latent, *decode, *output, principal_plane(z), variance)
