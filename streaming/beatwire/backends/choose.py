"""Choose the backend: ``cpu``, ``gpu`` or ``auto``; never silently another one than asked for."""

from __future__ import annotations

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU, Cpu
from beatwire.errors import UserError


def bytes_of(text: str) -> int:
    """Return the bytes that a size like ``8GiB`` or ``500MB`` is.

    >>> bytes_of("8GiB"), bytes_of("500 MB")
    (8589934592, 500000000)

    Raises
    ------
    UserError
        It is no size.
    """
    units = {"": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "kb": 10**3, "mb": 10**6, "gb": 10**9}
    number = text.strip().rstrip("BbiIkKmMgG ")
    unit = text.strip()[len(number) :].strip().lower()
    try:
        size = float(number) * units[unit]
    except (KeyError, ValueError):
        size = 0
    if not size >= 1:
        raise UserError(f"--gpu-memory: expected a size like 8GiB or 500MB; got {text!r}")
    return int(size)


def choose(kind: str, *, limit_bytes: int | None = None, managed: bool = False, nvtx: bool = False) -> Backend:
    """Return the backend for ``auto``, ``cpu`` or ``gpu``.

    Parameters
    ----------
    limit_bytes, managed, nvtx
        Of the GPU: how much memory it may take, whether that may move, whether a profiler is told what runs.

    Raises
    ------
    UserError
        gpu was asked for and cannot be had.
    """
    if kind == "cpu":
        return CPU
    from beatwire.backends.cuda import backend, card

    why = card.missing()
    if why is not None and kind == "gpu":
        raise UserError(f"--backend gpu: expected a usable GPU; got: {why}. Use --backend cpu or auto")
    if why is not None:
        return Cpu(f"backend cpu: {why}")
    there = card.CudaCard(limit_bytes, managed=managed, nvtx=nvtx)
    return backend.Device(there, f"backend gpu: {there.name}, {'as asked' if kind == 'gpu' else 'found'}")
