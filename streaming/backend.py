"""cpu or gpu: chosen once, said once, never silently something else."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from streaming.errors import UserError


@dataclass(frozen=True, slots=True)
class Backend:
    """Where the arrays live.

    name     cpu or gpu
    xp       the array library
    reason   why this one, a sentence for the user
    """

    name: str
    xp: Any
    reason: str


def missing_gpu() -> str | None:
    """Return why there is no usable GPU; None when there is one."""
    try:
        cupy = importlib.import_module("cupy")
    except ImportError as error:
        return f"{error} (pip install 'beatwire[gpu]')"
    try:
        found = int(cupy.cuda.runtime.getDeviceCount())
    except Exception as error:
        return str(error).splitlines()[0]
    return None if found else "no CUDA device"


def choose(kind: str) -> Backend:
    """Return the backend for ``auto``, ``cpu`` or ``gpu``.

    Raises
    ------
    UserError
        gpu was asked for and cannot be had.
    """
    if kind == "gpu":
        why = missing_gpu() or "the graph's GPU kernels are not part of this version"
        raise UserError(f"--backend gpu: expected a usable GPU; got: {why}. Use --backend cpu or auto")
    if kind == "auto":
        why = missing_gpu() or "a GPU is there, but this version's graph runs on the CPU"
        return Backend("cpu", np, f"backend cpu: {why}")
    return Backend("cpu", np, "backend cpu, as asked")
