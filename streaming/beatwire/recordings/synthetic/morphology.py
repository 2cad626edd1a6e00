"""Templates of heartbeats: sums of Gaussians for each person, wave, lead and kind of beat.

In:  a random generator, a sampling rate, leads. Out: `Morphology`, float32 templates in millivolts.

P, Q, R and S waves form one template around the R peak. The T wave is a second one, because its delay depends on the
heart rate. Amplitudes differ between leads as in people (Einthoven's relations hold approximately, V1 is mostly
negative); a person's amplitudes and widths are drawn around typical values.
"""

from dataclasses import dataclass

import numpy as np

from beatwire.records import F32

LEADS = ("II", "V1", "V5", "I", "III", "aVR", "aVL", "aVF", "V2", "V3", "V4", "V6")
NORMAL, VARIANT, VENTRICULAR, VENTRICULAR_2 = range(4)
KINDS = 4
PHASES = 3  # each template a third of a sample before, on, and after the sampling grid

BEFORE_S, AFTER_S = 0.34, 0.30  # extent of a template around the R peak
T_BEFORE_S, T_AFTER_S = 0.24, 0.24  # extent around the peak of the T wave

# Typical amplitudes of P, Q, R, S and T in millivolts.
_AMPLITUDE_MV = {
    "I": (0.08, -0.05, 0.70, -0.10, 0.22),
    "II": (0.13, -0.08, 1.10, -0.20, 0.30),
    "III": (0.06, -0.06, 0.50, -0.12, 0.10),
    "aVR": (-0.11, 0.06, -0.90, 0.14, -0.26),
    "aVL": (0.02, -0.03, 0.30, -0.05, 0.08),
    "aVF": (0.10, -0.07, 0.80, -0.15, 0.20),
    "V1": (0.06, 0.00, 0.25, -0.90, -0.08),
    "V2": (0.07, 0.00, 0.50, -1.30, 0.45),
    "V3": (0.07, -0.02, 0.90, -0.90, 0.50),
    "V4": (0.08, -0.06, 1.40, -0.50, 0.45),
    "V5": (0.09, -0.10, 1.50, -0.25, 0.38),
    "V6": (0.08, -0.10, 1.10, -0.12, 0.28),
}
_CENTRE_S = np.array([-0.165, -0.027, 0.0, 0.029])  # P, Q, R, S
_WIDTH_S = np.array([0.023, 0.0085, 0.0105, 0.0095])


@dataclass(frozen=True)
class Morphology:
    """The templates of one person.

    waves    float32 [kinds, phases, leads, width], P to S, millivolts; R peak at index ``peak``
    t_waves  float32 [kinds, leads, t_width], T wave, millivolts; its peak at index ``t_peak``
    qt_s     seconds from the R peak to the peak of the T wave at 60 beats per minute
    """

    waves: F32
    peak: int
    t_waves: F32
    t_peak: int
    qt_s: float


def morphology(rng: np.random.Generator, rate_hz: float, leads: int) -> Morphology:
    """Draw a person's beats at a sampling rate, for the first ``leads`` of ``LEADS``."""
    typical = np.array([_AMPLITUDE_MV[name] for name in LEADS[:leads]])  # [leads, 5]
    own = typical * rng.lognormal(0.0, 0.18, 5) * rng.lognormal(0.0, 0.10, typical.shape)
    stretch = rng.uniform(0.92, 1.15)
    centre_s = _CENTRE_S * np.array([rng.uniform(0.85, 1.1), stretch, 1.0, stretch])
    width_s = _WIDTH_S * np.array([rng.uniform(0.85, 1.2), stretch, stretch, stretch])

    peak, after = round(BEFORE_S * rate_hz), round(AFTER_S * rate_hz)
    grid = np.arange(-peak, after + 1)
    third = (np.arange(PHASES) - PHASES // 2) / PHASES
    t_s = (grid + third[:, None]) / rate_hz  # [phases, width]
    t_peak = round(T_BEFORE_S * rate_hz)
    top_s = np.arange(-t_peak, round(T_AFTER_S * rate_hz) + 1) / rate_hz

    waves = np.empty((KINDS, PHASES, leads, len(grid)), np.float32)
    t_waves = np.empty((KINDS, leads, len(top_s)), np.float32)
    for kind in (NORMAL, VARIANT):
        size = own if kind == NORMAL else own * rng.uniform((0.8, 0.7, 0.9, 0.8, 0.75), (1.1, 1.3, 1.0, 1.3, 1.1))
        waves[kind] = _sum(t_s, centre_s, width_s, size[:, :4])
        t_waves[kind] = size[:, 4, None] * _t_shape(top_s, rng.uniform(0.9, 1.1))
    for kind in (VENTRICULAR, VENTRICULAR_2):
        sign = np.where(np.arange(leads) == 0, rng.choice((-1.0, 1.0)), rng.choice((-1.0, 1.0), leads))
        main = sign * rng.uniform(0.8, 1.4, leads) * (0.4 + 0.8 * np.abs(own[:, 2]))
        wide_s = rng.uniform(0.028, 0.038)
        size = np.stack([-0.18 * main, main, -0.45 * main, -0.1 * main], axis=1)
        waves[kind] = _sum(t_s, np.array([-2.4, 0.0, 2.6, 4.0]) * wide_s, np.array([0.9, 1.0, 1.2, 1.5]) * wide_s, size)
        t_waves[kind] = -0.32 * main[:, None] * _t_shape(top_s, 1.25)
    return Morphology(waves, peak, t_waves, t_peak, float(rng.uniform(0.27, 0.31)))


def _sum(t_s: np.ndarray, centre_s: np.ndarray, width_s: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return sums of Gaussians: t_s [phases, width], size [leads, waves] -> [phases, leads, width]."""
    bells = np.exp(-0.5 * ((t_s[:, None] - centre_s[:, None]) / width_s[:, None]) ** 2)  # [phases, waves, width]
    return np.asarray(np.einsum("lw,pwt->plt", size, bells))


def _t_shape(t_s: np.ndarray, stretch: float) -> np.ndarray:
    """Return the shape of a T wave at times from its peak: a slow rise and a fast fall."""
    rising, falling = 0.058 * stretch, 0.038 * stretch
    return np.asarray(np.exp(-0.5 * (t_s / np.where(t_s < 0, rising, falling)) ** 2))
