"""The rival of the benchmark ``recording``: a plain script that reads, filters, finds peaks, cuts windows and scores.

pandas -> SciPy's ``fftconvolve`` -> a Numba loop -> windows by index -> torch; on a GPU cuDF, CuPy, a Numba CUDA kernel
and torch. It works on one array with one threshold: there are no adaptive levels, no history, no RR intervals, and
the result depends on the whole recording.
"""

import importlib
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np

from beatwire.model.checkpoint import load_model

RATE_HZ = 250.0
SIGMA_S = 0.014
HALF_WINDOW = 55  # samples, 220 ms: a peak is the largest within it
THRESHOLD = 0.3  # of the median of the block maxima
WINDOW = 256
BLOCK = 500  # samples, 2 s
THREADS = 256  # of a CUDA block

_njit: Callable[[Any], Any] = numba.njit(parallel=True, nogil=True)


def missing() -> str | None:
    """Return why the script cannot run here; None if it can."""
    if importlib.util.find_spec("torch") is None:
        return "torch is not installed (pip install 'beatwire[train]')"
    return None


def wavelet() -> Any:
    """Return a Ricker wavelet, float32 [29]."""
    t = np.arange(-14, 15) / (SIGMA_S * RATE_HZ)
    return ((1 - t**2) * np.exp(-(t**2) / 2)).astype(np.float32)


def is_peak(response: Any, i: int, floor: float) -> bool:
    """Return True if sample ``i`` is at least ``floor`` and the largest within ``HALF_WINDOW``."""
    value = response[i]
    if value < floor:
        return False
    for j in range(max(0, i - HALF_WINDOW), min(response.shape[0], i + HALF_WINDOW + 1)):
        if response[j] > value or (response[j] == value and j < i):
            return False
    return True


_is_peak: Any = numba.njit(is_peak)


@_njit
def _suppress(response: Any, floor: float, found: Any) -> None:
    for i in numba.prange(response.shape[0]):
        found[i] = _is_peak(response, i, floor)


def suppress_on_gpu() -> Callable[..., None]:
    """Return the same loop as a launcher of a CUDA kernel."""
    from numba import cuda

    peak = cuda.jit(device=True)(is_peak)

    def one(response: Any, floor: float, found: Any) -> None:
        i = cuda.grid(1)
        if i < response.shape[0]:
            found[i] = peak(response, i, floor)

    kernel = cuda.jit(one)

    def launch(response: Any, floor: float, found: Any) -> None:
        kernel[(response.shape[0] + THREADS - 1) // THREADS, THREADS](response, floor, found)

    return launch


def network(device: str) -> Callable[[Any], Any]:
    """Return a function from torch windows [b, 256] to the reconstruction error of the shipped VAE [b]."""
    import torch

    w = load_model().network
    names = ("encode", "encode_bias", "latent", "latent_bias", "decode", "decode_bias", "output", "output_bias")
    t = {name: torch.from_numpy(getattr(w, name)).to(device) for name in names}

    def error(x: Any) -> Any:
        with torch.no_grad():
            z = torch.relu(x @ t["encode"] + t["encode_bias"]) @ t["latent"] + t["latent_bias"]
            y = torch.relu(z @ t["decode"] + t["decode_bias"]) @ t["output"] + t["output_bias"]
            return ((y - x) ** 2).mean(1)

    return error


def baseline(path: Path, gpu: bool = False, typed: bool = False) -> Callable[[], tuple[int, Any]]:
    """Return the script as a function without arguments that returns the number of peaks and their scores.

    With ``typed`` the CSV parser is given the type of the column, float32.
    """
    import torch

    xp = importlib.import_module("cupy" if gpu else "numpy")
    frames = importlib.import_module("cudf" if gpu else "pandas")
    convolve = importlib.import_module("cupyx.scipy.signal" if gpu else "scipy.signal").fftconvolve
    suppress = suppress_on_gpu() if gpu else _suppress
    error = network("cuda" if gpu else "cpu")
    kernel, offsets = xp.asarray(wavelet()), xp.arange(-WINDOW // 2, WINDOW // 2)

    def run() -> tuple[int, Any]:
        table = frames.read_csv(str(path), **({"dtype": "float32"} if typed else {}))
        signal = xp.asarray(table.iloc[:, 0].astype("float32"))
        response = xp.abs(convolve(signal, kernel, mode="same"))
        is_peak = xp.zeros(len(response), xp.bool_)
        maxima = response[: len(response) // BLOCK * BLOCK].reshape(-1, BLOCK).max(1)
        suppress(response, float(THRESHOLD * xp.median(maxima)), is_peak)
        peaks = xp.flatnonzero(is_peak)
        windows = signal[xp.clip(peaks[:, None] + offsets, 0, len(signal) - 1)]
        windows -= windows.mean(1, keepdims=True)
        windows /= windows.std(1, keepdims=True) + xp.float32(1e-6)
        return len(peaks), error(torch.as_tensor(windows))

    return run
