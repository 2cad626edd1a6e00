"""Synthetic hearts of any rate, with T waves of any height, whose R are known."""

import numpy as np

LEADS = np.array([1.0, -0.6, 0.8])


def heart(
    bpm: list[tuple[float, float, float]], rate_hz: float, sigma_s: float, *, leads: int = 1, t_wave: float = 0.0,
    seed: int = 1,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return a heart in millivolts [leads, n] and its R in seconds; ``bpm`` are rates at begin and end, and seconds."""
    rng = np.random.default_rng(seed)
    r, at, end = [], 0.4, 0.0
    for first, last, seconds in bpm:
        begin, end = end, end + seconds
        while at < end:
            r.append(at)
            at += 60 / (first + (last - first) * (at - begin) / seconds) * (1 + 0.005 * rng.standard_normal())
    n = round(end * rate_hz)
    x = 0.01 * rng.standard_normal((leads, n))
    for k, centre in enumerate(r):
        rr = (r[k + 1] if k + 1 < len(r) else at) - centre
        first = max(0, int((centre - 0.3) * rate_hz))
        t = np.arange(first, min(n, int((centre + 0.6) * rate_hz))) / rate_hz - centre
        wave = np.exp(-0.5 * (t / sigma_s) ** 2) - 0.15 * np.exp(-0.5 * (t / sigma_s - 2.75) ** 2)
        wave += t_wave * np.exp(-0.5 * ((t - min(0.28, 0.5 * rr)) / max(0.04, 2 * sigma_s)) ** 2)
        x[:, first : first + len(t)] += LEADS[:leads, None] * (1 + 0.04 * rng.standard_normal()) * wave
    return x, np.array(r)


def units(x: np.ndarray) -> np.ndarray:
    """Return millivolts in units of 5 uV."""
    return np.rint(x / 0.005).astype(np.int16)
