"""Networks of one's own for the tests of scorers: some that can be used, and some that cannot; needs torch."""

import json
from pathlib import Path
from typing import Any

import torch
from beatwire.model.scorer import TABLE


class Peak(torch.nn.Module):
    """The largest magnitude of a window."""

    def forward(self, windows: Any) -> Any:
        return windows.abs().amax(1)


class Scaled(torch.nn.Module):
    """The largest magnitude of a window, in another unit."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, windows: Any) -> Any:
        return windows.abs().amax(1) * self.factor


class Latents(torch.nn.Module):
    """Three latents of each window."""

    def forward(self, windows: Any) -> Any:
        return windows[:, 60:63]


class Whole(torch.nn.Module):
    def forward(self, windows: Any) -> Any:
        return windows.mean()


class Counted(torch.nn.Module):
    def forward(self, windows: Any) -> Any:
        return windows.abs().sum(1).round().long()


class NoNumber(torch.nn.Module):
    def forward(self, windows: Any) -> Any:
        return windows.sum(1) * float("nan")


class Neighbours(torch.nn.Module):
    def forward(self, windows: Any) -> Any:
        return windows.abs().amax(1) - windows.abs().amax()


class Narrow(torch.nn.Module):
    def forward(self, windows: Any) -> Any:
        return (windows.reshape(-1, 128) ** 2).sum(1)


def write(path: Path, network: Any, table: Any = None) -> Path:
    """Write a network without any check, with a table or without."""
    program = torch.export.export(network, (torch.zeros(4, 256),), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))
    extra = {} if table is None else {TABLE: table if isinstance(table, str) else json.dumps(table)}
    torch.export.save(program, path, extra_files=extra)
    return path
