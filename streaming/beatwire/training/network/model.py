"""The network of doubtful peaks while it is trained, in torch: several networks side by side, one for each fold.

In:    points of 4 ms around peaks, as ``kernels.peaks.wave_input`` gathers them
Out:   logits of every frame of 16 ms, and after the training the integer network of ``records.waveform``

``channels`` and the layers compute for every frame what ``kernels.peaks.wave_input`` and ``kernels.peaks.wave_network``
compute for one peak. A convolution is a product of matrices with an axis of networks, so that a card trains all folds
at once.
"""

import math
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from beatwire.kernels.peaks.wave_input import BANDS, CHANNELS, MAGNITUDES, MEAN, PER_RATIO
from beatwire.kernels.peaks.wave_network import LOGIT_UNIT, LOOKS, SHIFT, TAPS
from beatwire.records import I16

CHANNELS_FIRST, CHANNELS_DEEP, DEPTH = 16, 64, 7
RATIOS, COMPRESSED_UNIT = 1024, 30.0
INPUT_UNIT = 32.0  # of the compressed channels
WEIGHT_LEVELS, LEVELS = 127, 1023  # of a weight, of a value between layers
MOST_SUM = (1 << 24) - 1
EPSILON = 1e-4


def compressed() -> I16:
    """Return the table that compresses a ratio to the running mean magnitude: int16 [RATIOS]."""
    table: I16 = np.rint(COMPRESSED_UNIT * np.arcsinh(np.arange(RATIOS) / PER_RATIO)).astype(np.int16)
    return table


def channels(points: Any) -> Any:
    """Return the channels int16 [..., n, CHANNELS] of points int64 [..., n], which begin with a lane's first sample."""
    n = points.shape[-1]

    def sums(x: Any, count: int, lag: int, held: bool) -> Any:
        early = x[..., :1] if held else torch.zeros_like(x[..., :1])
        total = torch.cumsum(torch.cat((early.expand(*x.shape[:-1], count + lag), x), -1), -1)
        return total[..., count : count + n] - total[..., :n]

    def quotient(a: Any, b: Any) -> Any:
        return torch.div(a, b, rounding_mode="floor")

    parts = [points - quotient(sums(points, MEAN, 0, True), MEAN)]
    for short, lag, long in BANDS:
        near, far = sums(points, short, lag, True), sums(points, long, 0, True)
        parts.append(quotient(long // short * near - far, long))
    table = torch.from_numpy(compressed()).to(points.device)
    out = []
    for part in parts:
        magnitude = part.abs()
        for span in MAGNITUDES:
            mean = sums(magnitude, span, 0, False).clamp_min(1)
            ratio = quotient(magnitude * (PER_RATIO * span), mean).clamp_max(RATIOS - 1)
            out.append(table[ratio] * torch.sign(part).to(torch.int16))
    return torch.stack(out, -1)


def halved(x: Any) -> Any:
    """Return for every second row of [m, b, t, c] the ``TAPS`` rows up to it: [m, b, t / 2, TAPS * c]."""
    m, b, t, c = x.shape
    pairs = functional.pad(x, (0, 0, TAPS - 2, 0)).reshape(m, b, (t + TAPS - 2) // 2, 2 * c)
    return torch.cat([pairs[:, :, k : k + t // 2] for k in range(TAPS // 2)], -1)


def looks(x: Any, apart: int) -> Any:
    """Return for every row of [m, b, t, c] the ``LOOKS`` rows up to it that are so far apart."""
    t = x.shape[2]
    padded = functional.pad(x, (0, 0, apart * (LOOKS - 1), 0))
    return torch.cat([padded[:, :, k * apart : k * apart + t] for k in range(LOOKS)], -1)


class WaveModel(torch.nn.Module):
    """``networks`` networks; their parameters have a first axis of that length."""

    def __init__(self, networks: int, seed: int) -> None:
        super().__init__()
        random = torch.Generator().manual_seed(seed)
        deep = CHANNELS_DEEP
        shapes = [(TAPS * CHANNELS, CHANNELS_FIRST), (TAPS * CHANNELS_FIRST, deep)]
        shapes += [(LOOKS * deep, deep), (deep, deep)] * DEPTH
        weights = [torch.randn(networks, a, b, generator=random) * math.sqrt(2 / a) for a, b in shapes]
        gains = [0.3 if k > 1 and k % 2 else 1.0 for k in range(len(shapes))]  # small where a layer adds
        self.weight = torch.nn.ParameterList([torch.nn.Parameter(w) for w in weights])
        self.gain = torch.nn.ParameterList(
            [torch.nn.Parameter(torch.full((networks, 1, b), g)) for g, (_, b) in zip(gains, shapes, strict=True)]
        )
        self.bias = torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(networks, 1, b)) for _, b in shapes])
        self.head = torch.nn.Parameter(torch.randn(networks, deep, 1, generator=random) * 0.05)
        self.head_bias = torch.nn.Parameter(torch.full((networks, 1, 1), -1.0))
        for k, (_, b) in enumerate(shapes):
            self.register_buffer(f"mean{k}", torch.zeros(networks, 1, b))
            self.register_buffer(f"variance{k}", torch.ones(networks, 1, b))

    def layer(self, k: int, x: Any) -> Any:
        """Return the output of layer ``k`` for its inputs [m, b, t, inputs], normalised by the batch."""
        m, b, t, n = x.shape
        y = torch.bmm(x.reshape(m, b * t, n), self.weight[k].to(x.dtype))
        mean, variance = getattr(self, f"mean{k}"), getattr(self, f"variance{k}")
        if self.training:
            v, mu = torch.var_mean(y.float(), 1, keepdim=True)
            with torch.no_grad():
                mean.lerp_(mu, 0.02)
                variance.lerp_(v, 0.02)
            mean, variance = mu, v
        scale = self.gain[k] * torch.rsqrt(variance + EPSILON)
        shifted = torch.addcmul((self.bias[k] - mean * scale).to(y.dtype), y, scale.to(y.dtype))
        return shifted.reshape(m, b, t, -1)

    def outputs(self, x: Any) -> list[Any]:
        """Return the output of every layer for channels [m, b, t, CHANNELS]."""
        out = [torch.relu(self.layer(0, halved(x)))]
        out.append(torch.relu(self.layer(1, halved(out[-1]))))
        for deep in range(DEPTH):
            hidden = torch.relu(self.layer(2 + 2 * deep, looks(out[-1], 1 << deep)))
            out += [hidden, torch.relu(out[-1] + self.layer(3 + 2 * deep, hidden))]
        return out

    def forward(self, x: Any) -> Any:
        """Return the logits [m, b, t / 4] of channels [m, b, t, CHANNELS] in ``INPUT_UNIT``."""
        last = self.outputs(x)[-1]
        m, b, t, n = last.shape
        return (torch.bmm(last.reshape(m, b * t, n).float(), self.head) + self.head_bias).reshape(m, b, t)


def quantised(model: WaveModel, m: int, largest: list[Any]) -> dict[str, Any]:
    """Return network ``m`` in integers, without ``combination``; ``largest`` [layers] are the values of each layer."""
    state = {name: value[m].detach().double().cpu().numpy() for name, value in model.state_dict().items()}
    layers = len(model.weight)
    integers, steps, biases = [], [], []
    for k in range(layers):
        scale = state[f"gain.{k}"] / np.sqrt(state[f"variance{k}"] + EPSILON)
        weight = state[f"weight.{k}"] * scale
        step = np.maximum(np.abs(weight).max(axis=0), 1e-9) / WEIGHT_LEVELS
        integers.append(np.rint(weight / step))
        steps.append(step)
        biases.append((state[f"bias.{k}"] - state[f"mean{k}"] * scale)[0])
    reader = [k + 1 for k in range(layers - 1)]  # the layer that multiplies the output of each
    most = [min(LEVELS, int(MOST_SUM // np.abs(integers[k]).sum(axis=0).max())) for k in reader] + [LEVELS]
    unit = [float(top) / n for top, n in zip(largest, most, strict=True)]
    unit_in = [1 / INPUT_UNIT, *unit[:-1]]
    factor, offset = np.zeros((layers, CHANNELS_DEEP)), np.zeros((layers, CHANNELS_DEEP))
    for k in range(layers):
        factor[k, : len(steps[k])] = steps[k] * unit_in[k] / unit[k]
        offset[k, : len(steps[k])] = biases[k] / unit[k] + 0.5
    residual = np.array([unit[1 + 2 * deep] / unit[3 + 2 * deep] for deep in range(DEPTH)])
    head = np.append(state["head"][:, 0] * unit[-1], state["head_bias"][0, 0])
    one = float(1 << SHIFT)
    return {
        "first": integers[0], "second": integers[1], "wide": np.stack(integers[2::2]),
        "narrow": np.stack(integers[3::2]), "factor": np.rint(factor * one), "offset": np.rint(offset * one),
        "residual": np.rint(residual * one), "most": np.array(most), "head": np.rint(head * LOGIT_UNIT),
        "compressed": compressed(),
    }  # fmt: skip
