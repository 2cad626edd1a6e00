"""Batches that the network of doubtful peaks is trained on: stretches of 16 s of one lead, changed at random.

In:    annotated records, and noise without a heartbeat
Out:   channels, and of each frame of 16 ms how near a beat is; on the device that trains

A stretch is played 0.65 to 1.5 times as fast, at most as fast as its record is long enough for, with either polarity.
Three of four have noise, or two noises, for a part or all of it, at -14 to 20 dB; some have hum or white noise. Of
noise ``N`` that was recorded in one piece every network of a fold has only one half, so that it can be judged by the
other.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from beatwire.evaluation.beats.noise import noise_rms, qrs_amplitude
from beatwire.kernels.peaks.wave_input import AHEAD_S, GRID_HZ
from beatwire.records import F64, I64
from beatwire.training.detector.examples import response_maxima
from beatwire.training.detector.figures import TrainingRecord
from beatwire.training.network.model import channels
from beatwire.training.settings import FOLDS, STRETCH_S

POINTS = round(STRETCH_S * GRID_HZ)  # of a stretch
LEAD_WEIGHTS = (0.65, 0.35)
NEAR_MS, SIGMA_MS = 40.0, 30.0  # of a beat: the target is one up to ``NEAR_MS``, then a Gaussian
SNR_DB = (-14.0, 20.0)


class Signals:
    """All leads and noises on the device.

    Parameters
    ----------
    records
        First and second leads are used.
    noises
        Float64 [n] at ``GRID_HZ``, by name and channel.
    device
        Of torch.
    """

    def __init__(self, records: Sequence[TrainingRecord], noises: Mapping[tuple[str, int], F64], device: str) -> None:
        self.device = device
        leads = [(r, k) for r in records for k in range(min(2, len(r.record.recording.samples)))]
        lengths = [r.record.recording.samples.shape[1] for r, _ in leads]
        samples = [r.record.recording.samples[k] for r, k in leads]
        away = [self._distances(r, k) for r, k in leads]
        self.samples, self.away = self._put(np.concatenate(samples)), self._put(np.concatenate(away))
        self.first, self.length = self._put(np.cumsum([0, *lengths[:-1]])), self._put(np.array(lengths))
        self.rate_hz = self._put(np.array([float(r.record.recording.rate_hz) for r, _ in leads]))
        amplitude = [
            max(1.0, qrs_amplitude(x.astype(np.float64), r.record.beat, r.record.recording.rate_hz))
            for x, (r, _) in zip(samples, leads, strict=True)
        ]
        self.amplitude = self._put(np.array(amplitude, np.float32))
        folds, weights = np.array([r.fold for r, _ in leads]), np.array([LEAD_WEIGHTS[k] for _, k in leads])
        unlike = [(folds != m) * weights for m in range(FOLDS)] + [weights]
        self.share = self._put(np.stack(unlike))
        self._take_noises(noises)

    def _put(self, array: Any) -> Any:
        return torch.as_tensor(np.ascontiguousarray(array), device=self.device)

    @staticmethod
    def _distances(record: TrainingRecord, lead: int) -> Any:
        """Return the samples from each sample to the nearest beat, int16; below zero where nothing is learned."""
        annotated, one = record.record, record.record.recording
        beat = response_maxima(one.samples[lead : lead + 1], annotated.beat, one.rate_hz)
        at: I64 = np.arange(one.samples.shape[1])
        after = np.searchsorted(beat, at)
        last = len(beat) - 1
        away = np.minimum(np.abs(at - beat[np.minimum(after, last)]), np.abs(at - beat[np.maximum(after - 1, 0)]))
        found = np.minimum(away, 30_000).astype(np.int16)
        for first, stop in annotated.excluded:
            found[first : stop + 1] = -1
        return found

    def _take_noises(self, noises: Mapping[tuple[str, int], F64]) -> None:
        """Store halves of noises, and which of them each network is trained on."""
        parts: list[Any] = []
        use: list[list[float]] = []
        for (_, _), noise in sorted(noises.items()):
            middle = len(noise) // 2
            for half, part in enumerate((noise[:middle], noise[middle:])):
                parts.append((part / max(noise_rms(part, GRID_HZ), 1e-9)).astype(np.float32))
                use.append([float(m % 2 == half) for m in range(FOLDS)] + [1.0])
        lengths = [len(part) for part in parts]
        self.noise, self.noise_length = self._put(np.concatenate(parts)), self._put(np.array(lengths))
        self.noise_first = self._put(np.cumsum([0, *lengths[:-1]]))
        self.noise_share = self._put(np.array(use).T)

    def _random(self, *shape: int) -> Any:
        return torch.rand(*shape, device=self.device)

    def _some(self, rows: int, share: float) -> Any:
        return self._random(rows, 1) < share

    def _draw_noise(self, networks: int, batch: int) -> Any:
        """Return noise of unit RMS, [networks * batch, POINTS]."""
        rows = networks * batch
        chosen = torch.multinomial(self.noise_share[:networks], batch, True).reshape(-1)
        length = self.noise_length[chosen]
        speed = (self._random(rows) * 0.7 + 0.7) * torch.where(self._random(rows) < 0.5, -1.0, 1.0)
        at = (self._random(rows) * length)[:, None] + speed[:, None] * torch.arange(POINTS, device=self.device)
        whole = torch.floor(at)
        part, whole, first = at - whole, whole.long(), self.noise_first[chosen][:, None]
        left = self.noise[first + torch.remainder(whole, length[:, None])]
        right = self.noise[first + torch.remainder(whole + 1, length[:, None])]
        return torch.where(self._some(rows, 0.5), -1.0, 1.0) * (left * (1 - part) + right * part)

    def batch(self, networks: int, batch: int) -> tuple[Any, Any, Any]:
        """Return channels [networks, batch, POINTS, c], and targets and which count, [networks, batch, POINTS / 4]."""
        rows, device = networks * batch, self.device
        chosen = torch.multinomial(self.share[:networks], batch, True).reshape(-1)
        log_speed = torch.empty(rows, device=device, dtype=torch.float64).uniform_(math.log(0.65), math.log(1.5))
        most = self.length[chosen] - 2  # no stretch reaches into the next record
        step = torch.minimum(self.rate_hz[chosen] / GRID_HZ * torch.exp(log_speed), most / POINTS)
        room = (most - step * POINTS).clamp_min(0)
        start = torch.rand(rows, device=device, dtype=torch.float64) * room
        at = start[:, None] + step[:, None] * torch.arange(POINTS, device=device, dtype=torch.float64)
        whole = at.long()
        part, first = (at - whole).float(), self.first[chosen][:, None]
        left, right = (self.samples[first + whole + k].float() for k in (0, 1))
        x = self._disturbed(left * (1 - part) + right * part, self.amplitude[chosen][:, None], networks, batch)
        x = x * torch.where(self._some(rows, 0.5), -1.0, 1.0)
        seen = channels(torch.round(x * 16).long())
        frames = torch.arange(3, POINTS, 4, device=device, dtype=torch.float64) - AHEAD_S * GRID_HZ
        of = torch.round(start[:, None] + step[:, None] * frames).long()
        away = self.away[first + of.clamp_min(0)].float()
        away_ms = away * (1000.0 / (step * GRID_HZ)).float()[:, None]
        target = torch.exp(-0.5 * ((away_ms - NEAR_MS).clamp_min(0) / SIGMA_MS) ** 2)
        counts = (away >= 0) & (frames >= 0)[None]
        shape = (networks, batch, POINTS // 4)
        return seen.reshape(networks, batch, POINTS, -1), target.reshape(shape), counts.reshape(shape)

    def _disturbed(self, x: Any, amplitude: Any, networks: int, batch: int) -> Any:
        """Add noise, hum and white noise to stretches [rows, POINTS] with QRS complexes of an amplitude."""
        rows, device = len(x), self.device
        time = torch.arange(POINTS, device=device)[None]
        one, other, mix = self._draw_noise(networks, batch), self._draw_noise(networks, batch), self._random(rows, 1)
        both = (mix * one + (1 - mix) * other) / torch.sqrt(mix**2 + (1 - mix) ** 2)
        noise = torch.where(self._some(rows, 0.4), both, one)
        begin, end = self._random(rows, 1) * POINTS, self._random(rows, 1) * POINTS
        within = (time >= torch.minimum(begin, end)) & (time < torch.maximum(begin, end))
        on = (self._some(rows, 0.45) | within) & ~self._some(rows, 0.25)
        snr_db = torch.empty(rows, 1, device=device).uniform_(*SNR_DB)
        x = x + on * noise * amplitude / math.sqrt(8) * 10 ** (-snr_db / 20)
        mains_hz = torch.where(self._some(rows, 0.5), 50.0, 60.0)
        phase = 2 * math.pi * (mains_hz * time / GRID_HZ + self._random(rows, 1))
        x = x + self._some(rows, 0.15) * self._random(rows, 1) * 0.15 * amplitude * torch.sin(phase)
        white = torch.randn(rows, POINTS, device=device)
        return x + self._some(rows, 0.2) * self._random(rows, 1) ** 2 * 0.15 * amplitude * white
