"""``beatwire train scorer``: an example of a network of one's own, to be copied and changed.

An autoencoder learns normal beats; the larger its error, the stranger the beat. People whose beats it has not seen show
how large the error of a normal beat is.
"""

from typing import Any

import torch
from torch import Tensor, nn

from beatwire.errors import UserError
from beatwire.kernels.detection.windows import WINDOW
from beatwire.model.scorer import SUFFIX, save_scorer
from beatwire.outputs import check_output
from beatwire.records import F32
from beatwire.training.progress import Progress, ignore
from beatwire.training.settings import ScorerSettings
from beatwire.training.task import Task
from beatwire.training.vae.dataset import read_subjects
from beatwire.training.vae.network_cache import training_windows

HELD_BACK = 4  # every fourth person


class Autoencoder(nn.Module):
    """Windows [b, 256] -> the logarithm of the mean squared error of their reconstruction [b]."""

    def __init__(self, hidden: int = 64, latents: int = 8) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(WINDOW, hidden), nn.GELU(), nn.Linear(hidden, latents))
        self.decoder = nn.Sequential(nn.Linear(latents, hidden), nn.GELU(), nn.Linear(hidden, WINDOW))

    def forward(self, windows: Tensor) -> Tensor:
        """Return one value a window."""
        error: Tensor = (self.decoder(self.encoder(windows)) - windows).square().mean(1)
        return (error + 1e-6).log()


def fit(windows: F32, settings: ScorerSettings, progress: Progress = ignore) -> Autoencoder:
    """Train on windows of normal beats, float32 [n, 256]."""
    torch.manual_seed(settings.seed)
    network, x = Autoencoder(), torch.from_numpy(windows)
    optimizer = torch.optim.Adam(network.parameters(), 2e-3)
    for step in range(settings.steps):
        loss = network(x[torch.randint(len(x), (settings.batch,))]).mean()
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        progress((step + 1) / settings.steps, "training")
    return network


def train_scorer(task: Task[ScorerSettings]) -> dict[str, Any]:
    """Train on the normal beats of annotated records; write ``NAME.pt2``."""
    folders, settings = task.folders, task.settings
    out = check_output("--out", task.out, sources=folders, endings=(SUFFIX,))
    subjects = read_subjects(folders, settings.seed, task.annotations)
    if len(subjects) < 2:
        raise UserError(f"{folders[0]}: expected at least 2 annotated records without a pacemaker; got {len(subjects)}")
    unseen = training_windows(subjects[::HELD_BACK])[0]
    seen = training_windows([one for k, one in enumerate(subjects) if k % HELD_BACK])[0]
    save_scorer(fit(seen, settings, task.progress), out, unseen)
    return {"scorer": str(out), "trained_on": len(seen), "calibrated_on": len(unseen), "people": len(subjects)}
