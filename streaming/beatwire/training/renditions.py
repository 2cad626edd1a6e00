"""Annotated records as they are and as they might have been: what the detector learns from and is classified on.

Each record is taken as it is and in more than a dozen renditions (``RENDITIONS``), and at stated ratios of
noise that nothing is learned from (``JUDGED``). All is seeded by the record's and the rendition's name.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from beatwire.evaluation.noise import ELECTRODE_MOTION, electrode_motion, noise_rms
from beatwire.evaluation.records import Annotated
from beatwire.records import F64, I16, I64
from beatwire.training import augment

CLEAN = frozenset({"as recorded", "mixed leads", "mixed leads again"})


@dataclass(frozen=True)
class Rendition:
    """How a record is changed, in order: waves, leads, noise; and its weights.

    weight, second_lead: of the first lead and of all together, and of the second lead alone.

    noise: names of noises of which one is drawn; snr_db: limits of the ratio, drawn anew every minute.

    one_lead: the noise is on one lead at a time, and none learns from it but all leads together.
    """

    name: str
    weight: float
    second_lead: float = 0.0
    t_waves: bool = False
    p_waves: bool = False
    ventricular: bool = False
    mixed: bool = False
    noise: tuple[str, ...] = ()
    snr_db: tuple[float, float] = (-3.0, 20.0)
    one_lead: bool = False


WANDER_AND_MUSCLE = "bw+ma"
RENDITIONS = (
    Rendition("as recorded", 4.0, 2.0),
    Rendition("wander and muscle", 0.5, 0.3, noise=(WANDER_AND_MUSCLE,)),
    Rendition("electrode motion", 0.5, 0.3, noise=(ELECTRODE_MOTION,)),
    Rendition("muscle", 0.3, noise=("ma",)),
    Rendition("T waves", 0.5, t_waves=True),
    Rendition("other T waves", 0.5, t_waves=True),
    Rendition("T waves in noise", 0.3, t_waves=True, noise=(ELECTRODE_MOTION, WANDER_AND_MUSCLE, "ma"), snr_db=(0, 24)),
    Rendition("P waves", 0.4, p_waves=True),
    Rendition(
        "P waves in noise", 0.3, p_waves=True, noise=(ELECTRODE_MOTION, WANDER_AND_MUSCLE, "ma", "bw"), snr_db=(3, 24)
    ),
    Rendition("ventricular beats", 0.7, ventricular=True),
    Rendition("ventricular beats and T waves", 0.5, ventricular=True, t_waves=True),
    Rendition(
        "ventricular beats in noise", 0.4, ventricular=True, noise=(ELECTRODE_MOTION, WANDER_AND_MUSCLE), snr_db=(0, 24)
    ),
    Rendition("electrode motion on one lead", 0.5, noise=(ELECTRODE_MOTION,), snr_db=(-12.0, 12.0), one_lead=True),
    Rendition("noise on one lead", 0.5, noise=(WANDER_AND_MUSCLE, "ma"), snr_db=(-12.0, 12.0), one_lead=True),
    Rendition("mixed leads", 1.0, mixed=True),
    Rendition("mixed leads again", 1.0, mixed=True),
)


RATIOS_DB = (12.0, 6.0, 0.0)
JUDGED = tuple(
    Rendition(f"{name} {snr_db:g} dB", 0.0, noise=(noise,), snr_db=(snr_db, snr_db))
    for name, noise in (("wander and muscle", WANDER_AND_MUSCLE), ("electrode motion", ELECTRODE_MOTION))
    for snr_db in RATIOS_DB
)
JUDGED_ON = (RENDITIONS[0].name, "T waves", *(how.name for how in JUDGED))


@dataclass(frozen=True)
class Rendered:
    """A record after a rendition: int16 [leads, n], its beats, and the clean leads its beats are found in."""

    samples: I16
    clean: I16
    beat: I64


class Noises:
    """Noise records at any rate, float64 [leads, n] each, and electrode motion."""

    def __init__(self, recorded: dict[str, tuple[F64, float]]) -> None:
        self.recorded = recorded
        self._at: dict[tuple[str, float], F64] = {}

    def draw(self, names: Sequence[str], leads: int, samples: int, rate_hz: float, rng: np.random.Generator) -> F64:
        """Draw one of the noises, from a random place on; unit RMS on every lead."""
        there = [n for n in names if n == ELECTRODE_MOTION or all(p in self.recorded for p in n.split("+"))]
        name = there[int(rng.integers(len(there)))] if there else ELECTRODE_MOTION
        if name == ELECTRODE_MOTION:
            return _unit(electrode_motion(samples, leads, rate_hz, rng), rate_hz)
        place = rng.uniform()
        total = np.zeros((leads, samples))
        for part in name.split("+"):
            whole = self._resampled(part, rate_hz)
            columns = (int(place * whole.shape[1]) + np.arange(samples)) % whole.shape[1]
            total += _unit(whole[np.arange(leads) % len(whole)][:, columns], rate_hz)
        return _unit(total, rate_hz)

    def _resampled(self, name: str, rate_hz: float) -> F64:
        from fractions import Fraction

        from scipy.signal import resample_poly

        if (name, rate_hz) not in self._at:
            noise, own_hz = self.recorded[name]
            ratio = Fraction(rate_hz / own_hz).limit_denominator(1000)
            centred = noise - np.median(noise, axis=1, keepdims=True)
            self._at[name, rate_hz] = resample_poly(centred, ratio.numerator, ratio.denominator, axis=1)
        return self._at[name, rate_hz]


def _unit(noise: F64, rate_hz: float) -> F64:
    rms = np.array([noise_rms(lead, rate_hz) for lead in noise])
    scaled: F64 = noise / np.where(rms > 0, rms, 1.0)[:, None]
    return scaled


def generator(record: Annotated, what: str, seed: int) -> np.random.Generator:
    """Return the generator of one rendition of one record: the same in any order and company."""
    return np.random.default_rng([seed, zlib.crc32(f"{record.recording.name}:{what}".encode())])


def render(record: Annotated, how: Rendition, noises: Noises, seed: int) -> Rendered:
    """Change a record as a rendition says."""
    rng = generator(record, how.name, seed)
    rate_hz, beat = record.recording.rate_hz, record.beat
    x = record.recording.samples[:2].astype(np.float64)
    if how.mixed:
        x = augment.mixed_leads(x, beat, rate_hz, rng)
    if how.ventricular:
        x, beat = augment.with_ventricular_beats(x, beat, rate_hz, rng)
    clean = x
    if how.t_waves:
        x = augment.with_t_waves(x, beat, rate_hz, rng)
    if how.p_waves:
        x = augment.with_p_waves(x, beat, rate_hz, rng)
    if how.noise:
        noise = noises.draw(how.noise, len(x), x.shape[1], rate_hz, rng)
        if how.one_lead:
            noise = noise * augment.in_turn(len(x), x.shape[1], rate_hz, rng)
        snr_db = augment.changing_snr_db(x.shape[1], rate_hz, *how.snr_db, rng)
        x = augment.add_scaled(x, noise, beat, rate_hz, snr_db)
    return Rendered(_int16(x), _int16(clean), beat)


def _int16(x: F64) -> I16:
    units: I16 = np.clip(np.rint(x), -32767, 32767).astype(np.int16)
    return units
