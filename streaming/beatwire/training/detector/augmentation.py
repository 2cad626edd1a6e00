"""Data augmentation for the detector: each record as recorded, changed in many ways, and with noise at fixed ratios.

In:  an annotated record, an :class:`Augmentation`, recorded noise
Out: :class:`Augmented`, int16 samples of at most two leads and their beats

The detector is trained on ``TRAINED_ON`` and evaluated on ``EVALUATED_ON``; no peak of ``EVALUATION_NOISE`` is trained
on. Random numbers are seeded by the names of record and augmentation, so that a change of a name changes the model.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from beatwire.evaluation.beats.noise import ELECTRODE_MOTION, electrode_motion, noise_rms
from beatwire.evaluation.records import AnnotatedRecord
from beatwire.records import F64, I16, I64
from beatwire.training.detector import transforms

NOISE_FREE = frozenset({"as recorded", "mixed leads", "mixed leads again"})  # augmentations without noise or waves


@dataclass(frozen=True)
class Augmentation:
    """How a record is changed: mixed leads, ventricular beats, T and P waves, noise, in this order.

    weight         of the peaks of the first lead and of all leads together; 0: not trained on
    second_weight  of the peaks of the second lead
    noise          names of noises, one of which is drawn at random
    snr_db         limits of the signal-to-noise ratio, which is drawn anew every minute
    one_lead       the noise is on one lead at a time; only the peaks of all leads together are used
    """

    name: str
    weight: float
    second_weight: float = 0.0
    t_waves: bool = False
    p_waves: bool = False
    ventricular: bool = False
    mixed: bool = False
    noise: tuple[str, ...] = ()
    snr_db: tuple[float, float] = (-3.0, 20.0)
    one_lead: bool = False


WANDER_AND_MUSCLE = "bw+ma"
TRAINED_ON = (
    Augmentation("as recorded", 4.0, 2.0),
    Augmentation("wander and muscle", 0.5, 0.3, noise=(WANDER_AND_MUSCLE,)),
    Augmentation("electrode motion", 0.5, 0.3, noise=(ELECTRODE_MOTION,)),
    Augmentation("muscle", 0.3, noise=("ma",)),
    Augmentation("T waves", 0.5, t_waves=True),
    Augmentation("other T waves", 0.5, t_waves=True),
    Augmentation(
        "T waves in noise", 0.3, t_waves=True, noise=(ELECTRODE_MOTION, WANDER_AND_MUSCLE, "ma"), snr_db=(0, 24)
    ),
    Augmentation("P waves", 0.4, p_waves=True),
    Augmentation(
        "P waves in noise", 0.3, p_waves=True, noise=(ELECTRODE_MOTION, WANDER_AND_MUSCLE, "ma", "bw"), snr_db=(3, 24)
    ),
    Augmentation("ventricular beats", 0.7, ventricular=True),
    Augmentation("ventricular beats and T waves", 0.5, ventricular=True, t_waves=True),
    Augmentation(
        "ventricular beats in noise", 0.4, ventricular=True, noise=(ELECTRODE_MOTION, WANDER_AND_MUSCLE), snr_db=(0, 24)
    ),
    Augmentation("electrode motion on one lead", 0.5, noise=(ELECTRODE_MOTION,), snr_db=(-12.0, 12.0), one_lead=True),
    Augmentation("noise on one lead", 0.5, noise=(WANDER_AND_MUSCLE, "ma"), snr_db=(-12.0, 12.0), one_lead=True),
    Augmentation("mixed leads", 1.0, mixed=True),
    Augmentation("mixed leads again", 1.0, mixed=True),
)

RECORDED = frozenset(WANDER_AND_MUSCLE.split("+"))  # names of the recorded noises that are used
RATIOS_DB = (12.0, 6.0, 0.0)
EVALUATION_NOISE = tuple(
    Augmentation(f"{name} {snr_db:g} dB", 0.0, noise=(noise,), snr_db=(snr_db, snr_db))
    for name, noise in (("wander and muscle", WANDER_AND_MUSCLE), ("electrode motion", ELECTRODE_MOTION))
    for snr_db in RATIOS_DB
)
EVALUATED_ON = (TRAINED_ON[0].name, "T waves", *(a.name for a in EVALUATION_NOISE))


@dataclass(frozen=True)
class Augmented:
    """A record after augmentation.

    samples  int16 [leads, n]
    clean    int16 [leads, n], without noise and added T and P waves; labels are derived from it
    beat     int64 [b], sample index of every beat
    """

    samples: I16
    clean: I16
    beat: I64


class NoiseBank:
    """Recorded noise, resampled to any rate, and simulated electrode motion.

    ``recorded`` maps the name of a noise to float64 [leads, n] and its rate in Hz.
    """

    def __init__(self, recorded: dict[str, tuple[F64, float]]) -> None:
        self.recorded = recorded
        self._resampled: dict[tuple[str, float], F64] = {}

    def draw(self, names: Sequence[str], leads: int, samples: int, rate_hz: float, rng: np.random.Generator) -> F64:
        """Return a random segment of one of the noises, float64 [leads, samples], of unit RMS on each lead.

        Names of noises that were not recorded are ignored; without any, electrode motion is simulated.
        """
        usable = [n for n in names if n == ELECTRODE_MOTION or all(p in self.recorded for p in n.split("+"))]
        name = usable[int(rng.integers(len(usable)))] if usable else ELECTRODE_MOTION
        if name == ELECTRODE_MOTION:
            return _unit(electrode_motion(samples, leads, rate_hz, rng), rate_hz)
        start = rng.uniform()  # share of the recorded noise
        total = np.zeros((leads, samples))
        for part in name.split("+"):
            noise = self.at_rate(part, rate_hz)
            columns = (int(start * noise.shape[1]) + np.arange(samples)) % noise.shape[1]
            total += _unit(noise[np.arange(leads) % len(noise)][:, columns], rate_hz)
        return _unit(total, rate_hz)

    def at_rate(self, name: str, rate_hz: float) -> F64:
        """Return a recorded noise at a rate, float64 [leads, n]."""
        if (name, rate_hz) not in self._resampled:
            noise, recorded_hz = self.recorded[name]
            ratio = Fraction(rate_hz / recorded_hz).limit_denominator(1000)
            centred = noise - np.median(noise, axis=1, keepdims=True)
            from scipy.signal import resample_poly  # a second, which most users of this module need not wait

            self._resampled[name, rate_hz] = resample_poly(centred, ratio.numerator, ratio.denominator, axis=1)
        return self._resampled[name, rate_hz]


def _unit(noise: F64, rate_hz: float) -> F64:
    """Scale noise [leads, n] to unit RMS on each lead."""
    rms = np.array([noise_rms(lead, rate_hz) for lead in noise])
    scaled: F64 = noise / np.where(rms > 0, rms, 1.0)[:, None]
    return scaled


def generator(record: AnnotatedRecord, purpose: str, seed: int) -> np.random.Generator:
    """Return the random generator of one purpose for one record, independent of the other records of a run."""
    return np.random.default_rng([seed, zlib.crc32(f"{record.recording.name}:{purpose}".encode())])


def augment(record: AnnotatedRecord, augmentation: Augmentation, noises: NoiseBank, seed: int) -> Augmented:
    """Apply an augmentation to the first two leads of a record."""
    rng = generator(record, augmentation.name, seed)
    rate_hz, beat = record.recording.rate_hz, record.beat
    x = record.recording.samples[:2].astype(np.float64)
    if augmentation.mixed:
        x = transforms.mixed_leads(x, beat, rate_hz, rng)
    if augmentation.ventricular:
        x, beat = transforms.with_ventricular_beats(x, beat, rate_hz, rng)
    clean = x
    if augmentation.t_waves:
        x = transforms.with_t_waves(x, beat, rate_hz, rng)
    if augmentation.p_waves:
        x = transforms.with_p_waves(x, beat, rate_hz, rng)
    if augmentation.noise:
        noise = noises.draw(augmentation.noise, len(x), x.shape[1], rate_hz, rng)
        if augmentation.one_lead:
            noise = noise * transforms.one_lead_mask(len(x), x.shape[1], rate_hz, rng)
        snr_db = transforms.random_snr_db(x.shape[1], rate_hz, *augmentation.snr_db, rng)
        x = transforms.add_scaled(x, noise, beat, rate_hz, snr_db)
    return Augmented(_int16(x), _int16(clean), beat)


def _int16(x: F64) -> I16:
    """Round to int16 and clip; -32768 is not used, it stands for no value."""
    units: I16 = np.clip(np.rint(x), -32767, 32767).astype(np.int16)
    return units
