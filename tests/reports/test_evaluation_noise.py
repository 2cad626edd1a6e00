"""Added noise: calibration, ratios, electrode motion, seed."""

from dataclasses import replace

import numpy as np
import pytest
import wfdb
from beatwire.evaluation.beats.noise import (
    ELECTRODE_MOTION,
    add_noise,
    electrode_motion,
    noise_rms,
    qrs_amplitude,
    read_noise,
)
from beatwire.evaluation.records import AnnotatedRecord
from beatwire.recordings import NO_VALUE, Recording

RATE = 250.0
BEATS = np.arange(200, 99_800, 200)


def clean_record(height: float = 400.0) -> AnnotatedRecord:
    lead = np.zeros(100_000)
    lead[BEATS] = height
    samples = np.stack([lead, lead / 2]).astype(np.int16)
    return AnnotatedRecord(
        Recording("a", RATE, ("I", "II"), 5.0, samples), BEATS, ("N",) * len(BEATS), np.empty((0, 2), np.int64)
    )


def test_the_amplitude_is_that_of_the_qrs_not_of_higher_waves_between():
    lead = np.zeros(100_000)
    lead[BEATS] = 300.0
    lead[BEATS + 60] = 900.0
    assert qrs_amplitude(lead, BEATS, RATE) == 300.0


def test_added_noise_has_the_given_signal_to_noise_ratio():
    record = clean_record()
    noise = np.random.default_rng(0).standard_normal((2, 100_000))
    for snr_db in (12.0, 6.0, 0.0):
        added = add_noise(record, noise, snr_db).recording.samples.astype(float) - record.recording.samples
        for lead, height in ((0, 400.0), (1, 200.0)):
            measured = 10 * np.log10(height**2 / 8 / noise_rms(added[lead], RATE) ** 2)
            assert measured == pytest.approx(snr_db, abs=0.1)


def test_alternating_noise_begins_after_five_minutes():
    record = clean_record()
    noisy = add_noise(record, np.ones((2, 100_000)) * 3, 0.0, alternate=True).recording.samples
    changed = np.flatnonzero((noisy != record.recording.samples)[0]) / RATE
    assert changed.min() >= 300.0


def test_samples_without_a_value_are_not_changed():
    record = clean_record()
    record.recording.samples[0, 500:600] = NO_VALUE
    noisy = add_noise(record, np.ones((2, 100_000)), 0.0).recording.samples
    assert (noisy[0, 500:600] == NO_VALUE).all()
    assert (noisy[0, 600:] != NO_VALUE).all()


def test_the_same_seed_gives_the_same_noise():
    first, again, other = (read_noise(ELECTRODE_MOTION, RATE, s, samples=5000, leads=2) for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_recorded_noise_is_resampled_and_repeated_to_fit_the_record(tmp_path):
    t = np.arange(3600) / 360.0
    wave = np.stack([np.sin(2 * np.pi * 5 * t), np.cos(2 * np.pi * 5 * t)], axis=1)
    wfdb.wrsamp("n", 360, ["mV"] * 2, ["a", "b"], wave, fmt=["16"] * 2, write_dir=str(tmp_path))
    noise = read_noise(str(tmp_path / "n"), 250.0, 0, samples=5000, leads=3)
    assert noise.shape == (3, 5000)
    assert [noise_rms(lead, 250.0) for lead in noise] == pytest.approx([1.0] * 3)
    spectrum = np.abs(np.fft.rfft(noise[0]))
    assert np.fft.rfftfreq(5000, 1 / 250.0)[spectrum.argmax()] == pytest.approx(5.0, abs=0.1)


def test_electrode_motion_has_steps_and_energy_in_the_band_of_the_qrs():
    noise = electrode_motion(60_000, 2, RATE, np.random.default_rng(5))
    spectrum = np.abs(np.fft.rfft(noise[0])) ** 2
    frequency = np.fft.rfftfreq(60_000, 1 / RATE)
    qrs_band = spectrum[(frequency > 5) & (frequency < 20)].sum() / spectrum[1:].sum()
    assert 0.02 < qrs_band < 0.6
    assert abs(np.corrcoef(noise)[0, 1]) < 0.95


def test_noise_scales_with_the_record():
    small, large = clean_record(400.0), clean_record(4000.0)
    noise = np.random.default_rng(0).standard_normal((2, 100_000))
    a, b = (add_noise(r, noise, 6.0).recording.samples.astype(float) for r in (small, large))
    assert np.abs(10 * a - b).max() <= 10


def test_a_flat_lead_gets_no_noise():
    record = clean_record()
    flat = replace(record.recording, samples=np.zeros((2, 100_000), np.int16))
    noisy = add_noise(replace(record, recording=flat), np.ones((2, 100_000)), 0.0)
    assert not noisy.recording.samples.any()
