"""Hearts whose recorded amplitude changes, and where alerts begin."""

import beatwire
import numpy as np
from beatwire.recordings.synthetic.person import synthesise

SECONDS, AT_S = 40, 20.0


def heart(seed: int, bpm: float, rate_hz: int = 250, leads: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return an ECG in millivolts [leads, n], and its beats in seconds."""
    truth = synthesise(seed, rate_hz=rate_hz, seconds=SECONDS, bpm=bpm, leads=leads)
    return truth.recording.samples * 0.002, truth.beats / rate_hz


def gain(n: int, rate_hz: int, times: float, ramp_s: float) -> np.ndarray:
    """Return a gain that is 1 at first, and grows to ``times``."""
    since = np.arange(n) / rate_hz - AT_S
    share = np.clip(since / ramp_s, 0, 1) if ramp_s > 0 else since >= 0
    return np.asarray(times**share)


def stopped(seed: int, rate_hz: int, stop_s: float, mv: np.ndarray) -> np.ndarray:
    """Return a signal whose heart stops."""
    stop, rng = int(stop_s * rate_hz), np.random.default_rng(seed)
    mv = mv.copy()
    mv[:, stop:] = rng.normal(0, 0.005, mv[:, stop:].shape)
    return mv


def begins(result: beatwire.Result, *rules: str) -> np.ndarray:
    """Return where alerts begin, in seconds."""
    alerts = result.alerts
    return np.asarray(alerts[alerts.rule.isin(rules) & (alerts.state == "on")].onset_s)


def announced_behind(seed: int, bpm: float, times: float, beating_s: float) -> np.ndarray:
    """Return how long after its last beat a heart that stops is announced, which has beaten on behind a change of gain.

    ``beating_s``: for so long behind the change, by ``times``, at ``AT_S``. All announcements, in seconds, in order.
    """
    mv, beats_s = heart(seed, bpm)
    stop_s = AT_S + beating_s
    mv = stopped(seed, 250, stop_s, mv * gain(mv.shape[1], 250, times, 0))
    onset_s = begins(beatwire.analyze(mv, fs=250, units="mV"), "asystole", "cannot analyse")
    late_s: np.ndarray = onset_s - beats_s[beats_s < stop_s - 0.1][-1]
    return late_s
